"""Tests of comparisons: p-values by enumeration, equivalence and Holm by their definitions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recombine.stats import compare
from recombine.stats.compare import equivalent, holm, paired, unpaired

SMALL = st.lists(st.integers(-20, 20), min_size=2, max_size=6)
PVALUES = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1), min_size=1)


def two_sided(null: list[float], seen: float) -> float:
    """Twice the smaller tail of an enumerated null distribution."""
    array = np.array(null)
    return min(1.0, 2 * min(np.mean(array >= seen - 1e-9), np.mean(array <= seen + 1e-9)))


@settings(max_examples=30, deadline=None)
@given(SMALL)
def test_paired_p_enumerates_all_signs(d) -> None:
    flips = itertools.product([-1, 1], repeat=len(d))
    expected = two_sided([float(np.mean(np.multiply(s, d))) for s in flips], float(np.mean(d)))
    comparison = paired(np.array(d) + 7, np.full(len(d), 7))
    assert comparison.p == pytest.approx(expected)
    assert f"all {2 ** len(d)} sign flips" in comparison.method
    assert comparison.difference.contains(float(np.mean(d)))


@settings(max_examples=20, deadline=None)
@given(SMALL, SMALL)
def test_unpaired_p_enumerates_all_splits(a, b) -> None:
    pool = np.array(a + b, dtype=float)
    null = []
    for chosen in itertools.combinations(range(len(pool)), len(a)):
        mask = np.isin(np.arange(len(pool)), chosen)
        null.append(pool[mask].mean() - pool[~mask].mean())
    comparison = unpaired(a, b)
    assert comparison.p == pytest.approx(two_sided(null, np.mean(a) - np.mean(b)))
    assert comparison.difference.estimate == pytest.approx(np.mean(a) - np.mean(b))
    wins = np.sign(np.subtract.outer(a, b)) / 2 + 0.5
    assert comparison.effect_size == pytest.approx(wins.mean())


def test_p_is_scipys() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(0.4, 1, 7), rng.normal(0, 1, 7)

    def difference(x, y, axis):
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)

    flips = stats.permutation_test((a - b,), np.mean, permutation_type="samples")
    assert paired(a, b).p == pytest.approx(flips.pvalue)
    shuffles = stats.permutation_test((a[:6], b), difference)
    assert unpaired(a[:6], b).p == pytest.approx(shuffles.pvalue)


@pytest.mark.parametrize("gap", [0.0, 0.3, 0.6])
def test_random_permutations_agree_with_the_t_test(gap: float) -> None:
    rng = np.random.default_rng(8)
    a, b = rng.normal(gap, 1, 60), rng.normal(0, 1, 60)
    assert paired(a, b).p == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.015)
    assert unpaired(a, b).p == pytest.approx(stats.ttest_ind(a, b).pvalue, abs=0.015)
    assert "9999 random" in paired(a, b).method


def test_pairing_sees_what_seeds_share() -> None:
    rng = np.random.default_rng(1)
    seed = rng.normal(0, 5, 20)
    a, b = seed + rng.normal(0.5, 0.3, 20), seed
    assert paired(a, b).p < 0.001 and paired(a, b).difference.above(0)
    assert unpaired(a, b).p > 0.3 and unpaired(a, b).difference.contains(0)


def test_effect_sizes() -> None:
    a, b = np.array([3.0, 5.0, 4.0, 8.0]), np.array([1.0, 4.0, 4.0, 2.0])
    # differences 2, 1, 0, 6: mean 9/4, sum of squares 41 - 81/4 = 83/4 over 3 degrees of freedom
    assert paired(a, b).effect_size == pytest.approx(2.25 / math.sqrt(83 / 12))
    u = stats.mannwhitneyu(a, b).statistic
    assert unpaired(a, b).effect_size == pytest.approx(u / 16)
    assert paired([2, 2, 2], [1, 1, 1]).effect_size == math.inf
    assert paired([1, 1, 1], [2, 2, 2]).effect_size == -math.inf
    assert paired(a, a).effect_size == 0 and paired(a, a).p == 1


def test_swapping_the_arms_changes_the_sign_only() -> None:
    a, b = [3, 5, 4, 8, 9], [1, 4, 4, 2]
    there, back = unpaired(a, b), unpaired(b, a)
    assert there.difference.estimate == pytest.approx(-back.difference.estimate)
    assert there.p == pytest.approx(back.p)
    assert there.effect_size == pytest.approx(1 - back.effect_size)
    assert (there.n, back.n, there.difference.n) == ((5, 4), (4, 5), 4)


def test_order_of_seeds_does_not_matter() -> None:
    rng = np.random.default_rng(9)
    a, b, order = rng.normal(size=30), rng.normal(size=30), rng.permutation(30)
    assert paired(a[order], b[order]) == paired(a, b)
    assert unpaired(a[order], b) == unpaired(a, b)


@pytest.mark.parametrize("comparison", [paired([1], [2]), unpaired([1], [2, 3])])
def test_one_value_settles_nothing(comparison) -> None:
    assert comparison.p == 1
    assert math.isnan(comparison.difference.low)


def test_refused_arms() -> None:
    with pytest.raises(ValueError, match=r"2 and 3.*unpaired"):
        paired([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="1 of 2 b are NaN"):
        unpaired([1, 2], [1, np.nan])
    with pytest.raises(ValueError, match="as many values"):
        equivalent([1, 2], [1, 2, 3], margin=1, paired=True)
    with pytest.raises(ValueError, match="margin"):
        equivalent([1, 2], [1, 2], margin=0, paired=True)
    with pytest.raises(ValueError, match="alpha"):
        equivalent([1, 2], [1, 2], margin=1, paired=True, alpha=0.5)


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("margin", [0.2, 0.5, 2.0])
def test_equivalence_is_two_one_sided_t_tests(pairs: bool, margin: float) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.2, 1, 30), rng.normal(0, 2, 30)
    options = {} if pairs else {"equal_var": False}
    test = stats.ttest_rel if pairs else stats.ttest_ind
    expected = max(
        test(a + margin, b, alternative="greater", **options).pvalue,
        test(a - margin, b, alternative="less", **options).pvalue,
    )
    result = equivalent(a, b, margin=margin, paired=pairs)
    interval = test(a, b, **options).confidence_interval(0.9)
    assert result.p == pytest.approx(expected)
    assert (result.interval.low, result.interval.high) == pytest.approx(tuple(interval))
    assert result.interval.level == pytest.approx(0.9)


@settings(deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=9), st.floats(0.01, 5), st.booleans())
def test_equivalence_holds_just_when_the_interval_is_inside(a, margin: float, pairs: bool) -> None:
    result = equivalent(a, np.linspace(-1, 1, len(a)), margin=margin, paired=pairs)
    nearest = margin - max(-result.interval.low, result.interval.high)
    assert result.holds == (nearest > 0) or abs(nearest) < 1e-9


@pytest.mark.parametrize("pairs", [True, False])
def test_equivalence_errs_no_more_often_than_alpha(pairs: bool) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(1, 1, (1000, 20)), rng.normal(0, 2, (1000, 20))  # just as far as the margin
    wrong = [
        equivalent(x, y, margin=1, paired=pairs, alpha=0.1).holds for x, y in zip(a, b, strict=True)
    ]
    assert np.mean(wrong) == pytest.approx(0.1, abs=0.025)


def test_equivalence_without_spread_or_with_one_value() -> None:
    same = equivalent([0.3] * 4, [0.3] * 3, margin=0.1, paired=False)
    apart = equivalent([0.5] * 3, [0.3] * 3, margin=0.1, paired=True)
    single = equivalent([0.3], [0.3, 0.4], margin=9, paired=False)
    assert same.holds and same.p == 0 and same.interval.contains(0)
    assert not apart.holds and apart.p == 1
    assert not single.holds and single.p == 1 and math.isnan(single.interval.low)
    assert not equivalent([0.3], [0.3], margin=9, paired=True).holds


@settings(deadline=None)
@given(PVALUES)
def test_holm_is_closed_testing_with_bonferroni(pvalues) -> None:
    adjusted = holm(pvalues)
    assert list(adjusted) == list(pvalues)
    for name in pvalues:
        families = [
            family
            for size in range(1, len(pvalues) + 1)
            for family in itertools.combinations(pvalues, size)
            if name in family
        ]
        worst = max(min(1.0, len(f) * min(pvalues[k] for k in f)) for f in families)
        assert adjusted[name] == pytest.approx(worst)


@settings(deadline=None)
@given(PVALUES)
def test_holm_laws(pvalues) -> None:
    adjusted = holm(pvalues)
    ordered = [adjusted[name] for name in sorted(pvalues, key=lambda k: (pvalues[k], adjusted[k]))]
    assert ordered == sorted(ordered)
    assert all(pvalues[k] <= adjusted[k] <= min(1, len(pvalues) * pvalues[k]) for k in pvalues)
    assert holm(dict(reversed(pvalues.items()))) == adjusted


def test_holm_by_hand_and_refused() -> None:
    assert holm({"a": 0.04, "b": 0.01, "c": 0.03}) == pytest.approx(
        {"a": 0.06, "b": 0.03, "c": 0.06}
    )
    assert holm({}) == {}
    with pytest.raises(ValueError, match="'bad'"):
        holm({"bad": math.nan})


def test_exact_tests_reach_as_far_as_documented() -> None:
    assert 2**13 <= compare.PERMUTATIONS < 2**14
    assert math.comb(14, 7) <= compare.PERMUTATIONS < math.comb(16, 8)


@pytest.mark.parametrize(("n", "m"), [(4, 9), (19, 300)])
def test_the_difference_of_small_groups_is_in_welchs_interval(n: int, m: int) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(1, 2, n), rng.normal(0, 1, m)
    theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    ours = unpaired(a, b).difference
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
