"""The commonest clash, found at any size: four rows at the corners of a rectangle.

Take two factors whose joint values training never shows, two values of each, and the rest fixed.
Every conjunction with a value (it has at most one of the two factors) then stands at two corners
with opposite signs, so f(a,b) + f(a',b') = f(a,b') + f(a',b) for every sum of values. Numbers that
break this, or classes that lie crosswise, cannot be had: such a rectangle is a witness with weights
of one. Rows that share the rest and one of the factors are joined, a pair of factors at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl
from jaxtyping import Int, Shaped

from recombine.auditing.combinations import Subset, numbers
from recombine.auditing.witness import Witness

MOST_ROWS = 150_000
"""Rows looked at for one pair of factors."""
MOST_JOINED = 1_500_000


def rectangles(
    z: Int[np.ndarray, "row factor"],
    y: Shaped[np.ndarray, " row"],
    ids: Int[np.ndarray, "row subset"],
    subsets: Sequence[Subset],
    *,
    most: int,
) -> list[Witness]:
    """Disjoint rectangles whose labels clash, at most so many."""
    column = {subset: place for place, subset in enumerate(subsets)}
    free = np.ones(len(z), dtype=bool)
    found: list[Witness] = []
    for pair in itertools.combinations(range(z.shape[1]), 2):
        new = ids[:, column[pair]] < 0 if pair in column else np.ones(len(z), dtype=bool)
        rows = np.flatnonzero(new & free)[:MOST_ROWS]
        for corners in _clashing(z[rows], y[rows], pair) if len(rows) >= 4 else ():
            four = rows[corners]
            if free[four].all():
                free[four] = False
                signs = (1, 1, 1, 1) if y.dtype.kind == "i" else (1, -1, -1, 1)
                found.append(Witness(tuple(four.tolist()), signs))
                if len(found) >= most:
                    return found
    return found


def _clashing(z: np.ndarray, y: np.ndarray, pair: Subset) -> Int[np.ndarray, "clash 4"]:
    """Corners (a,b), (a,b'), (a',b), (a',b') of clashing rectangles."""
    rest = tuple(factor for factor in range(z.shape[1]) if factor not in pair)
    sizes = (z.max(axis=0) + 1).tolist()
    frame = pl.DataFrame(
        {
            "rest": numbers(z, rest, sizes),
            "a": z[:, pair[0]],
            "b": z[:, pair[1]],
            "y": y,
            "row": np.arange(len(z)),
        }
    )
    # A value b that stands alone within its rest joins nothing: leave it out before joining.
    group = frame.group_by("rest", "b").len()
    size = int((group.get_column("len").cast(pl.Int64) ** 2).sum())
    if size > MOST_JOINED:
        kept = int(len(z) * MOST_JOINED / size)
        frame = frame.sort("rest", "b", "a").head(max(kept, 4))
    joined = frame.join(frame, on=["rest", "b"], suffix="2").filter(pl.col("a") < pl.col("a2"))
    if y.dtype.kind == "i":
        clashes = _crosswise(joined.filter(pl.col("y") != pl.col("y2")))
    else:
        clashes = _unequal(joined.with_columns(gap=pl.col("y") - pl.col("y2")))
    corners = clashes.sort("rest", "a", "a2", "row").select(
        "row", "row_right", "row2", "row2_right"
    )
    return corners.unique(maintain_order=True).to_numpy()


def _crosswise(joined: pl.DataFrame) -> pl.DataFrame:
    """Columns b where a has class p and a' has q, beside columns where it is the other way.

    The first of the one with the first of the other, the second with the second, and so on.
    """
    keys = ["rest", "a", "a2", "y", "y2"]
    one = joined.sort("b").with_columns(turn=pl.int_range(pl.len()).over(keys))
    other = one.rename({"y": "y2", "y2": "y"})
    return one.join(other, on=[*keys, "turn"]).filter(pl.col("y") < pl.col("y2"))


def _unequal(joined: pl.DataFrame) -> pl.DataFrame:
    """Columns b between which the difference of a and a' is not the same."""
    keys = ["rest", "a", "a2"]
    ordered = pl.col("row", "row2").sort_by("gap", "b")
    spread = pl.col("gap").max() - pl.col("gap").min()
    scale = float(joined.select(pl.max_horizontal(pl.col("y").abs().max(), 1e-300)).item() or 1.0)
    ends = joined.group_by(keys).agg(
        ordered.first(), ordered.last().name.suffix("_right"), spread.alias("spread")
    )
    return ends.filter(pl.col("spread") > 1e-9 * scale)
