"""Tests of the bootstrap: against all resamples enumerated, and where BCa gives up."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recombine.stats.bootstrap import BCA_UP_TO, RESAMPLES, SEED, bounds, sample

SKEWED = sample([0.0, 0.3, 0.4, 0.9, 2.0, 5.0])


def enumerated_bca(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """All n^n resampled means, and the quantiles of them that Efron's BCa (1987) takes."""
    means = np.array([np.mean(r) for r in itertools.product(values, repeat=len(values))])
    estimate = values.mean()
    below = np.mean(means < estimate - 1e-9) + np.mean(np.abs(means - estimate) <= 1e-9) / 2
    z0 = stats.norm.ppf(below)
    jackknife = np.array([np.delete(values, i).mean() for i in range(len(values))])
    u = jackknife.mean() - jackknife
    acceleration = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
    z = z0 + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    return means, stats.norm.cdf(z0 + z / (1 - acceleration * z))


def test_bca_agrees_with_the_enumeration_of_all_resamples() -> None:
    low, high, method = bounds((SKEWED,), np.mean, level=0.9)
    assert method == "BCa bootstrap"
    means, quantiles = enumerated_bca(SKEWED, 0.9)
    # Compared as quantiles, where 2,000 resamples err by less than 0.01; in the thin upper tail
    # the same error moves the bound itself by several percent.
    assert [np.mean(means <= low), np.mean(means <= high)] == pytest.approx(quantiles, abs=0.012)
    assert np.all(quantiles > [0.08, 0.97])  # percentiles would be at 0.05 and 0.95


@pytest.mark.parametrize("statistic", [np.mean, np.median])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_bounds_are_scipys(statistic, level: float) -> None:
    values = sample(np.random.default_rng(5).lognormal(size=37))
    theirs = stats.bootstrap(
        (values,), statistic, n_resamples=RESAMPLES, confidence_level=level,
        rng=np.random.default_rng(SEED),
    ).confidence_interval  # fmt: skip
    low, high, method = bounds((values,), statistic, level=level)
    assert method == "BCa bootstrap"
    assert (low, high) == pytest.approx(tuple(theirs), rel=1e-12)


def test_bounds_of_two_samples_are_scipys() -> None:
    rng = np.random.default_rng(6)
    samples = sample(rng.lognormal(size=23)), sample(rng.normal(size=31))

    def difference(x, y, axis):
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)

    theirs = stats.bootstrap(
        samples, difference, n_resamples=RESAMPLES, rng=np.random.default_rng(SEED)
    ).confidence_interval
    assert bounds(samples, difference, level=0.95)[:2] == pytest.approx(tuple(theirs), rel=1e-12)


def test_two_samples_are_resampled_independently() -> None:
    rng = np.random.default_rng(3)
    x, y = np.sort(rng.normal(1, 1, 300)), np.sort(rng.normal(0, 3, 200))
    low, high, _ = bounds(
        (x, y), lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis), level=0.95
    )
    welch = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95)
    assert high - low == pytest.approx(welch.high - welch.low, rel=0.06)
    assert (low + high) / 2 == pytest.approx((welch.high + welch.low) / 2, abs=0.05)


def test_constant_values_have_no_width() -> None:
    low, high, method = bounds((sample([0.7] * 5),), np.median, level=0.95)
    assert low == high == 0.7
    assert "constant" in method


def test_a_median_among_ties_falls_back_to_percentiles() -> None:
    low, high, method = bounds((sample([0, 1, 1, 1, 1, 1, 1, 1, 2]),), np.median, level=0.95)
    assert (low, high) == (1, 1)
    assert method == "percentile bootstrap"


def test_percentiles_replace_a_bca_interval_that_leaves_its_estimate_out() -> None:
    raw = stats.bootstrap((SKEWED,), np.mean, confidence_level=0.02, rng=np.random.default_rng(0))
    assert raw.confidence_interval.low > SKEWED.mean()
    low, high, method = bounds((SKEWED,), np.mean, level=0.02)
    assert low <= SKEWED.mean() <= high
    assert method == "percentile bootstrap"


def test_many_values_skip_the_jackknife() -> None:
    values = np.linspace(0, 1, BCA_UP_TO + 1)
    assert bounds((values,), np.mean, level=0.95)[2] == "percentile bootstrap"
    assert bounds((values[1:],), np.mean, level=0.95)[2] == "BCa bootstrap"


def test_memory_is_bounded() -> None:
    values = np.linspace(0, 1, BCA_UP_TO) ** 2
    tracemalloc.start()
    bounds((values,), np.median, level=0.95)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6  # the jackknife alone would hold 200 MB at once


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3) | st.floats(-10, 10), min_size=2, max_size=12),
    st.sampled_from([np.mean, np.median]),
)
def test_bounds_hold_the_estimate_and_stay_within_the_values(values, statistic) -> None:
    x = sample(values)
    low, high, _ = bounds((x,), statistic, level=0.95)
    slack = 1e-12 * np.abs(x).max()
    assert low <= statistic(x) <= high
    assert x[0] - slack <= low and high <= x[-1] + slack
