"""Tests of the estimates over seeds: their laws, their coverage, and what they refuse."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recombine.stats.intervals import Interval, iqm, mean, median, share

WHOLE = st.lists(st.integers(-50, 50), min_size=2, max_size=15)
ESTIMATES = pytest.mark.parametrize("estimate", [mean, median, iqm])


def global_state() -> str:
    return str(np.random.get_state())  # noqa: NPY002 (looked at to see that nothing moves it)


@pytest.mark.parametrize(
    ("estimate", "n", "long_run"),  # long_run: over 2,500 to 4,000 samples, of other seeds
    [(mean, 3, 0.95), (mean, 5, 0.95), (mean, 25, 0.93), (median, 25, 0.90), (iqm, 25, 0.93)],
)
def test_coverage_over_normal_samples(estimate, n: int, long_run: float) -> None:
    samples = np.random.default_rng(11).normal(3.0, 2.0, size=(250, n))
    coverage = np.mean([estimate(row).contains(3.0) for row in samples])
    error = np.sqrt(long_run * (1 - long_run) / 250)
    assert coverage == pytest.approx(long_run, abs=2.5 * error)


@pytest.mark.parametrize("n", [25, 51, 201])
def test_median_agrees_with_the_exact_interval_between_ranks(n: int) -> None:
    values = np.sort(np.random.default_rng(3).normal(size=n))
    exact = stats.quantile_test(values, p=0.5).confidence_interval(0.95)
    interval = median(values)
    for ours, theirs in [(interval.low, exact.low), (interval.high, exact.high)]:
        rank = np.searchsorted(values, theirs)
        assert values[rank - 1] <= ours <= values[rank + 1]


@ESTIMATES
def test_a_lower_level_gives_a_narrower_interval(estimate) -> None:
    values = np.random.default_rng(2).lognormal(size=40)
    wide, narrow = estimate(values, level=0.99), estimate(values, level=0.8)
    assert wide.low < narrow.low < narrow.estimate < narrow.high < wide.high
    assert (wide.level, narrow.level, wide.n) == (0.99, 0.8, 40)


@pytest.mark.parametrize("n", [2, 5, 19])
def test_the_mean_of_few_seeds_is_in_students_interval(n: int) -> None:
    values = np.random.default_rng(5).lognormal(size=n)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    ours = mean(values, level=0.9)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert ours.method == "Student's t"


def test_mean_agrees_with_student_at_large_n() -> None:
    values = np.random.default_rng(4).normal(size=800)
    student = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    interval = mean(values)
    assert interval.low == pytest.approx(student.low, abs=0.006)
    assert interval.high == pytest.approx(student.high, abs=0.006)


def test_estimates_by_hand() -> None:
    values = [9, 1, 2, 3, 4, 5, 6, 100]
    assert mean(values).estimate == 16.25
    assert median(values).estimate == 4.5
    assert iqm(values).estimate == (3 + 4 + 5 + 6) / 4


@ESTIMATES
@settings(max_examples=25, deadline=None)
@given(WHOLE, st.integers(-100, 100), st.sampled_from([0.25, 0.5, 2, 8]))
def test_shift_and_scale_carry_over(estimate, values, shift: int, scale: float) -> None:
    # Whole numbers and powers of two, so that ties among resamples survive the shift exactly.
    plain, moved = estimate(values), estimate(scale * np.array(values) + shift)
    for before, after in [
        (plain.estimate, moved.estimate),
        (plain.low, moved.low),
        (plain.high, moved.high),
    ]:
        assert after == pytest.approx(scale * before + shift, abs=1e-9)


@ESTIMATES
@settings(max_examples=20, deadline=None)
@given(WHOLE, st.randoms(use_true_random=False))
def test_order_of_seeds_and_of_calls_does_not_matter(estimate, values, random) -> None:
    first = estimate(values)
    before = global_state()
    mean([1.0, 2.0, 5.0])
    random.shuffle(values)
    assert estimate(values) == first
    assert global_state() == before


@ESTIMATES
def test_a_thousand_seeds_are_quick(estimate) -> None:
    values = np.random.default_rng(0).normal(size=1_000)
    start = time.process_time()
    estimate(values)
    assert time.process_time() - start < 0.3


@ESTIMATES
def test_one_value_has_no_interval(estimate) -> None:
    interval = estimate([0.4])
    assert (interval.estimate, interval.n) == (0.4, 1)
    assert np.isnan(interval.low) and np.isnan(interval.high)
    assert interval.method == "one value: no interval"
    assert not (interval.contains(0.4) or interval.above(-9) or interval.below(9))


@ESTIMATES
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "empty"),
        ([1, np.nan, 2, np.nan], "2 of 4 values are NaN"),
        ([1, np.inf], "1 infinite"),
        ([[1, 2]], r"shape \(1, 2\)"),
    ],
)
def test_refused_values(estimate, values, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimate(values)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_refused_levels(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        mean([1, 2, 3], level=level)
    with pytest.raises(ValueError, match="level"):
        share(1, 2, level=level)


def test_text() -> None:
    interval = Interval(0.4821, 0.4549, 0.5101, 0.95, 30, "by hand")
    assert interval.text() == str(interval) == f"{interval}" == "0.482 [0.455, 0.510]"
    assert interval.text(1) == "0.5 [0.5, 0.5]"
    assert f"{interval:.0%}" == "48% [45%, 51%]"
    assert mean([0.25]).text() == "0.250 [no interval]"


def test_text_shows_two_digits_of_a_small_width() -> None:
    assert Interval(2e-5, 1e-5, 4e-5, 0.95, 9, "by hand").text() == "0.000020 [0.000010, 0.000040]"
    assert Interval(0.5, 0.5, 0.5, 0.95, 9, "by hand").text() == "0.500 [0.500, 0.500]"
    assert Interval(1.3e-15, 0, 2e-15, 0.95, 3, "by hand").text() == "1.3e-15 [0.0e+00, 2.0e-15]"
    assert Interval(0.0, 0.0, 0.0, 0.95, 3, "by hand").text() == "0.000 [0.000, 0.000]"


def test_sides() -> None:
    interval = Interval(2, 1, 3, 0.95, 9, "by hand")
    assert interval.above(0.9) and not interval.above(1)
    assert interval.below(3.1) and not interval.below(3)
    assert interval.contains(1) and interval.contains(3) and not interval.contains(3.1)


@settings(deadline=None)
@given(st.integers(1, 400), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_share_agrees_with_scipy(n: int, data, level: float) -> None:
    k = data.draw(st.integers(0, n))
    theirs = stats.binomtest(k, n).proportion_ci(level, method="wilson")
    ours = share(k, n, level=level)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@settings(deadline=None)
@given(st.integers(1, 400), st.data())
def test_share_is_symmetric_in_success_and_failure(n: int, data) -> None:
    k = data.draw(st.integers(0, n))
    won, lost = share(k, n), share(n - k, n)
    assert (won.low, won.high) == pytest.approx((1 - lost.high, 1 - lost.low), abs=1e-12)
    assert 0 <= won.low <= won.estimate <= won.high <= 1


@pytest.mark.parametrize("n", [10, 30, 100])
def test_share_covers_as_often_as_it_says(n: int) -> None:
    truths = np.linspace(0.05, 0.95, 91)
    intervals = [share(k, n) for k in range(n + 1)]
    covers = np.array([[i.contains(p) for i in intervals] for p in truths])
    chance = stats.binom.pmf(np.arange(n + 1), n, truths[:, None])
    coverage = (covers * chance).sum(axis=1)  # exact: every outcome, weighed by its chance
    assert coverage.mean() == pytest.approx(0.95, abs=0.01)
    assert coverage.min() > 0.82


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_refused_shares(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=r"share needs|successes must"):
        share(successes, n)
