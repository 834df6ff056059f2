"""Tests of verdicts: every place an interval can lie, and what correction takes back."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.stats.compare import Comparison, paired
from recombine.stats.intervals import Interval, mean
from recombine.stats.verdicts import above, adjust, below, equal_within, greater

NUMBERS = st.floats(-5, 5)


def interval(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 0.95, 12, "by hand")


@pytest.mark.parametrize(
    ("low", "high", "against", "outcome"),
    [
        (0.6, 0.7, None, "reproduced"),
        (0.3, 0.4, None, "contradicted"),
        (0.4, 0.6, None, "inconclusive"),
        (0.5, 0.6, None, "inconclusive"),
        (0.4, 0.5, None, "inconclusive"),
        (0.3, 0.4, 0.35, "inconclusive"),
        (0.1, 0.2, 0.35, "contradicted"),
        (0.6, 0.7, 0.35, "reproduced"),
    ],
)
def test_above(low: float, high: float, against: float | None, outcome: str) -> None:
    verdict = above(interval(low, high), 0.5, against=against)
    assert verdict.outcome == outcome
    assert interval(low, high).text() in verdict.reason
    assert f"{0.35 if outcome == 'contradicted' and against else 0.5:g}" in verdict.reason
    assert (verdict.effect, verdict.n, verdict.method) == ((low + high) / 2, 12, "by hand")


@settings(deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS, st.none() | st.floats(0, 2))
def test_below_mirrors_above(x: float, y: float, threshold: float, gap: float | None) -> None:
    low, high = sorted([x, y])
    up = above(interval(low, high), threshold, against=None if gap is None else threshold - gap)
    down = below(
        interval(-high, -low), -threshold, against=None if gap is None else gap - threshold
    )
    assert down.outcome == up.outcome


def test_below_says_where() -> None:
    assert below(interval(0.1, 0.2), 0.5).outcome == "reproduced"
    assert "wholly below 0.5" in below(interval(0.1, 0.2), 0.5).reason
    assert "wholly above 0.8" in below(interval(0.9, 1.0), 0.5, against=0.8).reason
    assert "below 0.5 nor wholly above 0.8" in below(interval(0.6, 0.7), 0.5, against=0.8).reason


def test_against_may_not_overlap_the_claim() -> None:
    with pytest.raises(ValueError, match="against"):
        above(interval(0, 1), 0.5, against=0.6)
    with pytest.raises(ValueError, match="against"):
        below(interval(0, 1), 0.5, against=0.4)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.8, 0.9, "reproduced"),
        (0.75, 1.0, "reproduced"),
        (0.5, 0.6, "contradicted"),
        (1.1, 1.2, "contradicted"),
        (0.7, 0.8, "inconclusive"),
        (0.9, 1.1, "inconclusive"),
        (0.5, 1.2, "inconclusive"),
    ],
)
def test_equal_within(low: float, high: float, outcome: str) -> None:
    verdict = equal_within(interval(low, high), 0.875, 0.125)
    assert verdict.outcome == outcome
    assert "0.875 ± 0.125" in verdict.reason


def test_equal_within_refuses_a_negative_margin() -> None:
    with pytest.raises(ValueError, match="margin"):
        equal_within(interval(0, 1), 0.5, -0.1)


@pytest.mark.parametrize(
    "verdict",
    [
        above(mean([0.9]), 0.5),
        below(mean([0.9]), 0.5),
        equal_within(mean([0.9]), 0.9, 1),
        greater(paired([2], [1])),
    ],
)
def test_one_seed_is_inconclusive(verdict) -> None:
    assert (verdict.outcome, verdict.reason, verdict.n) == ("inconclusive", "one seed", 1)


def compared(low: float, high: float, p: float) -> Comparison:
    return Comparison(interval(low, high), p, 1.0, (12, 12), "paired by hand")


@pytest.mark.parametrize(
    ("low", "high", "p", "outcome"),
    [
        (0.1, 0.3, 0.01, "reproduced"),
        (-0.3, -0.1, 0.01, "contradicted"),
        (-0.1, 0.3, 0.2, "inconclusive"),
        (0.1, 0.3, 0.06, "inconclusive"),
        (-0.1, 0.3, 0.01, "inconclusive"),
    ],
)
def test_greater(low: float, high: float, p: float, outcome: str) -> None:
    verdict = greater(compared(low, high, p))
    assert verdict.outcome == outcome
    assert verdict.method == "paired by hand"
    assert greater(compared(low, high, p), alpha=0.001).outcome == "inconclusive"


def test_five_pairs_cannot_decide_but_eight_can() -> None:
    d = np.linspace(1, 2, 8)
    few = greater(paired(d[:5], np.zeros(5)))
    assert few.interval.above(0) and few.outcome == "inconclusive"
    assert "p = 0.0625 exceeds 0.05" in few.reason
    assert greater(paired(d, np.zeros(8))).outcome == "reproduced"
    assert greater(paired(-d, np.zeros(8))).outcome == "contradicted"


def test_greater_is_seldom_decided_without_a_difference() -> None:
    samples = np.random.default_rng(3).normal(size=(200, 8))
    decided = [greater(paired(row, np.zeros(8))).outcome != "inconclusive" for row in samples]
    assert 0.01 < np.mean(decided) < 0.08


def test_adjust_takes_back_what_holm_does_not_grant() -> None:
    yes, no = above(interval(0.6, 0.7), 0.5), above(interval(0.3, 0.4), 0.5)
    open_ = above(interval(0.4, 0.6), 0.5)
    corrected = adjust({"a": (yes, 0.001), "b": (no, 0.03), "c": (yes, 0.04), "d": (open_, 0.9)})
    assert list(corrected) == ["a", "b", "c", "d"]
    assert corrected["a"] == yes and corrected["d"] == open_
    for name, before, p in [("b", no, "0.09"), ("c", yes, "0.09")]:
        note = f" But after Holm's correction over 4 claims p = {p} exceeds 0.05."
        expected = replace(before, outcome="inconclusive", reason=before.reason + note)
        assert corrected[name] == expected


def test_adjust_alone_or_at_another_alpha() -> None:
    yes = above(interval(0.6, 0.7), 0.5)
    assert adjust({"a": (yes, 0.04)}) == {"a": yes}
    assert adjust({"a": (yes, 0.04)}, alpha=0.01)["a"].outcome == "inconclusive"
    with pytest.raises(ValueError, match="p-value"):
        adjust({"a": (yes, math.nan)})
