"""Symbolic addition: two items stand for numbers, the answer is their sum; most pairs are held out.

Items 0 … n−1 have the values −(n−1)/2 … (n−1)/2. A pair is trained on if either of its items is in
the set T. With n = 9 the paper has T = {4} (value 0: extrapolation), {0} (value −4: asymmetric),
{0, 8} (interpolation) and {2, 6} (both). Dispersed: two partners for each item, at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.errors import BadValue
from recombine.tasks.items import ItemTask
from recombine.tasks.pictures import Images
from recombine.tasks.task import Factor, Output, Task

SETS: dict[str, tuple[int, ...]] = {
    "extrapolation": (4,),
    "asymmetric": (0,),
    "interpolation": (0, 8),
    "both": (2, 6),
    "extrapolation-2": (3, 5),
    "extrapolation-3": (3, 4, 5),
    "extrapolation-4": (2, 3, 5, 6),
    "interpolation-3": (0, 4, 8),
    "interpolation-4": (0, 1, 7, 8),
}
"""Trained items of nine, by name: the paper's four, and zero-mean sets of other sizes."""


@dataclass(frozen=True)
class Addition(ItemTask):
    """Add the values of two items."""

    name: ClassVar[str] = "addition"

    items: int = 9
    """Items of each factor."""
    trained_items: tuple[int, ...] = (4,)
    """T: pairs with one of these are trained on."""
    dispersed: int | None = None
    """Instead of T: each item with `partners` others, as this random number says."""
    partners: int = 2
    """Partners of each item, if dispersed."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        return cls(), cls(trained_items=(0, 8)), cls(dispersed=1), cls(inputs=Images(shift=3))

    def validate(self) -> None:
        super().validate()
        if self.items < 2:
            raise BadValue("tasks/addition.items", self.items, "at least 2")
        legal = f"some items of 0 to {self.items - 1}, not all of them"
        distinct = set(self.trained_items)
        if not distinct or not distinct < set(range(self.items)):
            raise BadValue("tasks/addition.trained_items", list(self.trained_items), legal)
        if not 1 <= self.partners < self.items:
            raise BadValue("tasks/addition.partners", self.partners, f"1 to {self.items - 1}")

    @property
    def values(self) -> Float[np.ndarray, " item"]:
        """What each item stands for."""
        return np.asarray(np.arange(self.items) - (self.items - 1) / 2)

    @property
    def factors(self) -> tuple[Factor, ...]:
        names = tuple(f"{value:g}" for value in self.values)
        return Factor("first", names), Factor("second", names)

    @property
    def outputs(self) -> tuple[Output, ...]:
        return (Output("sum", 2 * self.items - 1, (0, 1)),)

    @property
    def class_values(self) -> tuple[float, ...]:
        return tuple(float(k - (self.items - 1)) for k in range(2 * self.items - 1))

    def trained(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        if self.dispersed is None:
            return np.asarray(np.isin(z, self.trained_items).any(axis=1))
        rows = np.random.default_rng(self.dispersed).permutation(self.items)
        return np.asarray((z[:, 1] - rows[z[:, 0]]) % self.items < self.partners)

    def targets(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        return np.asarray(z.sum(axis=1, keepdims=True))
