"""The hard-margin support vector machine, exactly: the case of one group, as a quadratic program.

With one group the dual of `max_margin.py` has a single curved bound, along which its central path
crawls. The squared form has none: with Q_ij = y_i y_j K(x_i, x_j) the problem

    min ½ ‖ζ‖²  subject to  y_i f(x_i) ≥ 1     has the dual     max Σ_i α_i − ½ αᵀQα,  α ≥ 0,

and ζ = Σ_i α_i y_i φ(x_i). Its conditions are α ≥ 0, s = Qα − 1 ≥ 0 and α_i s_i = 0. Mehrotra's
predictor and corrector meets them in some twenty steps, whatever the number of points, each with
one Cholesky factor. If no predictor separates the points, Σα grows without
bound, and so α proves it: min over a ≥ 0, Σa = 1 of √(aᵀQa) is the margin.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy import linalg  # type: ignore[import-untyped, unused-ignore]

from recombine.theory.max_margin import (
    FINE,
    GAP,
    NO_POINTS,
    NOT_SEPARABLE,
    SILENT,
    SMALLEST,
    STOPPED,
    WORST_GAP,
    Path,
    no_path,
)

Vector = Float[np.ndarray, " n"]
STEPS, SHARE = 200, 0.99
"""The most steps, and the share of the way to the nearest bound that a step goes."""


def hard_margin(kernel: Float[np.ndarray, "n n"], labels: Vector) -> Path:
    """The predictor of largest margin, or the reason why there is none."""
    n = len(labels)
    if not n:
        return no_path(NO_POINTS, 0, 1)
    squares = np.diag(kernel)
    if squares.min() <= 0:
        return no_path(SILENT, n, 1)
    size = float(squares.mean())
    q = kernel * np.outer(labels, labels) / size
    alpha, best = np.ones(n), (math.inf, np.ones(n))
    slack = np.maximum(q @ alpha - 1, 1.0)
    for _ in range(STEPS):
        gap = _gap(q, alpha)
        if gap < best[0]:
            best = gap, alpha
        if gap < GAP:
            break
        # any α ≥ 0 bounds the margin from above, by ‖Σ α y φ‖ / Σ α
        if max(float(alpha @ q @ alpha), 0.0) < (SMALLEST * alpha.sum()) ** 2:
            return no_path(NOT_SEPARABLE, n, 1)
        moved = _step(q, alpha, slack)
        if moved is None:  # rounding allows no further progress: the gap will tell
            break
        alpha, slack = moved
    gap, alpha = best
    if not gap < WORST_GAP:
        return no_path(STOPPED, n, 1)
    return _path(q, alpha, math.sqrt(size))


def _step(
    q: Float[np.ndarray, "n n"], alpha: Vector, slack: Vector
) -> tuple[Vector, Vector] | None:
    """The predictor, the corrector, and a step that stays inside; none if rounding forbids."""
    factor = _factor(q + np.diag(slack / alpha))
    if factor is None:
        return None
    off = q @ alpha - 1 - slack
    mean = float(alpha @ slack) / len(alpha)

    def solve(target: Vector) -> tuple[Vector, Vector]:
        scale, lower = factor
        right = (target / alpha - off) * scale
        by_alpha = scale * linalg.cho_solve(lower, right, check_finite=False)
        return by_alpha, (target - slack * by_alpha) / alpha

    ahead, rest = solve(-alpha * slack)
    length = min(_room(alpha, ahead), _room(slack, rest))
    hoped = float((alpha + length * ahead) @ (slack + length * rest)) / len(alpha)
    centring = mean * (hoped / mean) ** 3
    ahead, rest = solve(centring - alpha * slack - ahead * rest)
    length = SHARE * min(_room(alpha, ahead), _room(slack, rest))
    after = alpha + length * ahead, slack + length * rest
    inside = all(bool(np.isfinite(v).all()) and v.min() > 0 for v in after)
    return after if inside and length > 1e-8 else None


def _factor(matrix: Float[np.ndarray, "n n"]) -> tuple[Vector, tuple[np.ndarray, bool]] | None:
    """A Cholesky factor of the matrix at unit diagonal, with the ridge that rounding asks for."""
    scale = 1 / np.sqrt(np.diag(matrix))
    scaled = matrix * np.outer(scale, scale)
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            found = linalg.cho_factor(scaled + ridge * np.eye(len(scale)), check_finite=False)
        except linalg.LinAlgError:
            continue
        return scale, found
    return None


def _room(value: Vector, step: Vector) -> float:
    """How far a step may go before a number reaches zero, at most 1."""
    down = step < 0
    return min(1.0, float((-value[down] / step[down]).min())) if down.any() else 1.0


def _gap(q: Float[np.ndarray, "n n"], alpha: Vector) -> float:
    """How far ‖ζ‖ at margin 1 may lie above the optimum, as a share; infinite if unseparated."""
    outputs = q @ alpha
    least, square = float(outputs.min()), float(alpha @ outputs)
    if least <= 0 or square <= 0:
        return math.inf
    norm, bound = math.sqrt(square) / least, float(alpha.sum()) / math.sqrt(square)
    return 1 - bound / norm


def _path(q: Float[np.ndarray, "n n"], alpha: Vector, size: float) -> Path:
    """In the terms of `max_margin`: multipliers with ‖g‖ = 1, and ζ = scale g."""
    outputs = q @ alpha
    length = math.sqrt(float(alpha @ outputs))
    norm = length / float(outputs.min()) / size
    gap = _gap(q, alpha)
    multipliers = alpha / length / size
    return Path(FINE, multipliers, np.array([norm]), np.array([norm]), gap)
