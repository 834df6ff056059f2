"""The dependence of whole answers: how often a sentence's answer changes when one factor is moved.

The dependence matrix has a row an output. Where outputs are the places of a sentence, rows mean
little: move one word, and everything after it shifts. Here the answer is taken as a whole. One
factor of an item is moved to another value, the rest is held, and three shares are counted:

- `changed`: the network's answer is another one;
- `should`: the right answer is another one;
- `follows`: of the items that were answered rightly, those still answered rightly after the move.

A network that composes has `changed` equal to `should`, and `follows` near 1, whatever is moved. A
network that has learned items by heart loses what it knew as soon as a move leads out of training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from recombine.analyses.analysis import ANALYSIS_SEED, RecurrentAnalysis, shown
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.seeds import stream
from recombine.tasks.errors_told import end_of
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import IGNORE, Examples, Task


@dataclass(frozen=True)
class AnswerDependence(RecurrentAnalysis):
    """Moves each factor of some training items; NaN where nothing can be moved or was right."""

    name: ClassVar[str] = "answer-dependence"

    examples: int = 100
    """Items of the training split that are moved."""

    def validate(self) -> None:
        if self.examples < 1:
            raise BadValue("analyses/answer-dependence.examples", self.examples, "at least 1")

    def measure(
        self, stack: Stack, task: Task, model: Model
    ) -> Mapping[str, Float[np.ndarray, "seed factor"]]:
        rng = stream(ANALYSIS_SEED, "answer-dependence")
        items = task.sample("train", self.examples, rng)
        moved = [task.resample(items, j, rng) for j in range(len(task.factors))]
        end = end_of(task) if isinstance(task, SequenceTask) else None
        before, *after = (_answers(stack, model, each, end) for each in (items, *moved))
        right = _right(before, items)
        columns = []
        for j, (other, answers) in enumerate(zip(moved, after, strict=True)):
            movable = task.movable(items.z, j)
            counts = np.ones_like(items.targets, dtype=bool)
            if end is None:  # how long an answer is, the question says: no doing of the network
                counts = (items.targets != IGNORE) & (other.targets != IGNORE)
            changed = ((answers != before) & counts).any(-1)
            should = ((items.targets != other.targets) & counts).any(-1)
            still = _right(answers, other)
            columns.append(
                (
                    _share(changed, movable),
                    _share(np.broadcast_to(should, changed.shape), movable),
                    _share(still, movable & right),
                )
            )
        each = [np.stack(column, axis=-1) for column in zip(*columns, strict=True)]
        names = ("changed", "should", "follows")
        return {f"{self.name}/{name}": e for name, e in zip(names, each, strict=True)}


@torch.no_grad()
def _answers(
    stack: Stack, model: Model, items: Examples, end: int | None
) -> Int[np.ndarray, "seed n output"]:
    """The free-running answers of every lane; IGNORE after their end, if answers have one."""
    given = model.probabilities(stack(shown(items, stack))).argmax(-1).cpu().numpy()
    ended = np.logical_or.accumulate(given == end, axis=-1)
    over = np.concatenate([np.zeros_like(ended[..., :1]), ended[..., :-1]], axis=-1)
    return np.where(over, IGNORE, given)


def _right(
    answers: Int[np.ndarray, "seed n output"], items: Examples
) -> Bool[np.ndarray, "seed n"]:
    """Whether answers are right at every place that counts."""
    wanted = items.targets
    return np.asarray(((answers == wanted) | (wanted == IGNORE)).all(-1))


def _share(
    true: Bool[np.ndarray, "seed n"], among: Bool[np.ndarray, "*seed n"]
) -> Float[np.ndarray, " seed"]:
    """The share that is true among some; NaN where there are none."""
    n = np.broadcast_to(among, true.shape).sum(-1)
    return np.asarray(np.where(n > 0, (true & among).sum(-1) / np.maximum(n, 1), np.nan))
