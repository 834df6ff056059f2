"""Context dependence: in one context the first feature gives the answer, in the other the second.

Each feature has r negative items (0 … r−1) and r positive ones. Held out, in both contexts, are the
pairs of the first q negative items of feature 1 and the first q positive items of feature 2. The
paper's CD-3, CD-2 and CD-1 have r = 3 and q = 3, 2 and 1. With q = r the two features disagree in
training in one way only, and there the context alone tells the answer: a shortcut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from recombine.errors import BadValue
from recombine.tasks.items import SignTask, items
from recombine.tasks.pictures import Images
from recombine.tasks.task import Factor, Task


@dataclass(frozen=True)
class ContextDependence(SignTask):
    """Which feature counts depends on the context."""

    name: ClassVar[str] = "context-dependence"

    items: int = 3
    """r: negative items of each feature, and positive ones."""
    left_out: int = 3
    """q: how many of them are left out with one another."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        return cls(), cls(left_out=1), cls(left_out=2, inputs=Images(shift=2))

    def validate(self) -> None:
        super().validate()
        if not 1 <= self.left_out <= self.items:
            raise BadValue("tasks/context-dependence.left_out", self.left_out, f"1 to {self.items}")

    @property
    def factors(self) -> tuple[Factor, ...]:
        count = 2 * self.items
        return items("context", 2), items("feature 1", count), items("feature 2", count)

    def answers(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        positive = z[:, 1:] >= self.items
        return np.where(z[:, 0] == 0, positive[:, 0], positive[:, 1])

    def trained(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        second = z[:, 2] - self.items
        held = (z[:, 1] < self.left_out) & (second >= 0) & (second < self.left_out)
        return np.asarray(~held)
