"""Möbius inversion against its definition, and kernels against sums over conjunctions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import BadValue
from recombine.theory.conjunctions import (
    accumulate,
    agreement,
    by_count,
    factors_of,
    is_positive,
    kernel_matrix,
    moebius,
    moebius_by_count,
    sizes,
    subsets,
)


def definition(kappa: np.ndarray, factors: int) -> np.ndarray:
    """s_J = Σ_{I ⊆ J} (−1)^{|J|−|I|} κ_I, subset by subset."""
    out = np.zeros(2**factors)
    for j, members in enumerate(subsets(factors)):
        for size in range(len(members) + 1):
            for inner in combinations(members, size):
                index = sum(1 << c for c in inner)
                out[j] += (-1) ** (len(members) - size) * kappa[index]
    return out


@pytest.mark.parametrize("factors", [1, 2, 3, 5])
def test_inversion_is_its_definition_and_can_be_undone(factors: int) -> None:
    kappa = np.random.default_rng(factors).standard_normal(2**factors)
    assert moebius(kappa) == pytest.approx(definition(kappa, factors), abs=1e-12)
    assert accumulate(moebius(kappa)) == pytest.approx(kappa, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=6))
def test_counting_and_looking_agree(values: list[float]) -> None:
    factors = len(values) - 1
    by_subset = moebius(by_count(values))
    assert by_subset == pytest.approx(moebius_by_count(values)[sizes(factors)], abs=1e-9)


def test_a_kernel_is_the_sum_of_its_conjunctions() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, (20, 3))
    weights = rng.standard_normal(8)
    direct = sum(
        weight * (z[:, None, list(members)] == z[None, :, list(members)]).all(-1)
        for weight, members in zip(weights, subsets(3), strict=True)
    )
    assert kernel_matrix(accumulate(weights), z, z) == pytest.approx(np.asarray(direct))


def test_agreement_names_the_components_that_agree() -> None:
    z = np.array([[0, 1, 2], [0, 0, 2]])
    assert agreement(z, z).tolist() == [[7, 5], [5, 7]]


def test_nonnegative_weights_make_a_positive_kernel() -> None:
    z = np.indices((2, 3, 2)).reshape(3, -1).T
    assert is_positive(accumulate(np.random.default_rng(1).random(8)), z)
    assert not is_positive(by_count([0, 1, 0, 0.1]), z)


@pytest.mark.parametrize("length", [0, 1, 3, 6])
def test_a_table_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(BadValue, match="one a subset"):
        factors_of(np.zeros(length))


def test_a_kernel_of_other_factors_is_refused() -> None:
    with pytest.raises(BadValue, match="8 numbers for 3 factors"):
        kernel_matrix(np.ones(4), np.zeros((2, 3), int), np.zeros((2, 3), int))
    with pytest.raises(BadValue, match="at least two"):
        by_count([1.0])


def test_combinations_of_other_sizes_are_not_spread(unchecked: None) -> None:
    with pytest.raises(BadValue, match="as many on either side"):
        kernel_matrix(by_count([0, 0.5, 1.0]), np.zeros((3, 2), int), np.zeros((2, 1), int))
