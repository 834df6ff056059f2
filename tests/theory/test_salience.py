"""Salience against its identity, its inverse and a representation built by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import BadValue
from recombine.theory.conjunctions import kernel_matrix
from recombine.theory.salience import (
    complete,
    kernel_of,
    kernel_of_subsets,
    measured_kernel,
    measured_salience,
    salience,
    subset_salience,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6))
def test_saliences_sum_to_one_with_binomial_weights(steps: list[float]) -> None:
    found = salience(np.cumsum(steps))
    factors = len(found)
    assert sum(math.comb(factors, k + 1) * s for k, s in enumerate(found)) == pytest.approx(1)


def test_two_factors_are_the_printed_fraction() -> None:
    k0, k1, k2 = 0.2, 0.5, 1.4
    assert salience([k0, k1, k2]) == pytest.approx([0.25, 0.5])
    assert (k1 - k0) / (k2 - k0) == pytest.approx(0.25)


def test_three_factors_are_the_printed_differences() -> None:
    k1, k2 = 0.3, 0.7
    assert salience([0, k1, k2, 1]) == pytest.approx([k1, k2 - 2 * k1, 1 - 3 * k2 + 3 * k1])


def test_a_kernel_has_the_saliences_it_was_made_of() -> None:
    wanted = complete(0.15, 0.1)
    kappa = kernel_of(wanted, base=0.4)
    assert salience([kappa[0], kappa[1], kappa[3], kappa[7]]) == pytest.approx(wanted)
    each = np.array([0.0, 0.3, 0.2, 0.5])
    assert subset_salience(kernel_of_subsets(each, base=2.0))[1:] == pytest.approx(each[1:])


def test_a_representation_has_the_salience_of_its_features() -> None:
    """Features √s_J onehot(z_J) for two factors, built by hand."""
    z = np.indices((4, 5)).reshape(2, -1).T
    one, two = np.eye(4)[z[:, 0]], np.eye(5)[z[:, 1]]
    both = np.eye(20)[z[:, 0] * 5 + z[:, 1]]
    h = np.concatenate([np.sqrt(0.2) * one, np.sqrt(0.3) * two, np.sqrt(0.5) * both], axis=1)
    assert measured_kernel(h @ h.T, z) == pytest.approx([0, 0.2, 0.3, 1.0])
    assert measured_salience(h @ h.T, z) == pytest.approx([0.25, 0.5])
    stacked = measured_salience(np.stack([h @ h.T, 2 * h @ h.T + 1]), z)
    assert stacked == pytest.approx(np.array([[0.25, 0.5]] * 2))


def test_what_tells_nothing_apart_has_no_salience() -> None:
    z = np.indices((2, 2)).reshape(2, -1).T
    assert np.isnan(measured_salience(np.ones((4, 4)), z)).all()
    nearly = np.ones((4, 4)) + 1e-12 * np.random.default_rng(0).standard_normal((4, 4))
    assert np.isnan(measured_salience(nearly, z)).all()
    assert np.isnan(measured_kernel(np.ones((2, 2)), z[:2])[0])  # no pair differs in both
    with pytest.raises(BadValue, match="larger where all components agree"):
        salience([1, 1, 1])


def test_saliences_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(BadValue, match=r"not 0\.8"):
        kernel_of([0.2, 0.4])
    with pytest.raises(BadValue, match="sum to 1"):
        kernel_of_subsets(np.array([0, 0.1, 0.1, 0.1]))


def test_a_measured_kernel_gives_back_a_structured_one() -> None:
    rng = np.random.default_rng(3)
    kappa = rng.random(8)
    z = np.indices((2, 3, 3)).reshape(3, -1).T
    assert measured_kernel(kernel_matrix(kappa, z, z), z) == pytest.approx(kappa)
