"""The parameter-space statement: where gradient descent goes in any homogeneous network.

Let every output be homogeneous of degree L in the weights, f(aθ) = aᴸ f(θ) for a > 0: gated layers
in any number, ReLU layers, products of weights. On separable data with a logistic or exponential
loss, θ / ‖θ‖ tends to the direction of a KKT point (Lyu & Li 2020, Ji & Telgarsky 2020) of

    min ‖θ‖² / 2   subject to   q_i(θ) = y_i f(x_i; θ) ≥ 1:
    θ = Σ_i λ_i ∇q_i(θ),   λ ≥ 0,   λ_i (q_i − 1) = 0.

Where gates stand in one layer only this becomes a convex problem in the predictors (`gated.py`).
Deeper, the problem is not convex and this statement is all there is; but it can be measured. Scale
θ so that the smallest margin is 1, and look for the multipliers that leave least of θ unexplained
(non-negative least squares). What is left, as a share of ‖θ‖, is the stationarity residual.

Ungated layers on top change nothing: a chain of L layers that carries the predictors ζ_h through
one unit each has least ‖θ‖² = L T^{2/L} with T = Σ_h ‖ζ_h‖, which grows with T alone
(`least_square`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import optimize  # type: ignore[import-untyped, unused-ignore]


@dataclass(frozen=True)
class Stationarity:
    """How nearly the KKT conditions hold."""

    residual: float
    """√(‖θ − Σ λ_i ∇q_i‖² + (Σ λ_i (q_i − 1) / ‖θ‖)²) / ‖θ‖ at the best λ ≥ 0; NaN below a
    positive margin."""
    margin: float
    """The normalised margin min_i q_i / ‖θ‖ᴸ, negative while a point is misclassified."""
    multipliers: Float[np.ndarray, " n"]


def stationarity(
    theta: Float[np.ndarray, " weight"],
    margins: Float[np.ndarray, " n"],
    gradients: Float[np.ndarray, "n weight"],
    *,
    degree: int,
) -> Stationarity:
    """The KKT residual and the normalised margin of weights, from margins and their gradients."""
    if not len(margins):
        return Stationarity(math.nan, math.nan, margins)
    length = float(np.linalg.norm(theta))
    least = float(margins.min())
    margin = least / length**degree if length else math.nan
    if not least > 0 or not length:
        return Stationarity(math.nan, margin, np.full(len(margins), math.nan))
    scale = least ** (-1 / degree)
    theta, length = theta * scale, length * scale
    slopes = gradients * scale ** (degree - 1)
    slack = (margins / least - 1) / length
    system = np.vstack([slopes.T, slack])
    multipliers, left = optimize.nnls(system, np.append(theta, 0.0))
    return Stationarity(float(left) / length, margin, multipliers)


def least_square(total: float, layers: int) -> float:
    """The least ‖θ‖² of a network of so many layers, gated in the first, with Σ_h ‖ζ_h‖ = total."""
    return layers * float(total ** (2 / layers))
