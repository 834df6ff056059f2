"""Decides whether labels can be had as sums of conjunction values, and if not, which rows clash.

The question is put to the core that peeling leaves. Rows of the core with exactly the same seen
conjunctions always get the same answer; where their labels differ, that alone is a clash. Then,
in order of cost:

1. least squares on the labels (one output a class). Where it gets every label right, that proves
   that it can be done, at any size. For numbers its residual is the smallest there can be.
2. linear programming for a witness that it cannot be done. The rows of a witness are removed and
   the question is put again: each of these disjoint witnesses costs a row at least.
3. for classes, a linear program for scores with few violations: what it gets wrong is a bound from
   above on what must be wrong.

Large cores are put to 2 and 3 in part: rows whose values lie in a random part of the grid. A
witness found there is one for the whole; if none is found the answer for classes is `undecided`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]
from scipy.optimize import linprog  # type: ignore[import-untyped, unused-ignore]

from recombine.auditing.alike import Alike, alike
from recombine.auditing.sampling import subgrid
from recombine.auditing.span import EXACT, least_squares, matrix, peel
from recombine.auditing.witness import OPTIMAL, Witness, margins, of_classes, of_numbers

Answer = Literal["possible", "impossible", "undecided"]
MOST_MARGINS = 2_000
"""Rows × rivals put to a linear program at once."""
MOST_WITNESSES = 20
TRIES = 3
"""Parts of the grid that are tried."""


@dataclass(frozen=True)
class Decision:
    """Whether the labels of some rows can all be right at once."""

    answer: Answer
    rows: int
    core: int
    """Rows left by peeling: only they can clash."""
    witnesses: tuple[Witness, ...]
    """Disjoint sets of rows that cannot all be right, by place among the rows asked about."""
    wrong_at_least: int
    wrong_at_most: int
    unexplained: float
    """For numbers, the least share of their variance that any sum leaves; for classes 0."""
    sampled: int | None
    """Rows put to the linear programs, if not all of the core."""


def decide(
    ids: Int[np.ndarray, "row subset"],
    y: Shaped[np.ndarray, " row"],
    z: Int[np.ndarray, "row factor"],
    *,
    classes: bool,
    weight: Shaped[np.ndarray, " row"],
    rng: np.random.Generator,
) -> Decision:
    """Whether b + Σ_J v_J(z_J), over the conjunctions that have a number, can give these labels."""
    core = np.flatnonzero(peel(ids))
    if not len(core):
        return Decision("possible", len(y), 0, (), 0, 0, 0.0, None)
    ids, labels, z = ids[core], y[core], z[core]
    groups = alike(ids, labels)
    right, unexplained = _least_squares(ids, labels, classes=classes, weight=weight[core])
    unexplained *= _share(y, core, weight) if not classes else 0.0
    if right.all():
        return Decision("possible", len(y), len(core), (), 0, 0, 0.0, None)
    found, sampled, settled = _search(ids, labels, z, groups, classes=classes, rng=rng)
    at_most = int((~right).sum())
    if classes and sampled is None and len(core) * len(np.unique(labels)) <= 2 * MOST_MARGINS:
        at_most = min(at_most, _few_violations(matrix(ids), labels))
    if found or not classes:
        answer: Answer = "impossible"
    else:
        answer, at_most = ("possible", 0) if settled else ("undecided", at_most)
    return Decision(
        answer,
        len(y),
        len(core),
        tuple(Witness(tuple(int(core[r]) for r in w.rows), w.weights) for w in found),
        wrong_at_least=_at_least(groups, found) if answer == "impossible" else 0,
        wrong_at_most=at_most,
        unexplained=unexplained,
        sampled=sampled,
    )


def _least_squares(
    ids: np.ndarray, y: np.ndarray, *, classes: bool, weight: np.ndarray
) -> tuple[Bool[np.ndarray, " row"], float]:
    """Which rows least squares gets right; for numbers also the share of variance it leaves."""
    phi = matrix(ids)
    if classes:
        names, code = np.unique(y, return_inverse=True)
        wanted = np.eye(len(names))[code.reshape(-1)]
        scores = phi @ least_squares(phi, wanted)
        own = np.take_along_axis(scores, code.reshape(-1, 1), axis=1)
        rivals = np.where(wanted > 0, -np.inf, scores).max(axis=1, initial=-np.inf)
        return np.asarray(own[:, 0] > rivals + EXACT), 0.0
    root = np.sqrt(weight.astype(float))
    centre = float(np.average(y, weights=weight))
    scaled = sparse.diags(root).tocsr() @ phi
    fitted = phi @ least_squares(scaled, (root * (y - centre))[:, None])[:, 0] + centre
    apart = y - fitted
    scale = float(np.abs(y - centre).max()) or 1.0
    spread = float(weight @ (y - centre) ** 2)
    left = float(weight @ apart**2) / spread if spread > 0 else 0.0
    return np.asarray(np.abs(apart) <= 10 * EXACT * scale), left


def _share(y: np.ndarray, core: np.ndarray, weight: np.ndarray) -> float:
    """The spread of the core's numbers as a share of that of all rows."""

    def spread(rows: np.ndarray) -> float:
        centre = np.average(y[rows], weights=weight[rows])
        return float(weight[rows] @ (y[rows] - centre) ** 2)

    whole = spread(np.arange(len(y)))
    return spread(core) / whole if whole > 0 else 0.0


