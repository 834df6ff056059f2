"""The abstract factored task: factors, splits, rendering, resampling, targets and an oracle.

An example is made in two moves. First a *combination* z = (z_1 … z_C), one value index a factor,
is drawn from the split. Then each factor draws its own *noise* (which image of that digit, where
in the unit interval) and the pair is rendered to an input. Because the noise belongs to a factor,
one factor can be resampled while everything else about the example is held: that is what an
intervention on a model means here.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int, Shaped

from recombine.errors import UnknownName
from recombine.spec import Spec
from recombine.tasks.splits import product

EVERYTHING = "all"
"""The split every task has without naming it: the full product of its factors."""


@dataclass(frozen=True)
class Factor:
    """One thing an example varies in."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Output:
    """One thing to be predicted, and the factors it should depend on; all others are redundant."""

    name: str
    classes: int
    factors: tuple[int, ...]


@dataclass(frozen=True)
class Examples:
    """Rendered examples with what they were rendered from."""

    z: Int[np.ndarray, "n factor"]
    noise: Shaped[np.ndarray, "n factor *each"]
    inputs: Shaped[np.ndarray, n * shape]
    targets: Int[np.ndarray, "n output"]


@dataclass(frozen=True)
class Task(Spec, ABC):
    """A task whose compositional structure is known."""

    kind: ClassVar[str] = "tasks"

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        """The configurations that the conformance checks try; every profile should be there."""
        return (cls(),)

    @property
    @abstractmethod
    def factors(self) -> tuple[Factor, ...]:
        """What an example varies in."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[Output, ...]:
        """What is predicted; all outputs have equally many classes."""

    @property
    @abstractmethod
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""

    @abstractmethod
    def splits(self) -> Mapping[str, Int[np.ndarray, "n factor"]]:
        """Which combinations each split holds; `train` and at least one other."""

    @abstractmethod
    def draw_noise(
        self, n: int, rng: np.random.Generator, *, split: str = EVERYTHING
    ) -> Shaped[np.ndarray, "n factor *each"]:
        """Fresh noise for n examples, factor by factor."""

    @abstractmethod
    def render(
        self, z: Int[np.ndarray, "n factor"], noise: Shaped[np.ndarray, "n factor *each"]
    ) -> Shaped[np.ndarray, n * shape]:
        """The inputs that these combinations and this noise give; no randomness left."""

    @abstractmethod
    def targets(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        """The right answers, from the combinations."""

    @abstractmethod
    def oracle(self, inputs: Shaped[np.ndarray, n * shape]) -> Int[np.ndarray, "n output"]:
        """The right answers, from the inputs alone, by the meaning of the task."""

    @abstractmethod
    def part(self, factor: int) -> Bool[np.ndarray, "*shape"]:
        """Which entries of an input a factor is rendered into."""

    @property
    def seen(self) -> frozenset[str]:
        """Splits that test trained combinations on purpose, with noise that training never sees."""
        return frozenset()

    def ready(self) -> None:
        """Raise NoData if something from outside that the task is made of is not there."""

    @property
    def classes(self) -> int:
        """How many classes each output has."""
        return self.outputs[0].classes

    @property
    def class_values(self) -> tuple[float, ...] | None:
        """The real number that each class stands for, where the task can be learned as regression.

        A recipe with the loss `squared` asks the network for these numbers; none: it cannot be.
        """
        return None

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each factor has."""
        return tuple(len(factor.values) for factor in self.factors)

    def combinations(self, split: str) -> Int[np.ndarray, "n factor"]:
        """The combinations of a split; `all` is the full product."""
        return _combinations(self, split)

    def draw(
        self, split: str, n: int, rng: np.random.Generator
    ) -> tuple[Int[np.ndarray, "n factor"], Shaped[np.ndarray, "n factor *each"]]:
        """Combinations drawn uniformly from a split, and noise for them: examples not rendered."""
        combinations = self.combinations(split)
        z = combinations.take(rng.integers(len(combinations), size=n), axis=0)
        return z, self.draw_noise(n, rng, split=split)

    def sample(self, split: str, n: int, rng: np.random.Generator) -> Examples:
        """n fresh examples of a split."""
        return self.show(*self.draw(split, n, rng))

    def show(
        self, z: Int[np.ndarray, "n factor"], noise: Shaped[np.ndarray, "n factor *each"]
    ) -> Examples:
        """The examples that these combinations and this noise give."""
        return Examples(z, noise, self.render(z, noise), self.targets(z))

    def resample(self, examples: Examples, factor: int, rng: np.random.Generator) -> Examples:
        """The same examples with one factor moved to another value, its noise drawn anew.

        The value is uniform over the *other* values of the factor, so every example changes;
        the combination may be one that no split holds.
        """
        n, size = len(examples.z), self.sizes[factor]
        z, noise = examples.z.copy(), examples.noise.copy()
        z[:, factor] = (z[:, factor] + rng.integers(1, size, size=n)) % size
        noise[:, factor] = self.draw_noise(n, rng)[:, factor]
        return self.show(z, noise)


@functools.lru_cache(maxsize=256)
def _combinations(task: Task, split: str) -> Int[np.ndarray, "n factor"]:
    """Worked out once a task and split: every lane asks for it in every block."""
    splits = {**task.splits(), EVERYTHING: product(task.sizes)}
    if split not in splits:
        raise UnknownName("split", split, splits, where=f"tasks/{task.name}")
    found = splits[split]
    found.setflags(write=False)
    return found
