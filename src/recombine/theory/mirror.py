"""What a two-layer diagonal linear network prefers, exactly, for any initial weights.

The network has D inputs and four weights on each: β_d = w⁺v⁺ − w⁻v⁻, and answers x·β. Write
g = Xᵀr for the gradient of the loss in β. Gradient flow moves the weights of one input by

    ẇ⁺ = −g v⁺,  v̇⁺ = −g w⁺,  ẇ⁻ = g v⁻,  v̇⁻ = g w⁻.

So sums and differences grow or shrink by one and the same factor: with z = −2∫g dt,

    (w⁺+v⁺)² and (w⁻−v⁻)² are multiplied by eᶻ,   (w⁺−v⁺)² and (w⁻+v⁻)² by e⁻ᶻ.

As 4w⁺v⁺ = (w⁺+v⁺)² − (w⁺−v⁺)², the coefficient is at all times

    β = a eᶻ − b e⁻ᶻ,   a = [(w⁺+v⁺)² + (w⁻−v⁻)²]/4,   b = [(w⁺−v⁺)² + (w⁻+v⁻)²]/4

of the initial weights. With A = w⁺² + w⁻² + v⁺² + v⁻² and B = 2(w⁺v⁺ − w⁻v⁻) = 2β₀ that is a =
(A+B)/4, b = (A−B)/4, or β = k sinh(z + c) with k = √(A²−B²)/2 and c = artanh(B/A).

The vector z is a sum of gradients, so z = Xᵀν for some ν with one entry an example. That and
Xβ = y are the conditions for β to be the interpolator nearest to β₀ in the Bregman divergence of

    ψ(β) = β arcsinh(β/k) − √(β² + k²) + k,   ψ′(β) = arcsinh(β/k) = z + c.

Everything about the initial weights that matters is in a and b: this file keeps those two.
`interpolation.py` finds ν.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue

Vector = Float[np.ndarray, " d"]


@dataclass(frozen=True)
class Mirror:
    """The map z → β of a network with given initial weights, coefficient by coefficient."""

    up: Vector
    """a: what grows with z."""
    down: Vector
    """b: what shrinks with z."""

    def __post_init__(self) -> None:
        if self.up.shape != self.down.shape:
            raise BadValue("mirror.down", self.down.shape, "as many numbers as up has")
        for name, value in (("up", self.up), ("down", self.down)):
            if not (np.isfinite(value).all() and (value >= 0).all()):
                raise BadValue(f"mirror.{name}", _worst(value), "finite numbers from 0 up")

    @classmethod
    def of_weights(cls, w_plus: Vector, w_minus: Vector, v_plus: Vector, v_minus: Vector) -> Mirror:
        """The map of a network that starts at these weights."""
        up = (np.square(w_plus + v_plus) + np.square(w_minus - v_minus)) / 4
        down = (np.square(w_plus - v_plus) + np.square(w_minus + v_minus)) / 4
        return cls(up, down)

    @classmethod
    def of_scale(cls, scale: Vector) -> Mirror:
        """The map of a network that starts at β = 0 with squared weights A = `scale` an input."""
        return cls(scale / 4, scale / 4)

    @property
    def start(self) -> Vector:
        """β₀, where z = 0."""
        return np.asarray(self.up - self.down)

    @property
    def k(self) -> Vector:
        """√(A²−B²)/2: below it a coefficient is cheap, above it the penalty grows like |β|."""
        return np.asarray(2 * np.sqrt(self.up * self.down))

    def beta(self, z: Vector) -> Vector:
        """The coefficients at z."""
        return np.asarray(self.up * np.exp(z) - self.down * np.exp(-z))

    def slope(self, z: Vector) -> Vector:
        """dβ/dz: how fast each coefficient can move."""
        return np.asarray(self.up * np.exp(z) + self.down * np.exp(-z))

    def divergence(self, beta: Vector) -> float:
        """The Bregman divergence of ψ from β₀ to β: what gradient flow makes least.

        With z = z(β) it is β z − (slope(z) − slope(0)): zero at β₀, and convex. Infinite where a
        coefficient cannot be reached (b = 0 lets it only grow, a = 0 only shrink).
        """
        z = self.inverse(beta)
        if np.isnan(z).any():
            return float("inf")
        terms = np.where(beta == 0, 0.0, beta) * z - self.slope(z) + self.slope(np.zeros_like(z))
        return float(terms.sum())

    def inverse(self, beta: Vector) -> Vector:
        """z at which the coefficients are β; NaN where none is."""
        # The root of a e²ᶻ − β eᶻ − b = 0, written so that no two large numbers are subtracted.
        root = np.sqrt(np.square(beta) + 4 * self.up * self.down)
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = np.log((root + np.abs(beta)) / (2 * np.where(beta >= 0, self.up, self.down)))
        z = np.where(beta >= 0, grown, -grown)
        z = np.where((self.up + self.down == 0) & (beta == 0), 0.0, z)
        return np.where(np.isfinite(z), z, np.nan)


def _worst(value: np.ndarray) -> float:
    """An entry that is not legal, for the message."""
    wrong = value[~(np.isfinite(value) & (value >= 0))]
    return float(wrong.flat[0])
