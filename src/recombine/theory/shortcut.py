"""Shortcut bias in context dependence: when a kernel model answers by the wrong rule.

Three factors: a context (2 values) and two features with r negative and r positive items each. In
context 0 the answer is the sign of feature 1, in context 1 of feature 2. Held out, in both
contexts, are q of the negative items of feature 1 with q of the positive items of feature 2 (CD-3
of the paper: q = r = 3; CD-2: q = 2; CD-1: q = 1).

With q = r the only trained cells in which the features disagree are (+, −), and there the context
alone gives the answer. *Context plus features add up* is a shortcut that fits training, and on the
cells held out it has the wrong sign. Which rule wins depends on the saliences S1, S2, S3 of single
factors, pairs and triples.

**By symmetry.** Items of one kind can be permuted without changing the problem, so the solution
is constant on kinds of cells, and a fit needs one row a kind: the mean over its cells. Exchanging
the contexts and the features with a change of sign maps the problem to its negative, so the two
held-out kinds share one margin, and accuracy is exactly 0 or 1. For q = r three duals remain, of
the cells

    1: (0, +, +) and −(1, −, −)     the context's shortcut and the answer agree
    2: −(0, −, −) and (1, +, +)     they disagree
    3: (0, +, −) and −(1, +, −)     the features disagree

and the least-norm margin is a 3 × 3 system. It generalises exactly when 2 S2 (S2 + r S1) > S1 S3.
For r = 3 it reads

    M = 9 (2 S2² + 9 S1 S2 + 3 S1² − S1) / (1 + 21 S1 + 6 S2 − 72 S1² − 45 S1 S2 − 9 S2²).

A hard-margin machine has the same margin while the dual of kind 1 is not negative; beyond, that
kind drops out and two duals remain."""

from __future__ import annotations

import functools
import math
from itertools import chain, combinations
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.errors import BadValue, UnknownName
from recombine.theory.conjunctions import kernel_matrix
from recombine.theory.kernel_fit import hard_margin, least_norm
from recombine.theory.salience import complete, kernel_of

Method = Literal["regression", "svm"]
KINDS = (((0, 1, 1, 1), (1, -1, -1, -1)), ((0, -1, -1, -1), (1, 1, 1, 1)),
         ((0, 1, -1, 1), (1, 1, -1, -1)))  # fmt: skip
"""Context, sign of feature 1, sign of feature 2, answer of the cells of each kind, for q = r."""


def third(first: float, second: float) -> float:
    """S3 = 1 − 3 S1 − 3 S2."""
    return float(complete(first, second)[2])


def generalises(first: float, second: float, *, items: int = 3) -> bool:
    """Whether least-norm regression answers the held-out cells right when q = r = items."""
    _check(first, second, items, items)
    return 2 * second * (second + items * first) > first * third(first, second)


def margin(first: float, second: float, *, items: int = 3, method: Method = "regression") -> float:
    """y f on the held-out cells when q = r = items, for saliences S1 and S2; NaN without a fit."""
    _check(first, second, items, items, method)
    gram, test = _kinds(first, second, items)
    if method == "regression":
        duals = np.linalg.lstsq(gram, np.ones(3), rcond=1e-12)[0]
        return float(test @ duals) if np.allclose(gram @ duals, 1, atol=1e-6) else math.nan
    for chosen in chain.from_iterable(combinations(range(3), k) for k in (3, 2, 1)):
        duals = np.zeros(3)
        inner = gram[np.ix_(chosen, chosen)]
        duals[list(chosen)] = np.linalg.lstsq(inner, np.ones(len(chosen)), rcond=1e-12)[0]
        if (duals >= -1e-12).all() and (gram @ duals >= 1 - 1e-9).all():
            return float(test @ duals)
    return math.nan  # not separable


