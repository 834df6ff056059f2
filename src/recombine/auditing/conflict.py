"""Decides whether labels can be had as sums of conjunction values, and if not, which rows clash.

The question is put to the core that peeling leaves. Rows of the core with exactly the same seen
conjunctions always get the same answer; where their labels differ, that alone is a clash. Then,
in order of cost:

1. clashing rectangles, at any size;
2. least squares on the labels (one output a class). Where it gets every label right, that proves
   that it can be done, at any size. For numbers its residual is the smallest there can be;
3. linear programming for a witness that it cannot be done;
4. for classes, a linear program for scores with few violations: what it gets wrong is a bound from
   above on what must be wrong.

Witnesses are disjoint: the rows of one are removed before the next is sought, so that each costs a
row at least. Large cores are put to 3 in part: rows whose values lie in a random part of the grid.
A witness found there is one for the whole; if none is found the answer is `undecided`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]
from scipy.optimize import linprog  # type: ignore[import-untyped, unused-ignore]

from recombine.auditing.alike import Alike, alike
from recombine.auditing.combinations import Subset
from recombine.auditing.rectangles import rectangles
from recombine.auditing.sampling import subgrid
from recombine.auditing.span import EXACT, least_squares, matrix, peel
from recombine.auditing.witness import OPTIMAL, Witness, margins, of_classes, of_numbers

Answer = Literal["possible", "impossible", "undecided"]
MOST_MARGINS = 1_500
"""Rows × rivals put to a linear program at once."""
MOST_WITNESSES = 2_000
MOST_PROGRAMS = 10
"""Witnesses sought by linear programming."""
CERTIFICATE_STEPS = 60
MOST_ROWS = 60_000
"""Rows on which a certificate for classes is sought; it is then tried on all."""


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
    """For numbers, the least share of their variance that any sum leaves, or 0 where that was not
    settled; for classes 0."""
    unexplained_at_most: float
    """For numbers, a share that some sum does not exceed: the same where it was settled."""
    sampled: int | None
    """Rows put to the linear programs, if not all of the core."""


def decide(
    ids: Int[np.ndarray, "row subset"],
    y: Shaped[np.ndarray, " row"],
    z: Int[np.ndarray, "row factor"],
    subsets: Sequence[Subset],
    *,
    classes: bool,
    weight: Shaped[np.ndarray, " row"],
    rng: np.random.Generator,
    witnesses: int = MOST_WITNESSES,
) -> Decision:
    """Whether b + Σ_J v_J(z_J), over the conjunctions that have a number, can give these labels.

    The columns of `ids` go with `subsets`. The search ends after so many witnesses.
    """
    core = np.flatnonzero(peel(ids))
    if not len(core):
        return Decision("possible", len(y), 0, (), 0, 0, 0.0, 0.0, None)
    ids, labels, z = ids[core], y[core], z[core]
    groups = alike(ids, labels)
    found = [_pair(a, b, classes=classes) for a, b in groups.differing[:witnesses].tolist()]
    if len(found) < witnesses:
        one_each = groups.first
        corners = rectangles(
            z[one_each], labels[one_each], ids[one_each], subsets, most=witnesses - len(found)
        )
        found += [Witness(tuple(one_each[list(w.rows)].tolist()), w.weights) for w in corners]
    if len(found) >= witnesses == 1:
        return Decision("impossible", len(y), len(core), (), 1, len(core), 0.0, 1.0, None)
    right, left, settled = _least_squares(
        ids, labels, classes=classes, weight=weight[core], rng=rng
    )
    if right.all() and not found:
        return Decision("possible", len(y), len(core), (), 0, 0, 0.0, 0.0, None)
    more, sampled, none_left = _search(ids, labels, z, groups, found, classes=classes, rng=rng)
    found += more
    at_most = int((~right).sum())
    if classes and len(core) * len(np.unique(labels)) <= 2 * MOST_MARGINS:
        at_most = min(at_most, _few_violations(matrix(ids), labels))
    answer: Answer = "undecided"
    if found or (not classes and settled):
        answer = "impossible"
    elif none_left or (classes and not at_most):  # scores that put every row's class first
        answer, at_most = "possible", 0
    left *= _share(y, core, weight) if answer == "impossible" else 0.0
    return Decision(
        answer,
        len(y),
        len(core),
        tuple(Witness(tuple(int(core[r]) for r in w.rows), w.weights) for w in found),
        wrong_at_least=_at_least(groups, found) if answer == "impossible" else 0,
        wrong_at_most=at_most,
        unexplained=left if settled else 0.0,
        unexplained_at_most=left,
        sampled=sampled if answer != "possible" else None,
    )


def _pair(one: int, other: int, *, classes: bool) -> Witness:
    return Witness((one, other), (1, 1) if classes else (1, -1))


def _least_squares(
    ids: np.ndarray, y: np.ndarray, *, classes: bool, weight: np.ndarray, rng: np.random.Generator
) -> tuple[Bool[np.ndarray, " row"], float, bool]:
    """Which rows least squares gets right; for numbers the share of variance it leaves, settled or
    not. For classes any scores will do, so that a part of the rows and few steps may be enough."""
    phi = matrix(ids)
    if classes:
        names, code = np.unique(y, return_inverse=True)
        wanted = np.eye(len(names))[code.reshape(-1)]
        some = np.arange(len(y))
        if len(y) > MOST_ROWS:
            some = rng.choice(len(y), size=MOST_ROWS, replace=False)
        scores = phi @ least_squares(phi[some], wanted[some], steps=CERTIFICATE_STEPS).v
        own = np.take_along_axis(scores, code.reshape(-1, 1), axis=1)
        rivals = np.where(wanted > 0, -np.inf, scores).max(axis=1, initial=-np.inf)
        return np.asarray(own[:, 0] > rivals + EXACT), 0.0, True
    root = np.sqrt(weight.astype(float))
    centre = float(np.average(y, weights=weight))
    scaled = sparse.diags(root).tocsr() @ phi
    solved = least_squares(scaled, (root * (y - centre))[:, None])
    apart = y - centre - (phi @ solved.v)[:, 0]
    scale = float(np.abs(y - centre).max()) or 1.0
    spread = float(weight @ (y - centre) ** 2)
    left = float(weight @ apart**2) / spread if spread > 0 else 0.0
    return np.asarray(np.abs(apart) <= 10 * EXACT * scale), left, solved.settled


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
    found: list[Witness],
    *,
    classes: bool,
    rng: np.random.Generator,
) -> tuple[list[Witness], int | None, bool]:
    """Further witnesses by linear programming, how many rows were looked at if not all, and
    whether it is settled that there are no more."""
    rivals = max(len(np.unique(y)) - 1, 1) if classes else 1
    most = max(MOST_MARGINS // rivals, 40)
    taken = [row for witness in found for row in witness.rows]
    rest = np.setdiff1d(groups.first, taken)
    if len(rest) <= most:
        more, none_left = _programs(ids, y, rest, classes=classes)
        return more, None, none_left
    if found:
        return [], None, False  # enough is known: what is left is only a count
    part = rest[subgrid(z[rest], most, rng)]
    more, _ = _programs(ids, y, part, classes=classes)
    return more, len(part), False


def _programs(
    ids: np.ndarray, y: np.ndarray, rows: np.ndarray, *, classes: bool
) -> tuple[list[Witness], bool]:
    """Witnesses among some rows, each without the rows of those before it."""
    found: list[Witness] = []
    search = of_classes if classes else of_numbers
    while len(found) < MOST_PROGRAMS:
        rows = rows[peel(ids[rows])]
        if not len(rows):
            return found, True
        result = search(matrix(ids[rows]), y[rows])
        if result.witness is None:
            return found, result.none_exists
        found.append(
            Witness(tuple(int(rows[r]) for r in result.witness.rows), result.witness.weights)
        )
        rows = np.delete(rows, list(result.witness.rows))
    return found, False


def _at_least(groups: Alike, found: list[Witness]) -> int:
    """Rows that must be wrong: within groups, and for each further witness where labels lead least.

    A witness says that some group in it does not get its most frequent label; that costs as many
    rows more as that label leads by.
    """
    lead = dict(zip(groups.first.tolist(), groups.lead.tolist(), strict=True))
    further = [w for w in found if len(w.rows) > 2]
    return max(groups.wrong + sum(int(min(lead[row] for row in w.rows)) for w in further), 1)


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
