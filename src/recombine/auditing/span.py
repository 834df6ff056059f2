"""Sums of conjunction values as linear algebra: f(z) = b + Σ_J v_J(z_J) is Φ v, with Φ sparse.

Φ has a column of ones and a column for each conjunction that training shows; a row has a one for
each of its own. Small systems are solved by singular values, large ones by conjugate gradients on
the normal equations, which from zero go to the solution of least norm.

*Peeling.* A row with a conjunction that no other row has can be given any value at all through
that conjunction alone, whatever the others are. It can be set aside, after which other rows may
have conjunctions of their own. What is left when this ends is the core: labels can be reached on
all rows if and only if they can be reached on the core, and the same holds for the order of
scores. Held-out sets without structure peel away to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import linalg, sparse  # type: ignore[import-untyped, unused-ignore]

DENSE = 4_000_000
"""Entries up to which a system is solved as a full matrix."""
STEPS = 400
TOLERANCE = 1e-10
"""Conjugate gradients end when the gradient has shrunk by this factor."""
AMPLE = 20_000
"""Rows that are taken anyway where there are more rows than needed."""
MOVED = 1e-5
"""A random orthogonal vector that moves a row by less than this, relative to its length, does not
move it."""
EXACT = 1e-7
"""A residual below this share of the size of the labels counts as none."""


def matrix(ids: Int[np.ndarray, "row subset"]) -> sparse.csr_matrix:
    """Φ: a column of ones, then one for each conjunction that occurs in these rows."""
    return matrices(ids)[0]


def matrices(*parts: Int[np.ndarray, "_ subset"]) -> list[sparse.csr_matrix]:
    """Φ of several sets of rows, over the conjunctions of the first.

    Rows of later sets may lack a column of their own: a conjunction that the first does not show
    has no value that anything could be learned for, or, within one set, that anyone else shares.
    """
    first = parts[0]
    used = np.zeros(max((int(part.max(initial=-1)) for part in parts), default=-1) + 2, dtype=bool)
    used[first[first >= 0]] = True
    place = np.cumsum(used, dtype=np.int32)  # column 0 is the intercept
    width = int(used.sum()) + 1
    return [_rows(part, used, place, width) for part in parts]


def _rows(ids: np.ndarray, used: np.ndarray, place: np.ndarray, width: int) -> sparse.csr_matrix:
    there = used[ids] & (ids >= 0)
    counts = there.sum(axis=1, dtype=np.int64) + 1
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = np.zeros(int(starts[-1]), dtype=np.int32)
    inner = np.ones(len(columns), dtype=bool)
    inner[starts[:-1]] = False  # the first entry of a row is its intercept
    columns[inner] = place[np.ascontiguousarray(ids)[np.ascontiguousarray(there)]]
    ones = np.ones(len(columns))
    return sparse.csr_matrix((ones, columns, starts), shape=(len(ids), width))


def peel(ids: Int[np.ndarray, "row subset"]) -> Bool[np.ndarray, " row"]:
    """Which rows stay when each with a conjunction of its own is set aside, again and again."""
    stays = np.arange(len(ids))
    rest = np.ascontiguousarray(ids)
    while len(rest):
        counts = np.bincount(rest[rest >= 0], minlength=int(rest.max(initial=-1)) + 2)
        counts[-1] = 0  # where −1, "not seen", leads
        kept = ~(counts[rest] == 1).any(axis=1)
        if kept.all():
            break
        stays, rest = stays[kept], rest[kept]
    core = np.zeros(len(ids), dtype=bool)
    core[stays] = True
    return core


@dataclass(frozen=True)
class Solution:
    """A least-squares solution of least norm."""

    v: Float[np.ndarray, "column output"]
    settled: bool
    """Whether it was reached; if not, another v may come nearer."""


def least_squares(
    phi: sparse.csr_matrix,
    y: Float[np.ndarray, "row output"],
    *,
    steps: int = STEPS,
    tolerance: float = TOLERANCE,
) -> Solution:
    """The v of least norm among those that come nearest to y."""
    if phi.shape[0] * phi.shape[1] <= DENSE:
        return Solution(np.asarray(linalg.lstsq(phi.toarray(), y, cond=1e-10)[0]), True)
    v = np.zeros((phi.shape[1], y.shape[1]))
    across = phi.T
    rest = y.astype(float).copy()
    gradient = across @ rest
    direction, size = gradient.copy(), np.sum(gradient**2, axis=0)
    enough = tolerance**2 * np.maximum(size, 1e-300)
    for _ in range(steps):
        moving = size > enough
        if not moving.any():
            return Solution(v, True)
        image = phi @ direction
        length = np.where(moving, size / np.maximum(np.sum(image**2, axis=0), 1e-300), 0.0)
        v += length * direction
        rest -= length * image
        gradient = across @ rest
        before, size = size, np.sum(gradient**2, axis=0)
        direction = gradient + (size / np.maximum(before, 1e-300)) * direction
    return Solution(v, False)


def nowhere(phi: sparse.csr_matrix, rng: np.random.Generator) -> Float[np.ndarray, "column 2"]:
    """Two random vectors n with Φ n = 0: random ones less their projection on the rows of Φ."""
    g = rng.normal(size=(phi.shape[1], 2))
    return np.asarray(g - least_squares(phi, phi @ g).v)


def outside(
    rows: sparse.csr_matrix, free: Float[np.ndarray, "column 2"]
) -> Bool[np.ndarray, " row"]:
    """Which rows lie outside the span that `free` is orthogonal to.

    A row in the span gives zero with every n. A row outside it gives zero only with probability
    zero. What such a row of other data is worth is not fixed by Φ v: moving v along n changes it.
    """
    size = np.sqrt(np.asarray(rows.sum(axis=1))).reshape(-1, 1)
    return np.asarray((np.abs(rows @ free) > MOVED * size).any(axis=1))


def spanning(
    phi: sparse.csr_matrix, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " some"], Float[np.ndarray, "column 2"]]:
    """Rows that span all rows, and two random vectors orthogonal to them.

    Far more rows than columns are mostly repetition. A random part is taken; rows outside its span
    are found by random orthogonal vectors and some are added, until none are left.
    """
    n, columns = phi.shape
    if n * columns <= DENSE or n <= 4 * columns:
        return np.arange(n), nowhere(phi, rng)
    some = rng.choice(n, size=min(n, max(3 * columns, AMPLE)), replace=False)
    while True:
        free = nowhere(phi[some], rng)
        missed = np.flatnonzero(outside(phi, free))
        if not len(missed):
            return np.sort(some), free
        some = np.union1d(some, rng.permutation(missed)[:columns])