def _kinds(
    first: float, second: float, items: int
) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, " 3"]]:
    """Signed kernel sums between the kinds of cells, and from a held-out cell to each kind."""
    last = third(first, second)

    def total(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> float:
        """y y' Σ K over the items² cells of the other's signs."""
        c, a, b = (float(x == y) for x, y in zip(one[:3], other[:3], strict=True))
        r = items
        singles = first * (r * r * c + r * a + r * b)
        pairs = second * (r * c * a + r * c * b + a * b)
        return one[3] * other[3] * (singles + pairs + last * a * b * c)

    def row(one: tuple[int, int, int, int]) -> list[float]:
        return [sum(total(one, cell) for cell in kind) for kind in KINDS]

    return np.array([row(kind[0]) for kind in KINDS]), np.array(row((0, -1, 1, -1)))


def boundary(first: float, *, items: int = 3, method: Method = "regression") -> float:
    """The S2 above which the held-out cells are answered right when q = r; ∞ if there is none."""
    _check(first, 0.0, items, items, method)
    if first == 0:
        return 0.0
    if method == "regression":  # 2 S2² + 2 r S1 S2 = S1 (1 − 3 S1 − 3 S2)
        b = first * (2 * items + 3)
        return (math.sqrt(b * b + 8 * first * (1 - 3 * first)) - b) / 4
    low, high = 0.0, (1 - 3 * first) / 3
    if not margin(first, high, items=items, method=method) > 0:
        return math.inf
    for _ in range(44):  # the margin is negative at S2 = 0 and changes sign once
        middle = (low + high) / 2
        if margin(first, middle, items=items, method=method) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def svm_boundary_of_three(first: float) -> float:
    """The same for q = r = 3 and a hard margin where kind 1 has dropped out, in closed form.

    It has for S1 from about .0975 on; below, this is NaN, and the boundary is that of regression.
    """
    _check(first, 0.0, 3, 3)
    second = -first - 1 / 12 + math.sqrt(576 * first**2 + 24 * first + 1) / 12
    dual = 153 * first**2 + 117 * first * second - 12 * first + 24 * second**2 - 3 * second - 1
    return second if dual > 0 else math.nan  # minus the dual of kind 1, up to a positive factor


def held_out_margin(
    first: float,
    second: float,
    *,
    items: int = 3,
    left_out: int = 3,
    method: Method = "regression",
    relative: bool = False,
) -> float:
    """y f on the held-out cells for any q = left_out ≤ r = items, by one exact fit over kinds.

    `relative`: divided by the mean of y f over all trained cells.
    """
    _check(first, second, items, left_out, method)
    labels, train, counts, averages = _cells(items, left_out)
    last = third(first, second)
    gram = first * averages[0] + second * averages[1] + last * averages[2]
    inner = gram[np.ix_(train, train)]
    y = labels.astype(float)
    fit = hard_margin if method == "svm" else least_norm
    model = fit(inner, y[train], intercept=False)  # by antisymmetry the intercept is 0
    if not model.fits:
        return math.nan
    held = float(np.mean(y[~train] * model.predict(gram[np.ix_(~train, train)])))
    if not relative:
        return held
    return held / float(np.average(y[train] * model.predict(inner), weights=counts[train]))


def phase_diagram(
    first: Float[np.ndarray, " n"],
    second: Float[np.ndarray, " m"],
    *,
    items: int = 3,
    left_out: int = 3,
    method: Method = "regression",
) -> Float[np.ndarray, "m n"]:
    """Held-out margins over a grid of S1 (columns) and S2 (rows); NaN where S3 < 0."""
    out = np.full((len(second), len(first)), np.nan)
    for i, s2 in enumerate(second):
        for j, s1 in enumerate(first):
            if third(s1, s2) >= -1e-12:
                out[i, j] = held_out_margin(
                    float(s1), float(s2), items=items, left_out=left_out, method=method
                )
    return out


def task(
    items: int = 3, left_out: int = 3
) -> tuple[Int[np.ndarray, "n 3"], Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """All cells (context, feature 1, feature 2), the answers ±1, and which are trained on.

    Items 0 … r−1 of a feature are negative, r … 2r−1 positive; the first q of each are left out.
    """
    z = np.indices((2, 2 * items, 2 * items)).reshape(3, -1).T
    signs = np.where(z[:, 1:] < items, -1, 1)
    y = np.where(z[:, 0] == 0, signs[:, 0], signs[:, 1])
    held = (z[:, 1] < left_out) & (z[:, 2] >= items) & (z[:, 2] < items + left_out)
    return z, y, ~held


@functools.lru_cache(maxsize=32)
def _cells(
    items: int, left_out: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """Answer of each kind of cell, whether trained, how many, and mean kernels of S1, S2, S3."""
    z, y, train = task(items, left_out)
    side = np.where(z[:, 1:] < items, 0, 1)
    inside = z[:, 1:] - side * items < left_out
    kind = z[:, 0] * 16 + (side[:, 0] * 2 + inside[:, 0]) * 4 + side[:, 1] * 2 + inside[:, 1]
    kinds, first, where = np.unique(kind, return_index=True, return_inverse=True)
    mean = (where[None] == np.arange(len(kinds))[:, None]).astype(float)
    mean /= mean.sum(axis=1, keepdims=True)
    units = np.array([[1 / 3, 0, 0], [0, 1 / 3, 0], [0, 0, 1]])
    averages = tuple(
        mean @ kernel_matrix(kernel_of(unit), z, z) @ mean.T * unit.max() ** -1 for unit in units
    )
    return y[first], train[first], np.bincount(where), averages


def _check(
    first: float, second: float, items: int, left_out: int, method: Method = "regression"
) -> None:
    if method not in get_args(Method):
        raise UnknownName("method", method, get_args(Method))
    if not 1 <= left_out <= items:
        raise BadValue("items left out", left_out, f"1 to {items}")
    if not (first >= 0 and second >= 0 and third(first, second) >= -1e-9):
        legal = "S1 ≥ 0, S2 ≥ 0 with 3 S1 + 3 S2 ≤ 1"
        raise BadValue("saliences", [first, second], legal)
