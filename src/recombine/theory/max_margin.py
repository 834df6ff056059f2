"""Largest margin under a sum of group norms, exactly: one convex problem behind every limit.

Let ζ = (ζ_1 … ζ_H) be groups of weights and f(x) = Σ_h ζ_h · φ_h(x). The problem is

    min Σ_h ‖ζ_h‖   subject to   y_i f(x_i) ≥ 1.

With one group it is the hard-margin support vector machine (minimising ‖ζ‖ or ‖ζ‖² is the same);
with a group a unit it is the limit of a two-layer gated network. Its dual is

    max Σ_i λ_i   subject to   λ ≥ 0,  ‖g_h‖ ≤ 1,   g_h = Σ_i λ_i y_i φ_h(x_i),

in which the weights appear only through products of points: H quadratic constraints on n numbers,
whatever the dimension. We follow its central path. The maximiser of

    t Σ_i λ_i + Σ_i log λ_i + Σ_h log(1 − ‖g_h‖²)

satisfies  y_i f(x_i) = 1 + 1 / (t λ_i)  for  ζ_h = 2 g_h / (t (1 − ‖g_h‖²)):  a primal point that
keeps every constraint comes for free, and Σ‖ζ_h‖ − Σλ_i ≤ (n + 2H) / t certifies how good it is.

One group alone is solved faster by `hard_margin.py`. `socp` states the same problem to Clarabel
through cvxpy. It is the independent witness in the tests; at n = 500 it takes a hundred times
longer.
"""

from __future__ import annotations

import importlib
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import linalg  # type: ignore[import-untyped, unused-ignore]

Vector = Float[np.ndarray, " n"]

FINE, NO_POINTS, BOTH_LABELS, NOT_SEPARABLE, STOPPED, SILENT = REASONS = (
    "",
    "there are no points",
    "one point carries both labels",
    "no predictor of this form separates the points",
    "the solver stopped early",
    "a point switches every unit off",
)
"""Why there is no solution; the first stands where there is one."""
GAP, WORST_GAP = 1e-7, 1e-4
"""Relative gap between primal and dual at which we stop, and the largest that is a solution."""
SMALLEST = 1e-5
"""A margin below this share of the size of the points counts as none."""
GROWTH, NEWTON = 5.0, 500
"""By how much t grows from one centre to the next, and the most Newton steps between."""
LONGEST, SHORTEST, KEEP = 1e3, 1e-9, 0.5
"""Lengths of a Newton step that are tried, and the share of its distance to a bound that any
number keeps in a step: close to a curved bound Newton's method crawls."""


@dataclass(frozen=True)
class Path:
    """Where the central path ended: the multipliers, and ζ_h = scales_h g_h."""

    reason: str
    multipliers: Vector
    scales: Float[np.ndarray, " group"]
    norms: Float[np.ndarray, " group"]
    """‖ζ_h‖."""
    gap: float
    """(Σ‖ζ_h‖ − Σλ_i) / Σ‖ζ_h‖."""

    @property
    def feasible(self) -> bool:
        return not self.reason


class Groups(ABC):
    """What the solver needs of the points: products of them, group by group, labels included."""

    count: int

    @abstractmethod
    def products(self, multipliers: Vector) -> Float[np.ndarray, "n group"]:
        """y_i φ_h(x_i) · g_h."""

    @abstractmethod
    def gram(self, weights: Float[np.ndarray, " group"]) -> Float[np.ndarray, "n n"]:
        """Σ_h weights_h y_i y_j φ_h(x_i) · φ_h(x_j), in memory that the caller may change."""


class OneGroup(Groups):
    """All weights in one group, the products of points given by a kernel matrix."""

    count = 1

    def __init__(self, kernel: Float[np.ndarray, "n n"], labels: Vector) -> None:
        self._gram = kernel * np.outer(labels, labels)

    def products(self, multipliers: Vector) -> Float[np.ndarray, "n group"]:
        return np.asarray((self._gram @ multipliers)[:, None])

    def gram(self, weights: Float[np.ndarray, " group"]) -> Float[np.ndarray, "n n"]:
        return np.asarray(weights[0] * self._gram)


class GatedGroups(Groups):
    """A group a unit: φ_h(x) is x in the block of its context. `on` is [n, unit, context]."""

    def __init__(
        self,
        inputs: Float[np.ndarray, "n dim"],
        labels: Vector,
        on: Float[np.ndarray, "n unit context"],
    ) -> None:
        self.count = on.shape[1]
        self._signed = inputs * labels[:, None]
        self._kernel = self._signed @ self._signed.T
        self._on = on
        self._flat = on.reshape(len(on), math.prod(on.shape[1:]))

    def products(self, multipliers: Vector) -> Float[np.ndarray, "n group"]:
        g = (self._flat * multipliers[:, None]).T @ self._signed
        return np.asarray(((self._signed @ g.T).reshape(self._on.shape) * self._on).sum(2))

    def gram(self, weights: Float[np.ndarray, " group"]) -> Float[np.ndarray, "n n"]:
        half = self._flat * np.repeat(np.sqrt(weights), self._on.shape[2])
        agreeing = half @ half.T
        agreeing *= self._kernel
        return np.asarray(agreeing)


