"""The smallest tasks: two by two items, the answer is the sign of the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from recombine.tasks.items import SignTask
from recombine.tasks.pictures import Images
from recombine.tasks.task import Factor, Output, Task


@dataclass(frozen=True)
class TwoByTwo(SignTask):
    """Two factors of two items; only the first matters."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        return cls(), cls(inputs=Images())

    @property
    def factors(self) -> tuple[Factor, ...]:
        return Factor("relevant", ("−", "+")), Factor("irrelevant", ("−", "+"))

    @property
    def outputs(self) -> tuple[Output, ...]:
        return (Output("answer", 2, (0,)),)

    def answers(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        return np.asarray(z[:, 0] == 1)


@dataclass(frozen=True)
class Invariance(TwoByTwo):
    """Trained with the irrelevant item at −, asked with it at +."""

    name: ClassVar[str] = "invariance"

    def trained(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        return np.asarray(z[:, 1] == 0)


@dataclass(frozen=True)
class PartialExposure(TwoByTwo):
    """Trained on all but (+, +)."""

    name: ClassVar[str] = "partial-exposure"

    def trained(self, z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, " n"]:
        return np.asarray((z == 0).any(axis=1))
