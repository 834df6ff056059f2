"""Smaller tables of the same shape, where the whole is too large for an exact method."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int


def subgrid(
    z: Int[np.ndarray, "row factor"], most: int, rng: np.random.Generator
) -> Int[np.ndarray, " chosen"]:
    """At most so many rows: those whose values lie in a random part of each factor's values.

    Unlike rows drawn at random this keeps how densely combinations fill the grid, and so which
    conjunctions are shared. Where even two values a factor leave too many rows, or next to none,
    rows are drawn at random from those, or from all.
    """
    if len(z) <= most:
        return np.arange(len(z))
    ranks = np.stack([_random_ranks(column, rng) for column in z.T], axis=1)
    least = np.full(len(z), 0.0)  # the share of values at which a row comes in
    for rank in ranks.T:
        size = int(rank.max()) + 1
        share = (rank + 1) / size
        least = np.maximum(least, np.where(rank < 2, 0.0, share))
    order = np.argsort(least, kind="stable")
    edge = least[order[most]]
    chosen = np.flatnonzero(least < edge)
    if len(chosen) < most // 8:
        pool = np.flatnonzero(least <= edge)
        pool = pool if len(pool) >= most else np.arange(len(z))
        chosen = np.sort(rng.choice(pool, size=most, replace=False))
    return chosen


def _random_ranks(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each value that occurs gets a place in a random order; each row the place of its value."""
    there, place = np.unique(codes, return_inverse=True)
    return np.asarray(rng.permutation(len(there))[place.reshape(-1)])
