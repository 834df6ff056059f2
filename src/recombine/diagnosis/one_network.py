"""Intervals of one network that is judged as it is: over examples, since there are no seeds."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.stats import Interval


def over(shares: Float[np.ndarray, " seed"], n: int | None, level: float) -> Interval:
    """The mean over seeds; with `n`, the share of one network among so many examples."""
    if n is None:
        return stats.mean(shares, level=level)
    (one,) = shares
    return stats.share(round(float(one) * n), n, level=level)


def difference(one: Interval, other: Interval) -> Interval:
    """The difference of two independent shares, in the interval of Newcombe (1998, method 10)."""
    effect = one.estimate - other.estimate
    low = effect - math.hypot(one.estimate - one.low, other.high - other.estimate)
    high = effect + math.hypot(one.high - one.estimate, other.estimate - other.low)
    return Interval(effect, low, high, one.level, min(one.n, other.n), "Newcombe")
