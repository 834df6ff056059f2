"""How a network in the rich regime solves equivalence: weights of items of one class become alike.

In a network of one hidden layer on pairs of items, let q_h(i) be unit h's weight from item i in
one position times its readout weight a_h. If training treats items of one class as one thing,
q(i) and q(j), as vectors over units, correlate +1 for i and j of one class and, with two classes,
−1 otherwise. And units sort into two kinds: with a_h > 0 a unit likes the same class in both
positions, with a_h < 0 it likes different ones. The *sign rule* is the share of active units
(norm at least a tenth of the largest) that do so.

For other networks and tasks there is nothing to read, and all numbers are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.analyses.analysis import Analysis
from recombine.models.mlp import StackedMLP
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.tasks.relations import Equivalence
from recombine.tasks.showing import OneHot
from recombine.tasks.task import Task

ACTIVE = 0.1
"""Share of the largest unit's norm from which a unit counts as active."""
NAMES = ("alignment/same", "alignment/different", "alignment/rule")


@dataclass(frozen=True)
class Alignment(Analysis):
    """Measures whether items of one class have the same weights, and the sign rule."""

    name: ClassVar[str] = "alignment"

    def measure(
        self, stack: Stack, task: Task, model: Model
    ) -> Mapping[str, Float[np.ndarray, " seed"]]:
        readable = isinstance(stack, StackedMLP) and len(stack.weights) == 2
        if not readable or not isinstance(task, Equivalence) or task.inputs != OneHot():
            return {name: np.full(stack.lanes, np.nan) for name in NAMES}
        assert isinstance(stack, StackedMLP)
        first, last = (w.detach().double().cpu().numpy() for w in stack.weights)
        found = [alignment(w, a[:, 0], task.class_of) for w, a in zip(first, last, strict=True)]
        return {name: np.array([one[k] for one in found]) for k, name in enumerate(NAMES)}


def alignment(
    weights: Float[np.ndarray, "input unit"],
    readout: Float[np.ndarray, " unit"],
    owner: Int[np.ndarray, " item"],
) -> tuple[float, float, float]:
    """Mean correlation of items of one class, of two classes, and the sign rule."""
    positions = np.stack([weights[: len(owner)], weights[len(owner) :]])
    same, different = [], []
    alike = owner[:, None] == owner[None, :]
    apart: Bool[np.ndarray, "item item"] = ~np.eye(len(owner), dtype=bool)
    for position in positions:
        correlation = np.corrcoef(position * readout)
        same.append(correlation[alike & apart])
        different.append(correlation[~alike])
    norms = np.sqrt(np.square(weights).sum(0)) * np.abs(readout)
    active = norms >= ACTIVE * norms.max()
    # How much more a unit likes the first class than the others, in each position.
    likes = [p[owner == 0].mean(0) - p[owner != 0].mean(0) for p in positions]
    rule = np.sign(likes[0] * likes[1]) == np.sign(readout)
    return (
        float(np.concatenate(same).mean()),
        float(np.concatenate(different).mean()),
        float(rule[active].mean()),
    )
