"""What is run: the abstract cell, what it is handed (Context) and what it hands back (Outcome).

A cell is one configuration whose result depends only on itself and a seed. Training a network is
the usual cell; solving a convex problem exactly is another. The engine runs either without
knowing which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from recombine.spec import Spec

Arrays = Mapping[str, np.ndarray]
"""Named arrays, as a safetensors file holds them."""


@dataclass(frozen=True)
class Outcome:
    """What one seed of a cell gave."""

    scalars: Mapping[str, float]
    """Final numbers by name; a number that is undefined is NaN."""
    arrays: Arrays = field(default_factory=dict)
    """Curves and measurements by name."""
    weights: Arrays = field(default_factory=dict)
    """Trained parameters, if the cell keeps them; they stay on the machine that made them."""


@runtime_checkable
class Checkpoint(Protocol):
    """A place where a long cell leaves its state and finds it again after a kill."""

    def load(self) -> Arrays | None: ...

    def save(self, arrays: Arrays) -> None: ...


def _silent(done: int, total: int) -> None:
    """Progress nobody watches."""


@dataclass(frozen=True)
class Context:
    """What a cell may use of its surroundings; none of it may change the numbers."""

    device: str = "cpu"
    progress: Callable[[int, int], None] = _silent
    """Called now and then with (done, total); raises if the user wants to stop."""
    checkpoint: Checkpoint | None = None
    checkpoint_every: float = 30.0
    """Seconds between checkpoints."""


@dataclass(frozen=True)
class Cell(Spec, ABC):
    """A configuration that can be run for seeds.

    The outcome of a seed never depends on which other seeds run beside it.
    """

    kind: ClassVar[str] = "cells"

    @property
    @abstractmethod
    def seeds_per_job(self) -> int:
        """How many seeds are best run side by side in one job."""

    def ready(self) -> None:
        """Raise NoData if something from outside that the cell needs is not there."""

    @abstractmethod
    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        """The outcome of each seed."""
