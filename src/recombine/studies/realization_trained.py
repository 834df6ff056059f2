"""The trained networks that the parts `inside` and `surgery` open, and which of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from recombine.analyses.substitution import Parameters
from recombine.cell import Context
from recombine.studies.realization_cells import ROWS, Arm, training
from recombine.training.trial import Trial

Chosen = Literal["last", "lowest-dev-loss", "best-dev-accuracy"]
"""The epoch whose weights are meant."""
CHOSEN: Mapping[str, Chosen] = {
    "as-run": "lowest-dev-loss",
    "as-printed": "best-dev-accuracy",
    "last-epoch": "last",
}
"""By profile: as the paper's networks were chosen, as it says they were, and not chosen at all."""
PROFILES = tuple(CHOSEN)
KINDS: tuple[Arm, ...] = ("baseline", "guided")
OTHER: Mapping[str, Arm] = {"guided": "baseline", "baseline": "guided"}
EPOCH = ROWS
"""Updates an epoch: the rows of the training set, one at a time."""


def network(kind: Arm, *, scale: str, profile: str) -> Trial:
    """How a network of this kind is trained; `last-epoch` opens the networks of `as-run`."""
    return training(scale, "as-run" if profile == "last-epoch" else profile, kind)


def trained(trial: Trial, seed: int, context: Context, *, weights: Chosen) -> Parameters:
    """The weights of a seed: of the last epoch, or of the one that a rule of its recipe kept."""
    found = context.recall(trial, seed).weights
    prefix = "" if weights == "last" else f"{weights}:"
    return {
        name.removeprefix(prefix): value
        for name, value in found.items()
        if name.startswith(prefix) and ":" not in name.removeprefix(prefix)
    }


def smallest(*roots: str) -> tuple[str, ...]:
    """Settings that make the networks at these paths of a cell train and be read in seconds."""
    settings = (
        "task.validation=1", "task.held_compositions=1", "task.held_tables=1", "task.tables=3",
        "task.bits=2", "model.hidden=8", "model.output_embedding=8", "recipe.steps=10",
    )  # fmt: skip
    return tuple(f"{root}{setting}" for root in roots for setting in settings)
