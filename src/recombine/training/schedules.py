"""How the learning rate moves with the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recombine.errors import BadValue
from recombine.spec import Spec


@dataclass(frozen=True)
class Constant(Spec):
    """The optimizer's own rate throughout."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "constant"

    def factor(self, step: int) -> float:
        """What the learning rate is multiplied by at this step (the first is 0)."""
        return 1.0


@dataclass(frozen=True)
class Exponential(Spec):
    """The rate times `decay` for every `every` steps, smoothly or in stairs."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "exponential"

    decay: float = 0.96
    every: int = 100
    stairs: bool = False
    """Decay only at whole multiples of `every`."""

    def validate(self) -> None:
        if not 0 < self.decay <= 1:
            raise BadValue("training/exponential.decay", self.decay, "a number in (0, 1]")
        if self.every < 1:
            raise BadValue("training/exponential.every", self.every, "at least 1")

    def factor(self, step: int) -> float:
        """What the learning rate is multiplied by at this step (the first is 0)."""
        exponent = step // self.every if self.stairs else step / self.every
        return float(self.decay**exponent)
