"""The two-dimensional problem of `gradient`: two bits as two coordinates, predict the first.

Training shows (Y1, Y2) in (0,0), (0,1), (1,0); the unseen corner is (1,1). In the two profiles:

- `as-printed`: X_i = Y_i − U[0,1], so the four combinations are the unit squares about the origin;
- `as-run`: data of the TensorFlow playground's exclusive-or set, coordinates U(−5, 5) pushed
  outward by a margin of .3, one quadrant removed.

The right boundary is the axis X1 = 0 and X2 is redundant: it helps to predict Y1 in training
(Y2 = 1 only where Y1 = 0) and misleads in the unseen corner. Training on all four combinations
(`train_on="four"`) is the control: there X2 carries no information about Y1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.tasks import splits
from recombine.tasks.task import EVERYTHING, Factor, Output, Task

Profile = Literal["as-printed", "as-run"]
MARGIN = 0.3
"""How far the playground pushes its points away from the axes."""
REACH = 5.0
"""The playground's coordinates before the push are U(−REACH, REACH)."""


@dataclass(frozen=True)
class Corners(Task):
    """Predict the first of two bits from two coordinates, one combination of bits held out."""

    name: ClassVar[str] = "corners"

    profile: Profile = "as-printed"
    """The unit squares of the text, or the playground's data."""
    train_on: Literal["three", "four"] = "three"
    """Three combinations as in the paper, or all four as a control."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        # Not train_on="four": the control trains on the corner by design.
        return cls(), cls(profile="as-run")

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor("Y1", ("0", "1")), Factor("Y2", ("0", "1")))

    @property
    def outputs(self) -> tuple[Output, ...]:
        return (Output("Y1", classes=2, factors=(0,)),)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (2,)

    @property
    def extent(self) -> float:
        """All inputs lie in the square (−extent, extent)²."""
        return 1.0 if self.profile == "as-printed" else REACH + MARGIN

    def splits(self) -> Mapping[str, Int[np.ndarray, "n factor"]]:
        seen, corner = splits.listed(self.sizes, [(1, 1)])
        if self.train_on == "three":
            return {"train": seen, "corner": corner}
        return {"train": splits.product(self.sizes), "corner": corner}

    def draw_noise(
        self, n: int, rng: np.random.Generator, *, split: str = EVERYTHING
    ) -> Float[np.ndarray, "n factor"]:
        return rng.random((n, 2))

    def render(
        self, z: Int[np.ndarray, "n factor"], noise: Float[np.ndarray, "n factor"]
    ) -> Float[np.ndarray, "n 2"]:
        if self.profile == "as-printed":
            x = z - noise
        else:
            x = (2 * z - 1) * (MARGIN + REACH * noise)
        return np.asarray(x, dtype=np.float32)

    def targets(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        return np.asarray(z[:, :1])

    def oracle(self, inputs: Float[np.ndarray, "n 2"]) -> Int[np.ndarray, "n output"]:
        return (inputs[:, :1] > 0).astype(np.int64)

    def part(self, factor: int) -> Bool[np.ndarray, " 2"]:
        return np.asarray(np.arange(2) == factor)
