"""The exact end of gradient flow in a diagonal network: damped Newton on the convex dual.

Gradient flow ends at β = a eᶻ − b e⁻ᶻ with z = Xᵀν and Xβ = y (see `mirror.py`). These are the
equations of stationarity of

    φ(ν) = Σ_d (a_d e^{z_d} + b_d e^{−z_d}) − y·ν,    z = Xᵀν,

which is convex, smooth, and has as many unknowns as there are examples, not inputs. Its gradient is
Xβ − y and its curvature X diag(a eᶻ + b e⁻ᶻ) Xᵀ, an n × n matrix. Newton's method needs two guards:

- **Steps are capped** so that no z moves by more than 3. From small weights the curvature at the
  start is near zero, and the bare step would overflow the exponential.
- **Rows are made orthonormal first**: XᵀΠ = QR, so that z = Qμ. This conditions the curvature,
  finds repeated rows, and tells targets that contradict each other from those that do not.

What can go wrong is said, never returned as NaN: see `Interpolation.reason`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import linalg

from recombine.errors import BadValue
from recombine.theory.mirror import Mirror, Vector

CAP = 3.0
"""The most by which a step may move any z."""
MOST_STEPS = 200
HALVINGS = 40


@dataclass(frozen=True)
class Interpolation:
    """Where gradient flow ends, or how far the solver came."""

    beta: Vector
    converged: bool
    """Whether β interpolates to the tolerance and obeys the equations of the flow."""
    reason: str
    """Why it did not converge; empty if it did."""
    steps: int
    """Newton steps taken."""
    residual: float
    """Largest |Xβ − y|."""


def interpolate(
    inputs: Float[np.ndarray, "n d"],
    targets: Float[np.ndarray, " n"],
    mirror: Mirror,
    *,
    tolerance: float = 1e-10,
) -> Interpolation:
    """The interpolator that gradient flow finds from the initial weights behind `mirror`.

    No examples leave β₀. Repeated examples with the same target count once. Targets that no linear
    function has are no interpolation: β is then where the flow tends, the nearest of the least
    squares solutions, and `converged` is false.
    """
    _check(inputs, targets, mirror)
    if len(targets) == 0:
        return Interpolation(mirror.start, True, "", 0, 0.0)
    rows, wanted, left_over = _independent(inputs, targets)
    beta, steps, short = _newton(rows, wanted, mirror, tolerance)
    residual = float(np.abs(inputs @ beta - targets).max())
    reason = ""
    if short > tolerance * _size(wanted):
        reason = (
            f"after {steps} Newton steps the targets are still missed by {short:.2g}: they cannot "
            "be reached from these initial weights, or only beyond double precision"
        )
    if left_over > 1e-8 * _size(targets):
        reason = (
            f"the targets contradict each other: no linear function comes nearer than "
            f"{left_over:.2g}; β is the least squares solution that gradient flow tends to"
            + (f"; {reason}" if reason else "")
        )
    return Interpolation(beta, not reason, reason, steps, residual)


def _check(inputs: np.ndarray, targets: np.ndarray, mirror: Mirror) -> None:
    if inputs.ndim != 2 or inputs.shape[1] != len(mirror.up):
        raise BadValue("inputs", inputs.shape, f"{len(mirror.up)} columns, as the mirror has")
    if targets.shape != inputs.shape[:1]:
        raise BadValue("targets", targets.shape, f"{len(inputs)} numbers, one an example")
    for name, value in (("inputs", inputs), ("targets", targets)):
        if not np.isfinite(value).all():
            wrong = float(value[~np.isfinite(value)].flat[0])
            raise BadValue(name, wrong, "finite numbers")


def _size(values: np.ndarray) -> float:
    return max(1.0, float(np.abs(values).max(initial=0.0)))


def _independent(inputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Orthonormal rows with the same span, their targets, and what no β can meet."""
    q, r, order = linalg.qr(inputs.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    least = np.finfo(float).eps * max(inputs.shape) * diagonal.max(initial=0.0)
    rank = int((diagonal > least).sum())
    rows = np.ascontiguousarray(q[:, :rank].T)
    if rank == 0:
        return rows, np.zeros(0), float(np.abs(targets).max())
    seen = r[:rank].T  # the inputs in the basis of the rows, in pivot order
    if rank == len(targets):
        wanted = linalg.solve_triangular(seen, targets[order], lower=True)
    else:
        basis, upper = linalg.qr(seen, mode="economic")
        wanted = linalg.solve_triangular(upper, basis.T @ targets[order])
    return rows, wanted, float(np.abs(seen @ wanted - targets[order]).max())


def _newton(
    rows: np.ndarray, wanted: np.ndarray, mirror: Mirror, tolerance: float
) -> tuple[np.ndarray, int, float]:
    """β with rows·β = wanted, the steps it took, and by how much it is still missed."""
    if len(rows) == rows.shape[1] and (mirror.up > 0).all() and (mirror.down > 0).all():
        return rows.T @ wanted, 0, 0.0  # as many examples as inputs: there is only one
    z, mu = np.zeros(rows.shape[1]), np.zeros(len(wanted))
    goal = tolerance * _size(wanted)
    for taken in range(MOST_STEPS):
        gradient = rows @ mirror.beta(z) - wanted
        if np.abs(gradient).max(initial=0.0) <= goal:
            return mirror.beta(z), taken, float(np.abs(gradient).max(initial=0.0))
        step = _solve((rows * mirror.slope(z)) @ rows.T, -gradient)
        along = rows.T @ step
        scale = min(1.0, CAP / max(float(np.abs(along).max()), 1e-300))
        moved = _shorten(
            z, along, mirror, mu @ wanted, float(step @ wanted), gradient @ step, scale
        )
        if moved == 0.0:
            break
        z, mu = z + moved * along, mu + moved * step
    short = float(np.abs(rows @ mirror.beta(z) - wanted).max(initial=0.0))
    return mirror.beta(z), taken + 1, short


def _solve(curvature: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The Newton step; where the curvature is singular to rounding, a slightly damped one."""
    damping, unit = 0.0, float(np.trace(curvature)) / len(right)
    while True:
        try:
            shifted = curvature + damping * np.eye(len(right)) if damping else curvature
            return np.asarray(linalg.cho_solve(linalg.cho_factor(shifted, lower=True), right))
        except linalg.LinAlgError:
            damping = max(10 * damping, 1e-14 * unit, 1e-300)


def _shorten(
    z: np.ndarray,
    along: np.ndarray,
    mirror: Mirror,
    paid: float,
    pays: float,
    slope: float,
    scale: float,
) -> float:
    """The longest of the halved steps that makes φ fall enough; 0 if none does."""
    here = float(mirror.slope(z).sum()) - paid
    rounding = 1e-14 * (abs(here) + abs(paid) + float(mirror.slope(z).sum()))
    for _ in range(HALVINGS):
        there = float(mirror.slope(z + scale * along).sum()) - paid - scale * pays
        if there <= here + 1e-4 * scale * slope + rounding:
            return scale
        scale /= 2
    return 0.0
