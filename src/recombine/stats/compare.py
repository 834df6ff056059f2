"""Two arms against each other: by how much they differ, how surely, or that they do not."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special  # type: ignore[import-untyped, unused-ignore]

from recombine.stats.bootstrap import (
    NO_INTERVAL,
    ROUNDING,
    SEED,
    Sample,
    batches,
    finite,
    sample,
)
from recombine.stats.intervals import FEW, Interval, bootstrapped, mean, student

PERMUTATIONS = 9_999
"""Tests with no more rearrangements than this are exact (13 pairs, or 7 against 7)."""


@dataclass(frozen=True)
class Comparison:
    """How far a lies above b; p is two-sided, and 1 where an arm has a single value."""

    difference: Interval
    p: float
    effect_size: float
    n: tuple[int, int]
    method: str


@dataclass(frozen=True)
class Equivalence:
    """Whether a and b differ by less than a margin."""

    interval: Interval
    """The difference at level 1 - 2 alpha, inside ±margin exactly when equivalence holds."""
    p: float
    margin: float
    holds: bool
    n: tuple[int, int]
    method: str


def paired(a: npt.ArrayLike, b: npt.ArrayLike, *, level: float = 0.95) -> Comparison:
    """The mean of a - b, seed by seed; p by flipping signs; effect size Cohen's d_z."""
    d = np.sort(_differences(a, b))
    difference = mean(d, level=level)
    p, test = _flipped(d)
    method = f"paired by seed; {difference.method}; {test} sign flips"
    return Comparison(difference, p, _standardised(d), (d.size, d.size), method)


def unpaired(a: npt.ArrayLike, b: npt.ArrayLike, *, level: float = 0.95) -> Comparison:
    """The mean of a minus that of b; p by permuting; effect size P(a > b) + P(a = b) / 2."""
    x, y = sample(a, "a"), sample(b, "b")
    difference = _difference_of_means(x, y, level=level)
    p, test = _shuffled(x, y)
    method = f"unpaired; {difference.method}; {test} permutations"
    return Comparison(difference, p, _superiority(x, y), (x.size, y.size), method)


def equivalent(
    a: npt.ArrayLike, b: npt.ArrayLike, *, margin: float, paired: bool, alpha: float = 0.05
) -> Equivalence:
    """Two one-sided t-tests (Schuirmann 1987) that the difference of means is within ±margin.

    Paired by seed, or Welch's. A single value proves nothing: p is 1. Arms without any spread
    are compared as they stand.
    """
    if not margin > 0:
        raise ValueError(f"margin must be positive; got {margin}")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must lie strictly between 0 and 0.5; got {alpha}")
    x, y = finite(a, "a"), finite(b, "b")
    n = (x.size, y.size)
    method = f"TOST, {'paired' if paired else 'Welch'} t"
    difference, error, df = _paired_t(_differences(x, y)) if paired else _welch_t(x, y)
    if min(n) == 1:
        low, high, p, method = math.nan, math.nan, 1.0, NO_INTERVAL
    elif error == 0:
        low, high, p = difference, difference, float(abs(difference) >= margin)
    else:
        half = float(special.stdtrit(df, 1 - alpha)) * error
        low, high = difference - half, difference + half
        p = float(special.stdtr(df, (abs(difference) - margin) / error))
    interval = Interval(difference, low, high, 1 - 2 * alpha, min(n), method)
    return Equivalence(interval, p, margin, p < alpha, n, method)


