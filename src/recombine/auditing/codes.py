"""The codes that predictions are made for: kernels that count agreeing factors, of two families.

*Over salience.* From a purely additive code (each factor by itself) to a lookup table (each
combination a thing of its own), by two roads. *Through all orders*: K(z, z') = (1 + ρ)^(number of
factors that agree), whose weight for a conjunction of order k is ρᵏ, with ρ from 0 up. *Past the
middle*: only single factors and whole combinations have weight, nothing between. With two factors
the roads are one. The axis is the share of the code that is about single factors, C S(1; C), from
1 down to 0.

*Networks.* Infinitely wide ReLU networks with one to four hidden layers on one-hot factors, their
last layer trained: a point each on the same axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq  # type: ignore[import-untyped, unused-ignore]

from recombine.theory.network_kernels import network_kernel, one_hot
from recombine.theory.salience import salience

SHARES = (0.98, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.02)
DEPTHS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Code:
    """A way to represent the factors."""

    road: Literal["through all orders", "past the middle", "network"]
    depth: int | None
    """Hidden layers of a network; none over salience."""
    kappa: tuple[float, ...]
    """The kernel by how many factors agree."""

    @property
    def name(self) -> str:
        if self.depth is not None:
            return f"ReLU network, {self.depth} hidden {'layer' if self.depth == 1 else 'layers'}"
        return f"{self.additive:.0%} single factors, {self.road}"

    @property
    def saliences(self) -> Float[np.ndarray, " order"]:
        return salience(self.kappa)

    @property
    def additive(self) -> float:
        """Share of the code that is about single factors."""
        return float((len(self.kappa) - 1) * self.saliences[0])


def codes(factors: int) -> tuple[Code, ...]:
    """The kernels tried for so many factors."""
    count = np.arange(factors + 1)
    made = []
    for share in SHARES if factors > 1 else ():
        rho = _rho(share, factors)
        kappa = np.expm1(count * np.log1p(rho)) / np.expm1(factors * np.log1p(rho))
        made.append(Code("through all orders", None, tuple(kappa.tolist())))
    for share in SHARES if factors > 2 else ():
        kappa = share * count / factors
        kappa[-1] = 1.0
        made.append(Code("past the middle", None, tuple(kappa.tolist())))
    for depth in DEPTHS:
        kappa = network_kernel(one_hot(factors), depth=depth)
        made.append(Code("network", depth, tuple(kappa.tolist())))
    return tuple(made)


def _rho(share: float, factors: int) -> float:
    """The ρ at which single factors make up this share: C ρ / ((1 + ρ)^C − 1)."""

    def apart(log: float) -> float:
        rho = np.exp(log)
        return float(factors * rho / np.expm1(factors * np.log1p(rho)) - share)

    return float(np.exp(brentq(apart, -25.0, 25.0)))