def solve(groups: Groups, n: int) -> Path:
    """The largest margin under Σ‖ζ_h‖, or the reason why there is none."""
    if n == 0:
        return no_path(NO_POINTS, n, groups.count)
    squares = np.diag(groups.gram(np.ones(groups.count)))
    if squares.min() <= 0:
        return no_path(SILENT, n, groups.count)
    size = math.sqrt(float(squares.mean()))
    start = np.full(n, 1.0)
    longest = math.sqrt(max(float((start @ groups.products(start)).max()), (1e-9 * size) ** 2))
    multipliers = start * (0.5 / longest)
    barrier = n + 2.0 * groups.count
    t, done = 1 / float(multipliers.sum()), False
    while True:
        centre = _centre(
            groups, multipliers, t, close=1e-9 if done else 0.1, most=1 / (SMALLEST * size)
        )
        if isinstance(centre, str):
            return no_path(centre, n, groups.count)
        if done:
            return _path(groups, centre, t)
        multipliers = centre
        last = barrier / (GAP * float(multipliers.sum()))
        t, done = min(t * GROWTH, last), t * GROWTH >= last


def _centre(
    groups: Groups, multipliers: Vector, t: float, *, close: float, most: float
) -> Vector | str:
    """The point of the central path at t, by Newton's method; or why it cannot be reached."""
    for _ in range(NEWTON):
        products = groups.products(multipliers)
        slack = 1 - multipliers @ products
        if slack.min() <= 0:  # rounding: huge multipliers, and weights that nearly cancel
            return NOT_SEPARABLE if multipliers.sum() > 1e-2 * most else STOPPED
        gradient = t + 1 / multipliers - products @ (2 / slack)
        curved = products * (2 / slack)
        # In place: with thousands of points, passes over the matrix cost more than its factors.
        hessian = groups.gram(2 / slack)
        hessian += curved @ curved.T
        hessian.flat[:: len(hessian) + 1] += multipliers**-2.0
        step = _newton(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement < close:
            return multipliers
        length = _search(multipliers, step, slack, products, groups.products(step), t)
        if length == 0:  # rounding allows no further progress: the gap will tell
            return multipliers
        multipliers = multipliers + length * step
        if multipliers.sum() > most:
            return NOT_SEPARABLE
    return multipliers


def _newton(hessian: Float[np.ndarray, "n n"], gradient: Vector) -> Vector:
    """The Newton step, with as small a ridge as rounding asks for; any ridge leads uphill.

    The matrix is not left as it was.
    """
    scale = 1 / np.sqrt(np.diag(hessian))
    scaled = hessian
    scaled *= scale
    scaled *= scale[:, None]
    diagonal = scaled.flat[:: len(scale) + 1]
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        scaled.flat[:: len(scale) + 1] = diagonal + ridge
        try:
            factor = linalg.cho_factor(scaled.T, check_finite=False)
        except linalg.LinAlgError:
            continue
        return np.asarray(scale * linalg.cho_solve(factor, scale * gradient, check_finite=False))
    return gradient * scale**2


def _search(
    multipliers: Vector,
    step: Vector,
    slack: Float[np.ndarray, " group"],
    products: Float[np.ndarray, "n group"],
    moved: Float[np.ndarray, "n group"],
    t: float,
) -> float:
    """The best length of a step: ‖g_h‖² is quadratic along it, so a trial costs next to nothing."""
    first, second = 2 * (step @ products), step @ moved
    low, high = 0.0, LONGEST
    while high - low > 1e-3 * high:
        length = (low + high) / 2 if low else high / 2
        ahead = multipliers + length * step
        left = slack - length * first - length**2 * second
        inside = (ahead > KEEP * multipliers).all() and (left > KEEP * slack).all()
        slope = t * step.sum() + (step / ahead).sum() - ((first + 2 * length * second) / left).sum()
        if inside and slope > 0:
            low = length
        else:
            high = length
        if high < SHORTEST:
            return 0.0
    return low


def _path(groups: Groups, multipliers: Vector, t: float) -> Path:
    products = groups.products(multipliers)
    squares = multipliers @ products
    scales = 2 / (t * (1 - squares))
    scales = scales / float((products @ scales).min())  # the smallest margin is exactly 1
    norms = scales * np.sqrt(np.maximum(squares, 0.0))
    gap = 1 - float(multipliers.sum()) / float(norms.sum())
    if not abs(gap) < WORST_GAP:
        return no_path(STOPPED, len(multipliers), groups.count)
    return Path(FINE, multipliers, scales, norms, gap)


def no_path(reason: str, n: int, count: int) -> Path:
    """The answer where there is none, and why."""
    nothing = np.full(count, math.nan)
    return Path(reason, np.full(n, math.nan), nothing, nothing, math.nan)


def socp(
    features: Sequence[Float[np.ndarray, "n _"]], labels: Vector
) -> tuple[str, list[np.ndarray], Vector]:
    """The same problem as a second-order cone program for Clarabel: reason, groups, multipliers."""
    cvxpy: Any = importlib.import_module("cvxpy")  # a second of imports, for those who ask
    if not len(labels):
        return NO_POINTS, [], labels
    groups = [cvxpy.Variable(f.shape[1]) for f in features]
    outputs = sum(f @ group for f, group in zip(features, groups, strict=True))
    margins = cvxpy.multiply(labels, outputs) >= 1
    norms = [cvxpy.norm(group, 2) for group in groups]
    problem = cvxpy.Problem(cvxpy.Minimize(sum(norms)), [margins])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate solution is told by its status
        try:
            problem.solve(solver=cvxpy.CLARABEL)
        except cvxpy.SolverError:
            return STOPPED, [], labels
    if problem.status != cvxpy.OPTIMAL:
        hopeless = problem.status in (cvxpy.INFEASIBLE, cvxpy.INFEASIBLE_INACCURATE)
        return NOT_SEPARABLE if hopeless else STOPPED, [], labels
    return FINE, [np.asarray(group.value) for group in groups], np.asarray(margins.dual_value)
