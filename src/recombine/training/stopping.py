"""Early stopping and keeping the best, lane by lane.

A lane that has stopped keeps its weights while others go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from recombine.errors import BadValue
from recombine.spec import Spec


@dataclass(frozen=True)
class Stop(Spec):
    """Stop a lane when its measure reaches the goal, or has not improved for a while."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "stop"

    measure: str = "loss/train"
    """Any number the evaluation gives: `loss/<split>` or `accuracy/<split>`."""
    better: Literal["lower", "higher"] = "lower"
    patience: int | None = None
    """Evaluations without improvement before a lane stops; none: never for that reason."""
    goal: float | None = None
    """A value at which a lane stops; none: never for that reason."""

    def validate(self) -> None:
        if self.patience is None and self.goal is None:
            raise BadValue("training/stop", "neither", "a patience or a goal")
        if self.patience is not None and self.patience < 1:
            raise BadValue("training/stop.patience", self.patience, "at least 1")

    def update(
        self,
        value: Float[Tensor, " seed"],
        best: Float[Tensor, " seed"],
        waited: Float[Tensor, " seed"],
    ) -> tuple[Float[Tensor, " seed"], Float[Tensor, " seed"], Bool[Tensor, " seed"]]:
        """The best value so far (as a loss), the evaluations since, and which lanes stop now."""
        loss = value if self.better == "lower" else -value
        improved = loss < best
        best = torch.where(improved, loss, best)
        waited = torch.where(improved, torch.zeros_like(waited), waited + 1)
        stop = torch.zeros_like(improved)
        if self.patience is not None:
            stop |= waited >= self.patience
        if self.goal is not None:
            stop |= loss <= (self.goal if self.better == "lower" else -self.goal)
        return best, waited, stop


@dataclass(frozen=True)
class Keep(Spec):
    """Keep the weights of the evaluation at which a measure was best, the first one if several."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "keep"

    label: str = "best"
    """What the kept weights are called: `<label>:<parameter>`."""
    measure: str = "loss/validation"
    """Any number the evaluation gives: `loss/<split>` or `accuracy/<split>`."""
    better: Literal["lower", "higher"] = "lower"

    def validate(self) -> None:
        if not self.label or ":" in self.label:
            raise BadValue("training/keep.label", self.label, "a word without a colon")

    def improved(
        self, value: Float[Tensor, " seed"], best: Float[Tensor, " seed"]
    ) -> tuple[Float[Tensor, " seed"], Bool[Tensor, " seed"]]:
        """The best value so far (as a loss), and which lanes are better now than ever before."""
        loss = value if self.better == "lower" else -value
        return torch.minimum(loss, best), loss < best
