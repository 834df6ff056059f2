"""Relations between two items: equivalence (of one class?) and ordering (which comes first?)."""

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
class Equivalence(SignTask):
    """Are two items of one class? Trained if either is one of the first items of its class.

    The paper's transitive equivalence: A goes with B and B with C, so does A go with C?
    """

    name: ClassVar[str] = "equivalence"

    classes_of: tuple[int, ...] = (2, 2)
    """Items of each class."""
    linking: tuple[int, ...] = (1, 1)
    """How many items of each class, its first, are trained with all others."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        return cls(), cls(classes_of=(2, 3, 3), linking=(1, 1, 2)), cls(inputs=Images(shift=1))

    def validate(self) -> None:
        super().validate()
        if len(self.classes_of) < 2 or min(self.classes_of) < 1:
            raise BadValue("tasks/equivalence.classes_of", list(self.classes_of), "two classes up")
        fits = len(self.linking) == len(self.classes_of)
        if not fits or not all(0 <= q <= n for q, n in zip(self.linking, self.classes_of)):  # noqa: B905
            legal = "one number a class, at most its items"
            raise BadValue("tasks/equivalence.linking", list(self.linking), legal)
        if not 0 < sum(self.linking) < sum(self.classes_of):
            legal = "some items that link, and some that do not"
            raise BadValue("tasks/equivalence.linking", list(self.linking), legal)

    @property
    def class_of(self) -> Int[np.ndarray, " item"]:
        """The class of each item."""
        return np.repeat(np.arange(len(self.classes_of)), self.classes_of)

    @property
    def links(self) -> Bool[np.ndarray, " item"]:
        """Which items are trained with all others."""
        parts = [np.arange(n) < q for n, q in zip(self.classes_of, self.linking, strict=True)]
        return np.concatenate(parts)

    @property
    def factors(self) -> tuple[Factor, ...]:
        count = sum(self.classes_of)
        return items("first", count), items("second", count)

    def answers(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        owner = self.class_of
        return np.asarray(owner[z[:, 0]] == owner[z[:, 1]])

    def trained(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        return np.asarray(self.links[z].any(axis=1))


@dataclass(frozen=True)
class Ordering(SignTask):
    """Does the first item come before the second? Trained on neighbours, in both orders."""

    name: ClassVar[str] = "ordering"

    items: int = 7

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        return cls(), cls(items=4, inputs=Images())

    def validate(self) -> None:
        super().validate()
        if self.items < 3:
            raise BadValue("tasks/ordering.items", self.items, "at least 3")

    @property
    def factors(self) -> tuple[Factor, ...]:
        return items("first", self.items), items("second", self.items)

    def legal(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        return np.asarray(z[:, 0] != z[:, 1])

    def answers(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        return np.asarray(z[:, 0] < z[:, 1])

    def trained(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        return np.asarray(np.abs(z[:, 0] - z[:, 1]) == 1)
