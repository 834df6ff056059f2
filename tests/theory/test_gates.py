"""Gates: contexts number the sides of hyperplanes; a median cuts the points in half."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recombine.theory import gates


@given(st.integers(0, 99), st.integers(1, 4), st.integers(0, 3))
def test_every_point_is_in_one_context_of_each_unit(seed: int, units: int, planes: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((7, 3))
    context = gates.contexts(x, *gates.hyperplanes(units, planes, 3, rng))
    on = gates.indicators(context, 2**planes)
    assert on.shape == (7, units, 2**planes)
    assert (on.sum(2) == 1).all()


def test_contexts_are_binary_numbers_of_sides() -> None:
    normals = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    x = np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    assert gates.contexts(x, normals, np.zeros((1, 2)))[:, 0].tolist() == [0, 1, 2, 3]


def test_a_median_cuts_the_points_in_half() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 5))
    normals, _ = gates.hyperplanes(6, 2, 5, rng)
    sides = np.einsum("nd,hpd->nhp", x, normals) > gates.medians(normals, x)
    assert (sides.sum(0) == 20).all()


def test_without_points_a_median_is_zero() -> None:
    normals, _ = gates.hyperplanes(2, 1, 3, np.random.default_rng(0))
    assert not gates.medians(normals, np.zeros((0, 3))).any()


def test_hyperplanes_have_the_papers_spread() -> None:
    normals, thresholds = gates.hyperplanes(200, 4, 50, np.random.default_rng(0))
    np.testing.assert_allclose(normals.std(), 36, rtol=0.02)
    np.testing.assert_allclose(thresholds.std(), 9, rtol=0.1)
