"""Which conjunctions of factor values each combination shares with training, order by order.

A conjunction that training shows has a number; one it does not show has none. What training shows
is closed downward: where a pair was seen, so were both its values. So a row none of whose
conjunctions of order k was seen shares nothing of a higher order either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from recombine.auditing.combinations import TABLE, Combinations, Subset, numbers, subsets

MOST_CELLS = 120_000_000
"""Combinations × conjunctions that are worked out; beyond it, higher orders are left aside."""


@dataclass(frozen=True)
class Conjunctions:
    """The conjunctions of every combination, of orders 1 to `order`."""

    ids: Int[np.ndarray, "combination subset"]
    """The number of a conjunction if training shows it, else −1."""
    subsets: tuple[Subset, ...]
    count: int
    """How many different conjunctions training shows."""
    order: int
    factors: int

    @property
    def complete(self) -> bool:
        """Whether every order that a held-out combination can share was looked at."""
        return self.order >= self.factors - 1

    def up_to(self, order: int) -> Int[np.ndarray, "combination subset"]:
        """Only the conjunctions of at most this order."""
        return self.ids[:, [len(subset) <= order for subset in self.subsets]]

    def of(self, order: int) -> Bool[np.ndarray, "combination subset"]:
        """Which conjunctions of exactly this order were seen."""
        return self.ids[:, [len(subset) == order for subset in self.subsets]] >= 0


def conjunctions(combinations: Combinations, *, most: int | None = None) -> Conjunctions:
    """Number what training shows, up to the order that a held-out combination can share."""
    n, factors = combinations.z.shape
    order = _affordable(n, factors, most)
    chosen = tuple(s for k in range(1, order + 1) for s in subsets(factors, k))
    ids = np.empty((n, len(chosen)), dtype=np.int32, order="F")
    total = 0
    for place, subset in enumerate(chosen):
        keys = numbers(combinations.z, subset, combinations.sizes)
        ids[:, place], found = _numbered(keys, combinations.trained, total)
        total += found
    return Conjunctions(ids, chosen, total, order, factors)


def _affordable(n: int, factors: int, most: int | None) -> int:
    """The highest order within our means, at most one less than the number of factors."""
    wanted = max(1, min(factors - 1, most if most is not None else factors))
    columns = 0
    for order in range(1, wanted + 1):
        columns += math.comb(factors, order)
        if order > 1 and columns * n > MOST_CELLS:
            return order - 1
    return wanted


def _numbered(
    keys: Int[np.ndarray, " n"], trained: Bool[np.ndarray, " n"], start: int
) -> tuple[Int[np.ndarray, " n"], int]:
    """The trained keys renumbered from `start`, the others −1, and how many there are."""
    seen = keys[trained]
    top = int(keys.max())
    if top < TABLE:
        flags = np.zeros(top + 1, dtype=bool)
        flags[seen] = True
        found = int(flags.sum())
        table = np.where(flags, np.cumsum(flags) - 1 + start, -1).astype(np.int32)
        return table[keys], found
    there = np.unique(seen)
    place = np.minimum(np.searchsorted(there, keys), len(there) - 1)
    return np.where(there[place] == keys, place + start, -1).astype(np.int32), len(there)
