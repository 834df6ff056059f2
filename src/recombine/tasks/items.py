"""The abstract task about items: what is common to the tasks of the study `kernel`.

Such a task says which combinations of items are trained on and what the answer is; a `Showing` says
what an input looks like. Examples are spread evenly: of n examples each combination gets n/N, and
what is left over goes to random ones. With n = N training is full-batch on every combination once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from recombine.tasks.pictures import Images
from recombine.tasks.showing import OneHot
from recombine.tasks.splits import product
from recombine.tasks.task import EVERYTHING, Factor, Output, Task


@dataclass(frozen=True)
class ItemTask(Task):
    """Combinations of items, shown as one-hot codes or as images."""

    inputs: OneHot | Images = OneHot()
    """How a combination is shown."""

    def validate(self) -> None:
        self.inputs.check(self.sizes)

    def ready(self) -> None:
        self.inputs.ready()

    @abstractmethod
    def trained(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        """Which combinations training shows."""

    def legal(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        """Which combinations the task is about; all, unless it says otherwise."""
        return np.ones(len(z), dtype=bool)

    def splits(self) -> Mapping[str, Int[np.ndarray, "n factor"]]:
        every = product(self.sizes)
        every = every[self.legal(every)]
        train = self.trained(every)
        return {"train": every[train], "test": every[~train]}

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.inputs.shape(self.sizes)

    def draw(
        self, split: str, n: int, rng: np.random.Generator
    ) -> tuple[Int[np.ndarray, "n factor"], Shaped[np.ndarray, "n factor *each"]]:
        combinations = self.combinations(split)
        whole, left = divmod(n, len(combinations))
        rows = np.concatenate([
            np.tile(np.arange(len(combinations)), whole),
            rng.permutation(len(combinations))[:left],
        ])  # fmt: skip
        z = combinations[rng.permutation(rows)]
        return z, self.draw_noise(n, rng, split=split)

    def draw_noise(
        self, n: int, rng: np.random.Generator, *, split: str = EVERYTHING
    ) -> Float[np.ndarray, "n factor"]:
        """Only the split `train` shows training images; everything else shows unseen ones."""
        return self.inputs.draw(n, len(self.factors), rng, training=split == "train")

    def render(
        self, z: Int[np.ndarray, "n factor"], noise: Float[np.ndarray, "n factor"]
    ) -> Float[np.ndarray, "n *shape"]:
        return self.inputs.render(z, noise, self.sizes)

    def oracle(self, inputs: Float[np.ndarray, "n *shape"]) -> Int[np.ndarray, "n output"]:
        return self.targets(self.inputs.identify(inputs, self.sizes))

    def part(self, factor: int) -> Bool[np.ndarray, "*shape"]:
        return self.inputs.part(factor, self.sizes)


@dataclass(frozen=True)
class SignTask(ItemTask):
    """An item task whose answer is yes or no: class 1 stands for +1, class 0 for −1."""

    @property
    def outputs(self) -> tuple[Output, ...]:
        return (Output("answer", 2, tuple(range(len(self.factors)))),)

    @property
    def class_values(self) -> tuple[float, ...]:
        return (-1.0, 1.0)

    def targets(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        return self.answers(z).astype(np.int64)[:, None]

    @abstractmethod
    def answers(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        """Where the answer is yes."""


def items(name: str, count: int) -> Factor:
    """A factor whose values are numbered items."""
    return Factor(name, tuple(f"item {i}" for i in range(count)))
