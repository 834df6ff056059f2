"""The trained networks that the parts `inside` and `surgery` open, and which of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from recombine.analyses.substitution import Parameters
from recombine.cell import Context
from recombine.models.seq2seq import Seq2Seq
from recombine.tasks.lookup import LookupTables
from recombine.training import Adam, Guidance, Keep, Recipe
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
EPOCH = 232
"""Updates an epoch: the rows of the training set, one at a time."""


def training(scale: str, profile: str, arm: str) -> Trial:
    steps = EPOCH * (20 if scale == "quick" else 100)
    hidden = 64 if scale == "quick" else 512
    recipe = Recipe(
        steps=steps, batch=1, sampling="each-once", loss="sequence-cross-entropy",
        optimizer=Adam(rate=0.001), clip=5.0, evaluate_at=tuple(range(0, steps + 1, EPOCH)),
        evaluate_whole=True, guidance=Guidance() if arm == "guided" else None, lanes="looped",
        keep=(Keep("lowest-dev-loss", "loss/validation", "lower"), Keep("best-dev-accuracy", "accuracy/validation", "higher"))
    )  # fmt: skip
    return Trial(
        LookupTables(),
        Seq2Seq(hidden=hidden, output_embedding=hidden, start="last-word"),
        recipe,
        keep_weights=True,
    )


def network(kind: str, *, scale: str, profile: str) -> Trial:
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
