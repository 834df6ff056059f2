"""Combinations: the table with equal rows laid together, and numbers that name conjunctions.

A *conjunction* of order k is a choice of values for k of the factors. Its number is written in
mixed radix from the codes; where that would overflow, prefixes are renumbered as they come.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from jaxtyping import Bool, Float, Int, Shaped

from recombine.auditing.factored import Factored

WIDEST = 1 << 62
TABLE = 1 << 26
"""Largest range of numbers for which a table of flags is quicker than sorting."""

Subset = tuple[int, ...]


@dataclass(frozen=True)
class Side:
    """What training, or the test, says about each combination."""

    count: Int[np.ndarray, " combination"]
    y: Shaped[np.ndarray, " combination"]
    """The most frequent class (the first of equals), or the mean; −1 or NaN where there is none."""
    odd: Int[np.ndarray, " combination"]
    """Rows with another class than that; of numbers, rows in combinations that disagree."""
    labels: Int[np.ndarray, " combination"]
    """Different labels."""
    spread: Float[np.ndarray, " combination"]
    """Sum of squares about the mean; 0 for classes."""
    row: Int[np.ndarray, " combination"]
    """The first row of the table that shows it; 0 where there is none."""


@dataclass(frozen=True)
class Combinations:
    """Each combination once, in lexicographic order."""

    z: Int[np.ndarray, "combination factor"]
    sizes: tuple[int, ...]
    train: Side
    test: Side

    @property
    def trained(self) -> Bool[np.ndarray, " combination"]:
        return self.train.count > 0

    @property
    def tested(self) -> Bool[np.ndarray, " combination"]:
        return self.test.count > 0

    @property
    def held_out(self) -> Bool[np.ndarray, " combination"]:
        """Tested and never trained on."""
        return np.asarray(self.tested & ~self.trained)


def combine(table: Factored) -> Combinations:
    """Lay equal rows together."""
    keys = numbers(table.codes, tuple(range(len(table.sizes))), table.sizes)
    order, first = np.unique(keys, return_index=True)[:2]
    frame = pl.DataFrame({"key": keys, "test": table.test, "y": table.y, "row": table.rows})
    side = _classes if table.classes else _means
    sides = [_placed(side(frame.filter(pl.col("test") == t)), order) for t in (False, True)]
    z = table.codes[first]
    if math.prod(table.sizes) < WIDEST:
        return Combinations(z, table.sizes, *(Side(*side) for side in sides))
    by_code = np.lexsort(z.T[::-1])  # numbers past an overflow are not in the order of the codes
    return Combinations(
        z[by_code], table.sizes, *(Side(*(part[by_code] for part in side)) for side in sides)
    )


def subsets(factors: int, order: int) -> list[Subset]:
    """The choices of `order` factors."""
    return list(itertools.combinations(range(factors), order))


def numbers(
    codes: Int[np.ndarray, "n factor"], subset: Subset, sizes: Sequence[int]
) -> Int[np.ndarray, " n"]:
    """A number for the conjunction of these factors that each row shows."""
    made = np.zeros(len(codes), dtype=np.int64)
    reach = 1
    for factor in subset:
        if reach * sizes[factor] >= WIDEST:
            made, reach = _renumbered(made)
        made = made * sizes[factor] + codes[:, factor]
        reach *= sizes[factor]
    return made


def _renumbered(keys: Int[np.ndarray, " n"]) -> tuple[Int[np.ndarray, " n"], int]:
    there, place = np.unique(keys, return_inverse=True)
    return place.astype(np.int64), len(there)


def _classes(frame: pl.DataFrame) -> pl.DataFrame:
    """By combination: the most frequent class, and how many rows have another."""
    counted = frame.group_by("key", "y").agg(pl.len().alias("n"), pl.col("row").min())
    ordered = counted.sort("n", "y", descending=[True, False])
    return ordered.group_by("key", maintain_order=True).agg(
        pl.col("n").sum().alias("count"),
        pl.col("y").first(),
        (pl.col("n").sum() - pl.col("n").first()).alias("odd"),
        pl.len().alias("labels"),
        pl.lit(0.0).alias("spread"),
        pl.col("row").min(),
    )


def _means(frame: pl.DataFrame) -> pl.DataFrame:
    """By combination: the mean, and the rows and squares that stray from it."""
    y = pl.col("y")
    same = y.min() == y.max()  # a mean of equal numbers need not be that number
    return frame.group_by("key").agg(
        pl.len().alias("count"),
        pl.when(same).then(y.min()).otherwise(y.mean()).alias("y"),
        pl.when(same).then(0).otherwise(pl.len()).alias("odd"),
        y.n_unique().alias("labels"),
        pl.when(same).then(0.0).otherwise(((y - y.mean()) ** 2).sum()).alias("spread"),
        pl.col("row").min(),
    )


def _placed(found: pl.DataFrame, order: Int[np.ndarray, " combination"]) -> tuple[np.ndarray, ...]:
    """Columns in the order of all combinations, with nothing where this side has none."""
    place = np.searchsorted(order, found.get_column("key").to_numpy())
    classes = found.get_column("y").dtype.is_integer()
    made = []
    for name, nothing in (
        ("count", 0), ("y", -1 if classes else np.nan), ("odd", 0), ("labels", 0),
        ("spread", 0.0), ("row", 0),
    ):  # fmt: skip
        whole = np.full(len(order), nothing)
        whole[place] = found.get_column(name).to_numpy()
        made.append(whole)
    return tuple(made)
