"""Smaller tables of the same shape, where the whole is too large for an exact method."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int, Shaped

FEW = 10
"""Held-out and training combinations that a part of the grid should have, if there are so many."""


def subgrid(
    z: Int[np.ndarray, "row factor"],
    most: int,
    rng: np.random.Generator,
    *,
    order: Int[np.ndarray, " row"] | None = None,
) -> Int[np.ndarray, " chosen"]:
    """At most so many rows: those whose values lie in a random part of each factor's values.

    Unlike rows drawn at random this keeps how densely combinations fill the grid, and so which
    conjunctions are shared. Where even two values a factor leave too many rows, or next to none,
    rows are drawn at random from those, or from all. With an order, values and rows come in as
    they come in it, and not at random.
    """
    if len(z) <= most:
        return np.arange(len(z))
    # An order of values for each factor, as it comes or at random.
    ranks = np.stack([_ranks(column, rng, order) for column in z.T], axis=1)
    least = np.full(len(z), 0.0)  # the share of values at which a row comes in
    for rank in ranks.T:
        size = int(rank.max()) + 1
        share = (rank + 1) / size
        least = np.maximum(least, np.where(rank < 2, 0.0, share))
    edge = np.sort(least)[most]
    chosen = np.flatnonzero(least < edge)
    if len(chosen) < most // 8:
        pool = np.flatnonzero(least <= edge)
        pool = pool if len(pool) >= most else np.arange(len(z))
        if order is None:
            return np.sort(rng.choice(pool, size=most, replace=False))
        return np.sort(order[np.isin(order, pool)][:most])
    return chosen


def _ranks(
    codes: np.ndarray, rng: np.random.Generator, order: np.ndarray | None
) -> Int[np.ndarray, " row"]:
    """Each value that occurs gets a place in an order; each row the place of its value."""
    if order is None:
        there, place = np.unique(codes, return_inverse=True)
        return np.asarray(rng.permutation(len(there))[place.reshape(-1)])
    _, first, place = np.unique(codes[order], return_index=True, return_inverse=True)
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = np.argsort(np.argsort(first))[place.reshape(-1)]
    return ranks


def fitted_part(
    z: Int[np.ndarray, "row factor"],
    y: Shaped[np.ndarray, " row"],
    trained: Bool[np.ndarray, " row"],
    rng: np.random.Generator,
    *,
    most: tuple[int, int],
) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " held"]]:
    """Training and held-out rows in a part of the grid, at most so many of each.

    A random part may have next to none of one kind, or one label only, where the whole has more.
    Then it is made around rows of either kind, taken in turn.
    """
    n, held = int(trained.sum()), int((~trained).sum())
    wanted = max(int(min(most[0] / max(n, 1), most[1] / max(held, 1)) * len(z)), 4)
    part = subgrid(z, wanted, rng)
    inside = int(trained[part].sum())
    few = inside < min(n, FEW) or len(part) - inside < min(held, FEW)
    if few or _one_label(y, trained, part):
        order = _in_turn(y, trained, rng)
        part = subgrid(z, wanted, rng, order=order)
        if _one_label(y, trained, part):
            part = np.sort(order[:wanted])
    chosen = part[trained[part]], part[~trained[part]]
    train, test = (_some(rows, limit, rng) for rows, limit in zip(chosen, most, strict=True))
    return train, test


def _one_label(y: np.ndarray, trained: np.ndarray, part: np.ndarray) -> bool:
    return len(np.unique(y[part][trained[part]])) < 2


def _in_turn(
    y: np.ndarray, trained: np.ndarray, rng: np.random.Generator
) -> Int[np.ndarray, " row"]:
    """Held-out and training rows in turn, in a random order; of each label one comes first."""
    held, train = (rng.permutation(np.flatnonzero(kind)) for kind in (~trained, trained))
    first = np.sort(np.unique(y[train], return_index=True)[1])
    train = np.concatenate([train[first], np.delete(train, first)])
    turns = np.concatenate([2 * np.arange(len(held)), 2 * np.arange(len(train)) + 1])
    return np.asarray(np.concatenate([held, train])[np.argsort(turns)])


def _some(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """All rows, or so many of them drawn at random."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, size=most, replace=False))
