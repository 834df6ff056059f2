"""Small sets of rows whose labels no sum of conjunction values can give: proofs a reader can check.

Let Φ_i be the 0/1 row of combination i (a one for the intercept and for each of its conjunctions
that training shows).

*Classes.* Scores f_c(z) = Φ v_c put every row's own class first exactly if Φ_i (v_{y_i} − v_c) > 0
for each i and each c ≠ y_i. By Gordan's theorem that is impossible if and only if there are
weights λ_ic ≥ 0, not all zero, with Σ_ic λ_ic Φ_i ⊗ (e_{y_i} − e_c) = 0: the sum of the wanted
margins is then zero whatever v is, so they cannot all be positive. For two classes this is
Σ_i λ_i y_i Φ_i = 0 with y_i = ±1.

*Numbers.* Φ v = y is impossible if and only if there are weights w with Σ_i w_i Φ_i = 0 and
Σ_i w_i y_i ≠ 0.

In both cases a vertex of the polytope of such weights is minimal: no part of its margins (for two
classes and for numbers, of its rows) is a proof by itself. For an exclusive-or it is the four
corners of a rectangle. Linear programming finds a vertex in floating point; its weights are then
rounded to fractions and the sums above are formed in whole numbers, so that a witness that is
reported is a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]
from scipy.optimize import linprog  # type: ignore[import-untyped, unused-ignore]

DENOMINATORS = (5_000, 500_000)
"""Largest ones tried: small fractions first, then as large as floating point can tell apart."""
SMALL = 1e-8
OPTIMAL, INFEASIBLE = 0, 2
"""What scipy's linprog says."""


@dataclass(frozen=True)
class Witness:
    """Rows that cannot all come out right, with the weights that prove it."""

    rows: tuple[int, ...]
    weights: tuple[int, ...]
    """Whole numbers; for classes the sum over rivals, for numbers with a sign."""


@dataclass(frozen=True)
class Search:
    """What looking for a witness gave."""

    witness: Witness | None
    none_exists: bool
    """Whether the program says that there is none: the labels can be had."""


def margins(
    phi: sparse.csr_matrix, y: Int[np.ndarray, " row"]
) -> tuple[sparse.csr_matrix, Int[np.ndarray, " margin"]]:
    """The wanted margins as linear forms in all v_c together, and the row each belongs to."""
    classes, code = np.unique(y, return_inverse=True)
    code = code.reshape(-1)
    if len(classes) == 2:
        return sparse.diags(2.0 * code - 1).tocsr() @ phi, np.arange(len(y))
    pieces, rows = [], []
    for own in range(len(classes)):
        mine = np.flatnonzero(code == own)
        for rival in range(len(classes)):
            if rival != own:
                difference = np.zeros((1, len(classes)))
                difference[0, [own, rival]] = 1.0, -1.0
                pieces.append(sparse.kron(sparse.csr_matrix(difference), phi[mine], format="csr"))
                rows.append(mine)
    return sparse.vstack(pieces, format="csr"), np.concatenate(rows)


def of_classes(phi: sparse.csr_matrix, y: Int[np.ndarray, " row"]) -> Search:
    """Rows whose classes cannot all be put first."""
    if len(np.unique(y)) < 2:
        return Search(None, True)
    forms, rows = margins(phi, y)
    n = forms.shape[0]
    system = sparse.vstack([forms.T, sparse.csr_matrix(np.ones((1, n)))], format="csr")
    goal = np.r_[np.zeros(forms.shape[1]), 1.0]
    found = linprog(np.zeros(n), A_eq=system, b_eq=goal, method="highs-ds")
    if found.status != OPTIMAL:
        return Search(None, found.status == INFEASIBLE)
    used = np.flatnonzero(found.x > SMALL)
    exact = _exactly(forms[used], found.x[used])
    if exact is None:
        return Search(None, False)
    summed: dict[int, int] = {}
    for row, weight in zip(rows[used].tolist(), _whole(exact), strict=True):
        summed[row] = summed.get(row, 0) + weight
    return Search(Witness(tuple(sorted(summed)), tuple(summed[r] for r in sorted(summed))), False)


def of_numbers(phi: sparse.csr_matrix, y: Float[np.ndarray, " row"]) -> Search:
    """Rows whose numbers no sum can give; of all proofs one with small weights, hence few rows."""
    scale = float(np.max(np.abs(y), initial=0.0)) or 1.0
    both = sparse.vstack([phi.T, sparse.csr_matrix(y[None] / scale)], format="csr")
    system = sparse.hstack([both, -both], format="csr")
    goal = np.r_[np.zeros(phi.shape[1]), 1.0]
    found = linprog(np.ones(2 * len(y)), A_eq=system, b_eq=goal, method="highs-ds")
    if found.status != OPTIMAL:
        return Search(None, found.status == INFEASIBLE)
    weights = found.x[: len(y)] - found.x[len(y) :]
    used = np.flatnonzero(np.abs(weights) > SMALL * np.abs(weights).max())
    exact = _exactly(phi[used], weights[used])
    if exact is None:
        return Search(None, False)
    pairs = zip(exact, y[used].tolist(), strict=True)
    apart = sum((w * Fraction(value) for w, value in pairs), Fraction(0))
    size = sum((abs(w) for w in exact), Fraction(0)) * Fraction(scale)
    if abs(apart) <= size * Fraction(1, 10**9):
        return Search(None, False)
    return Search(Witness(tuple(used.tolist()), _whole(exact)), False)


def _exactly(forms: sparse.csr_matrix, weights: Float[np.ndarray, " row"]) -> list[Fraction] | None:
    """The weights in units of the smallest, as fractions with which the rows sum to just zero."""
    unit = float(np.abs(weights).min())
    for most in DENOMINATORS:
        exact = [Fraction(float(w) / unit).limit_denominator(most) for w in weights]
        if _cancels(forms, exact):
            return exact
    return None


def _cancels(forms: sparse.csr_matrix, weights: list[Fraction]) -> bool:
    """Whether the weighted rows sum to zero, in exact arithmetic."""
    sums: dict[int, Fraction] = {}
    for row, weight in enumerate(weights):
        span = slice(forms.indptr[row], forms.indptr[row + 1])
        for column, value in zip(forms.indices[span], forms.data[span], strict=True):
            sums[int(column)] = sums.get(int(column), Fraction(0)) + weight * int(value)
    return not any(sums.values())


def _whole(weights: list[Fraction]) -> tuple[int, ...]:
    """The same weights without denominators."""
    common = lcm(*(weight.denominator for weight in weights))
    return tuple(int(weight * common) for weight in weights)