def holm(pvalues: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values (1979), under the names and in the order given.

    The k-th smallest of m is multiplied by m - k + 1, and never falls below a smaller one's.
    """
    for name, p in pvalues.items():
        if not 0 <= p <= 1:
            raise ValueError(f"the p-value of {name!r} must lie between 0 and 1; got {p}")
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(pvalues, key=lambda name: pvalues[name])):
        largest = max(largest, min(1.0, (len(pvalues) - rank) * pvalues[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in pvalues}


def _differences(a: npt.ArrayLike, b: npt.ArrayLike) -> Sample:
    x, y = finite(a, "a"), finite(b, "b")
    if x.size != y.size:
        raise ValueError(
            f"a and b are paired by seed, so they need as many values: {x.size} and {y.size}; "
            "perhaps you meant `unpaired`"
        )
    return np.asarray(x - y)


def _flipped(d: Sample) -> tuple[float, str]:
    """Were a and b alike, each difference would as likely have had the other sign."""
    if d.size == 1:
        return 1.0, "no"
    if exact := 2**d.size <= PERMUTATIONS:
        bits = np.arange(2**d.size)[:, None] >> np.arange(d.size) & 1
        null = (1.0 - 2 * bits) @ d
    else:
        rng, null = np.random.default_rng(SEED), np.empty(PERMUTATIONS)
        for rows in batches(PERMUTATIONS, d.size):
            null[rows] = (1.0 - 2 * rng.integers(0, 2, (rows.stop - rows.start, d.size))) @ d
    return _tail(null, float(d.sum()), np.abs(d).sum(), exact=exact)


def _shuffled(x: Sample, y: Sample) -> tuple[float, str]:
    """Were a and b alike, any of all values might as well have been in a.

    The difference of means rises with the sum of the values in a, so that the sums are compared.
    """
    if min(x.size, y.size) == 1:
        return 1.0, "no"
    pool = np.concatenate([x, y])
    if exact := math.comb(pool.size, x.size) <= PERMUTATIONS:
        null = pool[list(itertools.combinations(range(pool.size), x.size))].sum(-1)
    else:
        rng, null = np.random.default_rng(SEED), np.empty(PERMUTATIONS)
        for rows in batches(PERMUTATIONS, pool.size):
            copies = np.broadcast_to(pool, (rows.stop - rows.start, pool.size))
            null[rows] = rng.permuted(copies, axis=-1)[:, : x.size].sum(-1)
    return _tail(null, float(x.sum()), np.abs(pool).sum(), exact=exact)


def _tail(null: Sample, seen: float, size: float, *, exact: bool) -> tuple[float, str]:
    """Twice the smaller tail; what was seen counts among random rearrangements as one more."""
    slack = ROUNDING * size
    tails = np.sum(null >= seen - slack), np.sum(null <= seen + slack)
    extra = 0 if exact else 1
    p = 2 * (min(tails) + extra) / (null.size + extra)
    return min(1.0, float(p)), f"all {null.size}" if exact else f"{null.size} random"


def _standardised(d: Sample) -> float:
    """Cohen's d_z, the mean difference in its standard deviations; infinite without any."""
    if d.size == 1:
        return math.nan
    if d[0] == d[-1]:
        return math.copysign(math.inf, d[0]) if d[0] else 0.0
    return float(np.mean(d) / np.std(d, ddof=1))


def _difference_of_means(x: Sample, y: Sample, *, level: float) -> Interval:
    """Welch's interval where a group is small, as `mean` has Student's, else the bootstrap's."""
    few = min(x.size, y.size)
    estimate, error, freedom = _welch_t(x, y)
    if few < FEW and not math.isnan(freedom):
        return student(estimate, error, freedom, level=level, n=few)
    return bootstrapped((x, y), _mean_difference, level=level)


def _superiority(x: Sample, y: Sample) -> float:
    """Mann and Whitney's U over n m: for each of x, how many of the sorted y lie below it."""
    below, tied_too = y.searchsorted(x, "left"), y.searchsorted(x, "right")
    return float((below.sum() + tied_too.sum()) / (2 * x.size * y.size))


def _paired_t(d: Sample) -> tuple[float, float, float]:
    """Difference, its standard error and the degrees of freedom."""
    return float(np.mean(d)), math.sqrt(_squared_error(d)), d.size - 1


def _welch_t(x: Sample, y: Sample) -> tuple[float, float, float]:
    """Difference, its standard error and Welch and Satterthwaite's degrees of freedom."""
    u, v = _squared_error(x), _squared_error(y)
    difference = float(np.mean(x) - np.mean(y))
    if u + v == 0 or min(x.size, y.size) == 1:
        return difference, 0.0, math.nan
    df = (u + v) ** 2 / (u**2 / (x.size - 1) + v**2 / (y.size - 1))
    return difference, math.sqrt(u + v), df


def _squared_error(x: Sample) -> float:
    """The squared standard error of the mean, exactly zero for values that are all alike."""
    return 0.0 if np.ptp(x) == 0 else float(np.var(x, ddof=1) / x.size)


def _mean_difference(x: Sample, y: Sample, axis: int) -> Sample:
    return np.asarray(np.mean(x, axis=axis) - np.mean(y, axis=axis))
