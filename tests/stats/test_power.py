"""Tests of the seeds needed: against tables, simulation, and the intervals themselves."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from recombine.stats.intervals import share
from recombine.stats.power import _power, seeds_for_share, seeds_needed, seeds_to_separate


@pytest.mark.parametrize(("effect", "n"), [(0.2, 394), (0.5, 64), (0.8, 26)])
def test_cohens_table(effect: float, n: int) -> None:
    # Cohen (1988), table 2.4.1 prints 393, 64 and 26; the exact first is 394 (G*Power).
    assert seeds_needed(effect, 1.0) == n
    assert seeds_needed(-3 * effect, 3.0) == n


def simulated_power(effect: float, n: int, *, level: float, paired: bool) -> float:
    rng = np.random.default_rng(7)
    a, b = rng.normal(effect, 1, (20_000, n)), rng.normal(0, 1, (20_000, n))
    result = stats.ttest_1samp(a, 0, axis=1) if paired else stats.ttest_ind(a, b, axis=1)
    return float(np.mean((result.pvalue < 1 - level) & (result.statistic > 0)))


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("effect", "level"), [(1.6, 0.95), (2.5, 0.99)])
def test_n_is_enough_and_one_fewer_is_not(effect: float, level: float, paired: bool) -> None:
    n = seeds_needed(effect, 1.0, level=level, paired=paired)
    assert simulated_power(effect, n, level=level, paired=paired) > 0.795
    assert simulated_power(effect, n - 1, level=level, paired=paired) < 0.805


def test_a_middling_effect_gets_the_power_asked_for() -> None:
    n = seeds_needed(0.7, 1.0, power=0.9)
    assert simulated_power(0.7, n, level=0.95, paired=False) == pytest.approx(0.9, abs=0.012)


@pytest.mark.parametrize("effect", [1e-4, 1e-10])
def test_small_effects_follow_the_normal_formula(effect: float) -> None:
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert seeds_needed(effect, 1.0) == pytest.approx(2 * (z / effect) ** 2, rel=1e-5)
    assert seeds_needed(effect, 1.0, paired=True) == pytest.approx((z / effect) ** 2, rel=1e-5)


def test_plain_cases() -> None:
    assert seeds_needed(1.0, 0.0) == 2
    assert seeds_needed(1e300, 1e-300) == 2


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 3), st.floats(0.5, 0.99))
def test_larger_effects_and_pairs_need_no_more(effect: float, power: float) -> None:
    n = seeds_needed(effect, 1.0, power=power)
    assert seeds_needed(1.1 * effect, 1.0, power=power) <= n
    # Independent arms give differences with sd √2, which pairing must then not make dearer...
    spread = seeds_needed(effect, math.sqrt(2), power=power, paired=True)
    assert n <= spread <= n + 3  # ...but for the degrees of freedom that pairing costs


@pytest.mark.parametrize(
    ("difference", "sd", "power", "level"),
    [
        (0, 1, 0.8, 0.95),
        (math.nan, 1, 0.8, 0.95),
        (1, -1, 0.8, 0.95),
        (1, 1, 1, 0.95),
        (1, 1, 0.8, 0),
    ],
)
def test_refused(difference: float, sd: float, power: float, level: float) -> None:
    with pytest.raises(ValueError, match=r"difference|sd|power|level"):
        seeds_needed(difference, sd, power=power, level=level)


def test_seeds_to_separate_reads_difference_and_spread_off_the_samples() -> None:
    a, b = [1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 2.0]  # squares 2 and 2 over 5 degrees of freedom
    assert seeds_to_separate(a, b) == seeds_needed(1.0, math.sqrt(4 / 5))
    assert seeds_to_separate(a, b, power=0.95) == seeds_needed(1.0, math.sqrt(0.8), power=0.95)
    # differences 1, 1, 2: mean 4/3, squares 2/3 over 2
    expected = seeds_needed(4 / 3, math.sqrt(1 / 3), paired=True, level=0.99)
    assert seeds_to_separate(a, b[:3], paired=True, level=0.99) == expected


def test_arms_that_tie_are_never_separated() -> None:
    assert seeds_to_separate([1, 2, 3], [3, 2, 1]) is None
    assert seeds_to_separate([0.1, 0.2], [0.15, 0.15]) is None  # 1e-17 apart in floating point
    assert seeds_to_separate([0.0, 0.0], [0.0, 0.0]) is None
    assert seeds_to_separate([1, 1], [2, 2]) == 2


def test_refused_samples() -> None:
    with pytest.raises(ValueError, match="two values"):
        seeds_to_separate([1], [1, 2])
    with pytest.raises(ValueError, match="3 and 2"):
        seeds_to_separate([1, 2, 3], [1, 2], paired=True)


@settings(deadline=None)
@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from([0.8, 0.95]))
def test_seeds_for_share_is_where_wilson_first_excludes(p: int, t: int, level: float) -> None:
    assume(p != t)
    estimate, threshold = p / 100, t / 100
    n = seeds_for_share(estimate, threshold, level=level)
    assert n is not None

    def excluded(n: int) -> bool:
        return not share(estimate * n, n, level=level).contains(threshold)

    assert excluded(n)
    assert n == 1 or not excluded(n - 1)


def test_seeds_for_share_edges() -> None:
    assert seeds_for_share(0.4, 0.4) is None
    with pytest.raises(ValueError, match="threshold"):
        seeds_for_share(0.4, 1.4)
    with pytest.raises(ValueError, match="level"):
        seeds_for_share(0.4, 0.5, level=1)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("effect", "n"), [(0.01, 50_000), (0.3, 20), (2.0, 4), (900.0, 2)])
def test_power_is_scipys(effect: float, n: int, paired: bool) -> None:
    df = n - 1 if paired else 2 * n - 2
    shift = effect * math.sqrt(n if paired else n / 2)
    theirs = stats.nct.sf(stats.t.isf(0.025, df), df, shift)
    assert _power(effect, n, level=0.95, paired=paired) == pytest.approx(theirs, abs=1e-9)
