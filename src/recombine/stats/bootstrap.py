"""The bootstrap under every interval: what may be resampled, and what to do where BCa fails.

Written out, with SciPy's special functions alone: importing scipy.stats takes a second, a quarter
of what a repeated `recombine reproduce` takes. Given the same generator, `scipy.stats.bootstrap`
draws the same resamples and returns the same bounds.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special  # type: ignore[import-untyped, unused-ignore]

Sample: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[..., Any]
"""Takes one or two samples and `axis`, and reduces along it."""

RESAMPLES = 2_000
SEED = 0
BCA_UP_TO = 5_000
"""The jackknife inside BCa costs n² statistics; beyond this many values skew no longer matters."""

NUMBERS_AT_ONCE = 2**22
"""Resampled numbers held in memory at one time: 32 MB of doubles."""

ROUNDING = 1e-12
"""What differs by less than this part of its terms is the same but for rounding."""

NO_INTERVAL = "one value: no interval"


def sample(values: npt.ArrayLike, name: str = "values") -> Sample:
    """The values as a sorted array, so that an interval does not depend on the order of seeds."""
    return np.sort(finite(values, name))


def finite(values: npt.ArrayLike, name: str = "values") -> Sample:
    """The values in their order, refused unless they are one non-empty row of finite numbers."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one row of numbers, one a seed; got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: an estimate needs at least one value")
    missing, infinite = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    if missing or infinite:
        raise ValueError(
            f"{missing} of {array.size} {name} are NaN and {infinite} infinite; "
            "leave failed seeds out knowingly, or count them with `share`"
        )
    return array


def within_unit(value: float, name: str) -> float:
    """`value`, refused unless it lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {value}")
    return value


def bounds(
    samples: tuple[Sample, ...], statistic: Statistic, *, level: float
) -> tuple[float, float, str]:
    """Low, high and the method that gave them; the samples are sorted, each resampled on its own.

    BCa where it is defined. It is not where the resampled statistics are all alike, where the
    jackknife sees no variation (a median among ties), or where so many resamples fall on one
    side that the estimate leaves its own interval: there the percentiles are taken instead.
    Values without any spread give an interval of no width, a single value gives none at all.
    """
    within_unit(level, "level")
    estimate = float(statistic(*samples, axis=-1))
    if min(s.size for s in samples) == 1:
        return float("nan"), float("nan"), NO_INTERVAL
    if all(s[0] == s[-1] for s in samples):
        return estimate, estimate, "constant values: no width"
    resampled = _resampled(samples, statistic)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if max(s.size for s in samples) <= BCA_UP_TO:
        shifted = _bca(samples, statistic, estimate, resampled, tails)
        if not np.isnan(shifted).any():
            low, high = np.quantile(resampled, shifted)
            if low <= estimate <= high:
                return float(low), float(high), "BCa bootstrap"
    low, high = np.quantile(resampled, tails)
    # A resample that should equal the estimate may miss it by rounding.
    return min(float(low), estimate), max(float(high), estimate), "percentile bootstrap"


def batches(count: int, size: int) -> Iterator[slice]:
    """Slices of so many rows of so many numbers that fit in memory together."""
    rows = max(1, NUMBERS_AT_ONCE // size)
    for start in range(0, count, rows):
        yield slice(start, min(start + rows, count))


def _resampled(samples: tuple[Sample, ...], statistic: Statistic) -> Sample:
    """The statistic of each resample."""
    rng, found = np.random.default_rng(SEED), np.empty(RESAMPLES)
    for rows in batches(RESAMPLES, max(s.size for s in samples)):
        count = rows.stop - rows.start
        drawn = [s[rng.integers(0, s.size, (count, s.size))] for s in samples]
        found[rows] = statistic(*drawn, axis=-1)
    return found


def _bca(
    samples: tuple[Sample, ...],
    statistic: Statistic,
    estimate: float,
    resampled: Sample,
    tails: Sample,
) -> Sample:
    """The quantiles that Efron (1987) takes in place of the tails; NaN where they are undefined.

    They correct for bias (z, from the share of resamples below the estimate) and for a spread that
    changes with the estimate (the acceleration, from the skew of what leaving a value out does).
    """
    below = (np.mean(resampled < estimate) + np.mean(resampled <= estimate)) / 2
    cubes = squares = 0.0
    for at, values in enumerate(samples):
        left_out = _jackknife(samples, at, statistic)
        pull = (left_out.mean() - left_out) * (values.size - 1) / values.size
        cubes += float((pull**3).sum())
        squares += float((pull**2).sum())
    with np.errstate(all="ignore"):
        acceleration = np.float64(cubes) / (6 * np.float64(squares) ** 1.5)
        z = special.ndtri(below)
        moved = z + special.ndtri(tails)
        return np.asarray(special.ndtr(z + moved / (1 - acceleration * moved)))


def _jackknife(samples: tuple[Sample, ...], at: int, statistic: Statistic) -> Sample:
    """The statistic with each value of one sample left out in turn."""
    values = samples[at]
    found, kept = np.empty(values.size), np.arange(values.size - 1)
    for rows in batches(values.size, values.size):
        out = np.arange(rows.start, rows.stop)[:, None]
        parts = [np.broadcast_to(s, (len(out), s.size)) for s in samples]
        parts[at] = values[kept + (kept >= out)]
        found[rows] = statistic(*parts, axis=-1)
    return found