def _search(
    ids: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    groups: Alike,
    *,
    classes: bool,
    rng: np.random.Generator,
) -> tuple[list[Witness], int | None, bool]:
    """Disjoint witnesses, how many rows were looked at if not all, and if none is left to find."""
    found = [_pair(a, b, classes=classes) for a, b in groups.differing[:MOST_WITNESSES].tolist()]
    rivals = max(len(np.unique(y)) - 1, 1) if classes else 1
    most = max(MOST_MARGINS // rivals, 40)
    if len(groups.first) <= most:
        more, settled = _disjoint(ids, y, groups.first, classes, MOST_WITNESSES - len(found))
        return found + more, None, settled
    looked = 0
    for _ in range(TRIES):
        part = groups.first[subgrid(z[groups.first], most, rng)]
        looked = max(looked, len(part))
        more, _ = _disjoint(ids, y, part, classes, MOST_WITNESSES - len(found))
        if more:
            return found + more, looked, False
    return found, looked, False


def _disjoint(
    ids: np.ndarray, y: np.ndarray, rows: np.ndarray, classes: bool, most: int
) -> tuple[list[Witness], bool]:
    """Witnesses among some rows, each without the rows of those before it."""
    found: list[Witness] = []
    rest = rows
    while len(found) < most:
        rest = rest[peel(ids[rest])]
        if not len(rest):
            return found, True
        search = of_classes if classes else of_numbers
        result = search(matrix(ids[rest]), y[rest])
        if result.witness is None:
            return found, result.none_exists
        found.append(
            Witness(tuple(int(rest[r]) for r in result.witness.rows), result.witness.weights)
        )
        rest = np.delete(rest, list(result.witness.rows))
    return found, False


def _pair(one: int, other: int, *, classes: bool) -> Witness:
    return Witness((one, other), (1, 1) if classes else (1, -1))


def _at_least(groups: Alike, found: list[Witness]) -> int:
    """Rows that must be wrong: within groups, and for each further witness where labels lead least.

    A witness says that some group in it does not get its most frequent label; that costs as many
    rows more as that label leads by.
    """
    lead = dict(zip(groups.first.tolist(), groups.lead.tolist(), strict=True))
    further = [w for w in found if all(row in lead for row in w.rows) and len(w.rows) > 2]
    return max(groups.wrong + sum(min(lead[row] for row in w.rows) for w in further), 1)


def _few_violations(phi: sparse.csr_matrix, y: Int[np.ndarray, " row"]) -> int:
    """Rows that the scores of least total violation put wrong."""
    forms, rows = margins(phi, y)
    n, columns = forms.shape
    slack = sparse.csr_matrix((np.ones(n), (np.arange(n), rows)), shape=(n, len(y)))
    found = linprog(
        np.r_[np.zeros(columns), np.ones(len(y))],
        A_ub=-sparse.hstack([forms, slack], format="csr"),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * columns + [(0, None)] * len(y),
        method="highs",
    )
    if found.status != OPTIMAL:
        return len(y)
    reached: Float[np.ndarray, " margin"] = forms @ found.x[:columns]
    return len(np.unique(rows[reached <= EXACT]))
