"""How combinations of items are shown to a network: one-hot codes here, images in `pictures.py`.

A task about items (which pairs are trained on, what the answer is) does not care what its items
look like. So a showing is a part of its own: it turns combinations and noise into inputs, and back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.spec import Spec

Sizes = tuple[int, ...]
"""How many items each factor has."""


@dataclass(frozen=True)
class Showing(Spec, ABC):
    """Turns combinations of items into inputs."""

    kind: ClassVar[str] = "inputs"

    @abstractmethod
    def check(self, sizes: Sizes) -> None:
        """Refuse factors with more items than it can show."""

    def ready(self) -> None:
        """Raise NoData if something from outside that it shows is not there."""

    @abstractmethod
    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """The shape of one input."""

    @abstractmethod
    def draw(
        self, n: int, factors: int, rng: np.random.Generator, *, training: bool
    ) -> Float[np.ndarray, "n factor"]:
        """Fresh noise; `training`: of what training may see."""

    @abstractmethod
    def render(
        self,
        z: Int[np.ndarray, "n factor"],
        noise: Float[np.ndarray, "n factor"],
        sizes: Sizes,
    ) -> Float[np.ndarray, "n *shape"]:
        """The inputs."""

    @abstractmethod
    def identify(
        self, inputs: Float[np.ndarray, "n *shape"], sizes: Sizes
    ) -> Int[np.ndarray, "n factor"]:
        """The combinations that inputs show: for the oracle."""

    @abstractmethod
    def part(self, factor: int, sizes: Sizes) -> Bool[np.ndarray, "*shape"]:
        """Which entries of an input a factor is shown in."""


@dataclass(frozen=True)
class OneHot(Showing):
    """One-hot codes of the items, side by side: no noise, nothing but the combination."""

    name: ClassVar[str] = "one-hot"

    def check(self, sizes: Sizes) -> None:
        """Any number of items will do."""

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return (sum(sizes),)

    def draw(
        self, n: int, factors: int, rng: np.random.Generator, *, training: bool
    ) -> Float[np.ndarray, "n factor"]:
        return np.zeros((n, factors))

    def render(
        self,
        z: Int[np.ndarray, "n factor"],
        noise: Float[np.ndarray, "n factor"],
        sizes: Sizes,
    ) -> Float[np.ndarray, "n *shape"]:
        codes = [np.eye(size, dtype=np.float32)[z[:, c]] for c, size in enumerate(sizes)]
        return np.concatenate(codes, axis=1)

    def identify(
        self, inputs: Float[np.ndarray, "n *shape"], sizes: Sizes
    ) -> Int[np.ndarray, "n factor"]:
        blocks = np.split(inputs, np.cumsum(sizes)[:-1], axis=1)
        return np.stack([block.argmax(axis=1) for block in blocks], axis=1)

    def part(self, factor: int, sizes: Sizes) -> Bool[np.ndarray, "*shape"]:
        owner = np.repeat(np.arange(len(sizes)), sizes)
        return np.asarray(owner == factor)
