"""Cells of `realization`: one trained network a seed, whose weights every part of the study reads.

`training` gives the cell of an arm, the same to whoever asks, so that a seed is trained once;
`network` makes a network of the weights such a cell has kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import torch

from recombine.models.seq2seq import Seq2Seq, StackedSeq2Seq
from recombine.studies.study import SCALES
from recombine.tasks.lookup import LookupTables
from recombine.training import Adam, Guidance, Keep, Recipe, Trial

Arm = Literal["baseline", "guided"]
Kind = Literal["gru", "lstm"]
LAST, LOSS, ACCURACY = "last", "lowest-dev-loss", "best-dev-accuracy"
SELECTIONS = (LAST, LOSS, ACCURACY)
"""Three ways of choosing the epoch whose network counts."""
SELECTION = {"as-run": LOSS, "as-printed": ACCURACY}
"""What a profile chooses by."""
PROFILES = tuple(SELECTION)
KEEP = (
    Keep(LOSS, "loss/validation", "lower"),
    Keep(ACCURACY, "accuracy/validation", "higher"),
)
EPOCHS = {"quick": 14, "paper": 100}
HIDDEN = {"quick": 192, "paper": 512}
ROWS = 232
"""Training rows at the published setting: updates an epoch at batch 1."""


def task() -> LookupTables:
    """The published setting, with tables of our own."""
    return LookupTables()


def model(scale: str, profile: str, kind: Kind = "gru") -> Seq2Seq:
    """The network of a scale and a profile.

    As run, a target word's embedding is as wide as the network and meets the context by full
    focus; as printed, it has 16 numbers and stands beside the context.
    """
    hidden = HIDDEN[scale]
    if profile == "as-run":
        return Seq2Seq(cell=kind, hidden=hidden, output_embedding=hidden, start="last-word")
    return Seq2Seq(
        cell=kind,
        hidden=hidden,
        output_embedding=16,
        combine="concatenate",
        start="last-word",
        convention="printed",
    )


def recipe(scale: str, arm: Arm, *, batch: int = 1) -> Recipe:
    """Adam at 1e-3 (2e-3 at quick scale), clipped at 5, the network's own words fed back."""
    epoch = -(-ROWS // batch)
    quick = scale == SCALES[0]
    return Recipe(
        steps=EPOCHS[scale] * epoch,
        batch=batch,
        sampling="each-once",
        loss="sequence-cross-entropy",
        optimizer=Adam(2e-3 if quick else 1e-3, fused=True),
        clip=5.0,
        guidance=Guidance() if arm == "guided" else None,
        evaluate_at=tuple(range(0, EPOCHS[scale] * epoch + 1, epoch)),
        evaluate_whole=True,
        keep=KEEP,
        lanes="stacked" if quick else "looped",
    )


def training(scale: str, profile: str, arm: Arm, *, kind: Kind = "gru", batch: int = 1) -> Trial:
    """The cell that trains an arm and keeps the weights of the three selections."""
    return Trial(
        task(),
        model(scale, profile, kind),
        recipe(scale, arm, batch=batch),
        keep_weights=True,
    )


def network(
    trial: Trial, weights: Mapping[str, np.ndarray], selection: str = LAST
) -> StackedSeq2Seq:
    """The network of one seed of such a cell, at the epoch that a selection chose."""
    task = trial.task
    stack = trial.model.stack([0], task.input_shape, len(task.outputs), task.classes)
    assert isinstance(stack, StackedSeq2Seq)
    prefix = "" if selection == LAST else f"{selection}:"
    with torch.no_grad():
        for name, parameter in stack.named_parameters():
            parameter[0].copy_(torch.from_numpy(weights[prefix + name]))
    return stack
