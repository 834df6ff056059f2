"""Participation ratio and shared dimensions of representations whose answer is known."""

import math

import numpy as np
import pytest

from recombine.theory.dimensionality import participation_ratio, shared_dimensions

RNG = np.random.default_rng(0)
FLAT = np.linalg.qr(RNG.standard_normal((50, 6)))[0]
"""Six equally strong, orthogonal features."""


def test_equal_directions_are_counted_whatever_their_basis() -> None:
    turn = np.linalg.qr(RNG.standard_normal((6, 6)))[0]
    assert participation_ratio(FLAT) == pytest.approx(6)
    assert participation_ratio(3 * FLAT @ turn) == pytest.approx(6)
    assert participation_ratio(FLAT[:, :1] @ np.ones((1, 4))) == pytest.approx(1)
    uneven = FLAT * np.array([1, 1, 0.5, 0, 0, 0])  # squares 1, 1, 1/4
    assert participation_ratio(uneven) == pytest.approx(2.25**2 / (2 + 1 / 16))


def test_the_same_a_subset_and_nothing_in_common() -> None:
    subset = FLAT * np.array([1, 1, 0, 0, 0, 0])
    rest = FLAT * np.array([0, 0, 1, 1, 1, 1])
    some = RNG.standard_normal((50, 6))
    assert shared_dimensions(some, 2 * some) == pytest.approx(participation_ratio(some))
    assert shared_dimensions(FLAT, subset) == pytest.approx(2)
    assert shared_dimensions(rest, subset) == pytest.approx(0, abs=1e-12)


def test_nothing_has_no_dimensions() -> None:
    assert math.isnan(participation_ratio(np.zeros((5, 3))))
    assert math.isnan(participation_ratio(np.zeros((0, 3))))
    assert math.isnan(shared_dimensions(FLAT, np.zeros((50, 6))))
