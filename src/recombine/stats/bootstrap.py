"""The bootstrap under every interval: what may be resampled, and what to do where BCa fails."""

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

Sample: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[..., Any]
"""Takes one or two samples and `axis`, and reduces along it."""

RESAMPLES = 2_000
SEED = 0
BCA_UP_TO = 5_000
"""The jackknife inside BCa costs n² statistics; beyond this many values skew no longer matters."""

NUMBERS_AT_ONCE = 2**22
"""Resampled numbers held in memory at one time: 32 MB of doubles."""

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
    if max(s.size for s in samples) <= BCA_UP_TO:
        low, high = _resampled(samples, statistic, level=level, method="BCa")
        if low <= estimate <= high:  # false for NaN too
            return low, high, "BCa bootstrap"
    low, high = _resampled(samples, statistic, level=level, method="percentile")
    # A resample that should equal the estimate may miss it by rounding.
    return min(low, estimate), max(high, estimate), "percentile bootstrap"


def _resampled(
    samples: tuple[Sample, ...], statistic: Statistic, *, level: float, method: str
) -> tuple[float, float]:
    with warnings.catch_warnings():
        # They say that BCa is undefined, which `bounds` reads off the NaN in the result.
        # SciPy's DegenerateDataWarning is one of them.
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = stats.bootstrap(
            samples,
            statistic,
            n_resamples=RESAMPLES,
            batch=max(1, NUMBERS_AT_ONCE // max(s.size for s in samples)),
            vectorized=True,
            confidence_level=level,
            method=method,
            rng=np.random.default_rng(SEED),
        ).confidence_interval
    return float(interval.low), float(interval.high)
