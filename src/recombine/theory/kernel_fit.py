"""Exact fits of a kernel model f(z) = b + Σ_i a_i K(z, z_i): least norm, ridge, largest margin.

*Least norm and ridge.* min ‖f − y‖² + λ ‖f‖²_K, and its limit λ → 0. With a free intercept b, which
is not penalised, centring takes it out: with H = 1 − 11ᵀ/n,

    a = (HKH + λ)⁻¹ H y,      b = mean(y − K a),

and the pseudo-inverse for λ = 0. Where the targets cannot be interpolated, that is the
least-squares fit of least norm, and `fits` is false.

*Largest margin.* min ‖f‖²_K subject to y_i f(z_i) ≥ 1. Its dual is a problem in nonnegative
numbers; Lawson and Hanson solve it exactly in finitely many steps as nonnegative least squares
(`least distance programming`), which tells which points are support vectors. The intercept enters
as a feature so large that its penalty is negligible; then the equations on the support vectors

    Σ_j K_ij a_j + b = y_i,      Σ_j a_j = 0

are solved as they stand, and the conditions of optimality are checked on all points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import linalg
from scipy.optimize import nnls

from recombine.errors import BadValue

Kernel = Float[np.ndarray, "n n"]
Vector = Float[np.ndarray, " n"]
CUT = 1e-10
"""Eigenvalues below this share of the largest count as zero."""
NEGATIVE = 1e-7
"""A kernel with an eigenvalue below −NEGATIVE times the largest is refused."""
INTERCEPT = 300.0
"""How much larger than the kernel's features the intercept's feature is while sets are sought."""
TIGHT = 1e-7
"""How well the conditions of optimality must hold."""
ROUNDS = 50


@dataclass(frozen=True)
class Fit:
    """A fitted kernel model."""

    dual: Vector
    """a_i; for a largest margin, label times multiplier."""
    intercept: float
    fits: bool
    """Whether the training targets are met: interpolated, or separated with margin 1."""

    def predict(self, kernel: Float[np.ndarray, "m n"]) -> Float[np.ndarray, " m"]:
        """f at new points, from their kernel with the training points."""
        return np.asarray(kernel @ self.dual + self.intercept)


def ridge(kernel: Kernel, targets: Vector, *, penalty: float = 0.0, intercept: bool = False) -> Fit:
    """The least-norm interpolator (penalty 0) or the ridge fit."""
    if not penalty >= 0:
        raise BadValue("ridge penalty", penalty, "0 or more")
    y = np.asarray(targets, dtype=float)
    middle = np.eye(len(y)) - 1 / max(len(y), 1) if intercept else np.eye(len(y))
    values, vectors = _spectrum(middle @ kernel @ middle)
    kept = values > CUT * max(values.max(initial=0.0), 1e-300)
    projected = vectors.T @ (middle @ y)
    # Directions that the kernel does not have carry no function, whatever their dual.
    scaled = np.divide(projected, values + penalty, out=np.zeros_like(values), where=kept)
    dual = middle @ (vectors @ scaled)
    b = float(np.mean(y - kernel @ dual)) if intercept else 0.0
    residual = np.abs(kernel @ dual + b - y).max(initial=0.0)
    close = bool(residual <= 1e-6 * np.abs(y).max(initial=0.0))
    return Fit(np.asarray(dual), b, close)


def least_norm(kernel: Kernel, targets: Vector, *, intercept: bool = False) -> Fit:
    """The interpolator of least norm: what gradient descent from zero on a fixed kernel finds."""
    return ridge(kernel, targets, intercept=intercept)


def hard_margin(kernel: Kernel, labels: Vector, *, intercept: bool = True) -> Fit:
    """The separator of largest margin, scaled so that the smallest margin is 1."""
    y = np.asarray(labels, dtype=float)
    if not np.isin(y, (-1.0, 1.0)).all():
        raise BadValue("labels", sorted(set(y.tolist())), "−1 and +1")
    if intercept and len(set(y.tolist())) == 1:  # nothing to separate: the intercept alone does
        return Fit(np.zeros_like(y), float(y[0]), True)
    # The predictor does not depend on the kernel's scale, but what counts as small does.
    size = float(np.abs(np.diag(kernel)).max(initial=0.0)) or 1.0
    kernel = kernel / size
    support = _support(kernel, y, intercept=intercept)
    if support is None:
        return Fit(np.full_like(y, np.nan), np.nan, False)
    for _ in range(ROUNDS):
        fit = _on_support(kernel, y, support, intercept=intercept)
        multipliers, margins = fit.dual * y, y * fit.predict(kernel)
        scale = max(1.0, float(np.abs(multipliers).max()))
        wrong = multipliers < -TIGHT * scale
        short = margins < 1 - TIGHT
        if not wrong.any() and not short.any():
            return Fit(fit.dual / size, fit.intercept, True)
        support = (support & ~wrong) | short
    return Fit(fit.dual / size, fit.intercept, False)


def _support(kernel: Kernel, y: Vector, *, intercept: bool) -> np.ndarray | None:
    """Which points are support vectors, by least distance programming; none if not separable."""
    values, vectors = _spectrum(kernel)
    features = vectors * np.sqrt(np.clip(values, 0.0, None))
    size = max(float(np.sqrt(np.diag(kernel).max())), 1e-300)
    rows = [(features / size * y[:, None]).T]
    if intercept:
        rows.append(INTERCEPT * y[None])
    system = np.vstack([*rows, np.ones((1, len(y)))])
    goal = np.zeros(len(system))
    goal[-1] = 1.0
    multipliers, distance = nnls(system, goal, maxiter=max(300, 30 * len(y)))
    return None if distance < 1e-7 else np.asarray(multipliers > 0)


def _on_support(kernel: Kernel, y: Vector, support: np.ndarray, *, intercept: bool) -> Fit:
    """The model that gives every support vector a margin of exactly 1."""
    inner = kernel[np.ix_(support, support)]
    goal = y[support]
    if intercept:
        one = np.ones((len(inner), 1))
        inner = np.block([[inner, one], [one.T, np.zeros((1, 1))]])
        goal = np.append(goal, 0.0)
    solved = linalg.lstsq(inner, goal, cond=1e-12)[0]
    dual = np.zeros_like(y)
    dual[support] = solved[: int(support.sum())]
    return Fit(dual, float(solved[-1]) if intercept else 0.0, True)


def _spectrum(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not np.isfinite(kernel).all():
        raise BadValue("kernel matrix", "NaN or infinite entries", "finite numbers")
    values, vectors = np.linalg.eigh((kernel + kernel.T) / 2)
    if len(values) and values[0] < -NEGATIVE * max(abs(values[-1]), 1e-300):
        raise BadValue("kernel matrix", f"eigenvalue {values[0]:.3g}", "positive semidefinite")
    return values, vectors
