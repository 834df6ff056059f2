"""What it costs a pretrained ReLU unit to take on a feature: the penalty behind "correlated".

A unit has learned a feature of strength β_aux = m₀² (weights of norm m₀ along a unit vector). The
main task wants strength β along a direction at cosine θ to it. Going there with weights of norm m
and readout β/m costs the squared distance in parameters

    P = min over m > 0 of (β/m − v₀)² + m² + m₀² − 2 m m₀ θ,

whose stationary points solve m⁴ − m₀θ m³ + v₀β m − β² = 0. At θ = 1 it behaves like the diagonal
net: order 1 for weak features, 2 for strong. At θ < 1 turning the unit costs at least m₀²(1−θ²):
a very strong feature does not help. In between, FD < 0: a nearby feature helps when both tasks have
about the same strength.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue


@dataclass(frozen=True)
class UnitCost:
    """The least cost and how it changes."""

    penalty: float
    norm: float
    """m at the minimum."""
    order: float
    """d log P/d log β; by the envelope theorem only the explicit β counts."""
    feature_dependence: float
    """d log P/d log β_aux."""


def unit_cost(
    beta: float, beta_aux: float, *, cosine: float = 1.0, readout: float = 0.0
) -> UnitCost:
    """The cost of strength `beta` at `cosine` to a feature of strength `beta_aux`."""
    if not (np.isfinite(beta) and beta > 0):
        raise BadValue("beta", beta, "a positive number")
    if not (np.isfinite(beta_aux) and beta_aux >= 0):
        raise BadValue("beta_aux", beta_aux, "a number from 0 up")
    if not -1 <= cosine <= 1:
        raise BadValue("cosine", cosine, "a number from -1 to 1")
    m0 = float(np.sqrt(beta_aux))
    roots = np.roots([1.0, -m0 * cosine, 0.0, readout * beta, -(beta**2)])
    real = roots.real[(np.abs(roots.imag) <= 1e-7 * np.abs(roots)) & (roots.real > 0)]
    found = [(_cost(m, beta, m0, cosine, readout), float(m)) for m in real]
    least, m = min(found)
    if least == 0.0:
        return UnitCost(0.0, m, np.nan, np.nan)
    by_beta = 2 * (beta / m - readout) / m
    by_aux = m0**2 - m * m0 * cosine  # half of m₀ dP/dm₀, as β_aux = m₀²
    return UnitCost(least, m, beta * by_beta / least, by_aux / least)


def _cost(m: float, beta: float, m0: float, cosine: float, readout: float) -> float:
    # (m − m₀)² + 2 m m₀ (1 − θ) rather than m² + m₀² − 2 m m₀ θ: no loss where m ≈ m₀
    return float((beta / m - readout) ** 2 + (m - m0) ** 2 + 2 * m * m0 * (1 - cosine))


def relu_overlap(u: Float[np.ndarray, "a d"], v: Float[np.ndarray, "b d"]) -> np.ndarray:
    """E[relu(u·x) relu(v·x)] for standard normal x, for all pairs of rows (Cho and Saul 2009).

    |u||v|/2π (sin θ + (π − θ) cos θ), θ the angle between them. It makes the test loss of a ReLU
    net on Gaussian inputs an exact sum, with no test set.
    """
    lengths = np.linalg.norm(u, axis=1)[:, None] * np.linalg.norm(v, axis=1)[None]
    cosine = np.clip((u @ v.T) / np.where(lengths > 0, lengths, 1.0), -1, 1)
    angle = np.arccos(cosine)
    return np.asarray(lengths * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi))


def relu_distance(
    net: tuple[Float[np.ndarray, "a d"], Float[np.ndarray, " a"]],
    teacher: tuple[Float[np.ndarray, "b d"], Float[np.ndarray, " b"]],
) -> float:
    """E(f − f*)² of two ReLU nets (weights, readout) on standard normal inputs, never below 0."""
    weights = np.concatenate([net[0], teacher[0]])
    readout = np.concatenate([net[1], -teacher[1]])
    return max(0.0, float(readout @ relu_overlap(weights, weights) @ readout))
