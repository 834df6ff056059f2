"""Combinations on both sides of the split, rows that repeat, and labels that contradict."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recombine.auditing.combinations import Combinations

MOST_SHOWN = 20


@dataclass(frozen=True)
class Leakage:
    """What the two sides of the split share."""

    train_rows: int
    test_rows: int
    train_combinations: int
    test_combinations: int
    possible: int
    """Combinations that the values of the factors allow."""
    leaked: int
    leaked_rows: int
    """Combinations tested that were trained on, and the test rows that show them."""
    leaked_same: int
    leaked_other: int
    """Of these combinations, with the same label on both sides, and with another."""
    repeated_train: int
    repeated_test: int
    """Rows beyond the first of their combination and label."""
    ambiguous_train: int
    ambiguous_test: int
    """Rows whose label is not the (most frequent, or only) one of their combination."""
    noise: float
    """For numbers: root mean square of labels about their combination's mean, over repeats."""
    leaked_places: tuple[int, ...]
    contradicting_places: tuple[int, ...]
    """Some combinations, those that contradict first."""

    @property
    def held_out(self) -> int:
        return self.test_combinations - self.leaked


def leakage(combinations: Combinations, *, classes: bool) -> Leakage:
    """Count combinations and rows on each side."""
    train, test = combinations.train, combinations.test
    both = combinations.trained & combinations.tested
    other = both & (train.y != test.y)
    within = (train.odd > 0) | (test.odd > 0)
    contradicting = np.flatnonzero(other | within if classes else other)
    repeats = int((train.count + test.count)[combinations.trained | combinations.tested].sum())
    freedom = repeats - int(combinations.trained.sum()) - int(combinations.tested.sum())
    spread = float(train.spread.sum() + test.spread.sum())
    return Leakage(
        train_rows=int(train.count.sum()),
        test_rows=int(test.count.sum()),
        train_combinations=int(combinations.trained.sum()),
        test_combinations=int(combinations.tested.sum()),
        possible=math.prod(combinations.sizes),
        leaked=int(both.sum()),
        leaked_rows=int(test.count[both].sum()),
        leaked_same=int((both & ~other).sum()),
        leaked_other=int(other.sum()),
        repeated_train=int((train.count - train.labels).sum()),
        repeated_test=int((test.count - test.labels).sum()),
        ambiguous_train=int(train.odd.sum()),
        ambiguous_test=int(test.odd.sum()),
        noise=float(np.sqrt(spread / freedom)) if freedom > 0 and not classes else 0.0,
        leaked_places=tuple(np.flatnonzero(both)[:MOST_SHOWN].tolist()),
        contradicting_places=tuple(contradicting[:MOST_SHOWN].tolist()),
    )
