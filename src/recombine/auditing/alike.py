"""Rows that share exactly the same seen conjunctions: any sum of their values treats them alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Shaped


@dataclass(frozen=True)
class Alike:
    """Groups of rows that always get one answer."""

    first: Int[np.ndarray, " group"]
    """A row of each group that has its most frequent label."""
    wrong: int
    """Rows that come out wrong even if each group gets its most frequent label."""
    lead: Int[np.ndarray, " group"]
    """By how many rows the most frequent label leads the next."""
    differing: Int[np.ndarray, "pair 2"]
    """Of each group with several labels, two rows that differ."""


def alike(ids: Int[np.ndarray, "row subset"], y: Shaped[np.ndarray, " row"]) -> Alike:
    """Lay together rows with equal conjunctions."""
    if not len(ids):
        nothing = np.zeros(0, dtype=np.int64)
        return Alike(nothing, 0, nothing, nothing.reshape(0, 2))
    group = _hashed(ids)
    label = np.unique(y, return_inverse=True)[1].reshape(-1)
    _, first, count = np.unique(
        group * (int(label.max()) + 1) + label, return_index=True, return_counts=True
    )
    # Within a group the most frequent label first; of equals, the row that comes first.
    order = np.lexsort((first, -count, group[first]))
    first, count = first[order], count[order]
    begins = np.flatnonzero(np.r_[True, np.diff(group[first]) != 0])
    labels = np.diff(np.r_[begins, len(first)])
    several = begins[labels > 1]
    second = np.zeros(len(begins), dtype=np.int64)
    second[labels > 1] = count[several + 1]
    return Alike(
        first=first[begins],
        wrong=int(count.sum() - count[begins].sum()),
        lead=count[begins] - second,
        differing=np.stack([first[several], first[several + 1]], axis=1),
    )


def _hashed(ids: Int[np.ndarray, "row subset"]) -> Int[np.ndarray, " row"]:
    """A number for each set of conjunctions, from 64 bits of a hash."""
    rng = np.random.default_rng(0)
    salts: np.ndarray = rng.integers(1, 2**62, size=(ids.shape[1],)) * 2 + 1
    total = np.zeros(len(ids), dtype=np.uint64)
    for column, salt in enumerate(salts.tolist()):
        mixed = (ids[:, column].astype(np.int64) + 2).astype(np.uint64) * np.uint64(salt)
        total += mixed ^ (mixed >> np.uint64(29))
    return np.unique(total, return_inverse=True)[1].reshape(-1)
