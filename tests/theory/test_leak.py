"""The leak's slopes and constants against brute-force fits at random parameters."""

import numpy as np
import pytest

from recombine.errors import BadValue
from recombine.theory.conjunctions import kernel_matrix
from recombine.theory.kernel_fit import ridge
from recombine.theory.leak import leak, slope, slopes
from recombine.theory.salience import kernel_of_subsets


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("intercept", [False, True])
def test_held_out_answers_are_a_shrunken_copy(seed: int, intercept: bool) -> None:
    """Unequal values, sizes, trained sets and saliences, with a base and a penalty."""
    rng = np.random.default_rng(seed)
    n = tuple(int(k) for k in rng.integers(4, 9, 2))
    values = rng.standard_normal(n[0]), rng.standard_normal(n[1])
    trained = tuple(rng.permutation(k)[: int(rng.integers(1, 4))].tolist() for k in n)
    s = rng.dirichlet(np.ones(3))
    base, penalty = rng.random() * (seed % 2), rng.random() * (seed % 3)
    z = np.indices(n).reshape(2, -1).T
    train = np.isin(z[:, 0], trained[0]) | np.isin(z[:, 1], trained[1])
    y = values[0][z[:, 0]] + values[1][z[:, 1]]
    kappa = kernel_of_subsets(np.array([0, s[0], s[1], s[2]]), base=base)
    kernel = kernel_matrix(kappa, z, z[train])
    fit = ridge(kernel[train], y[train], penalty=penalty, intercept=intercept)
    found = leak(values, trained, (s[0], s[1]), base=base, penalty=penalty, intercept=intercept)
    m1, m2 = found.slopes
    expected = m1 * values[0][z[:, 0]] + m2 * values[1][z[:, 1]] + found.offset
    assert fit.predict(kernel)[~train] == pytest.approx(expected[~train], abs=1e-8)


@pytest.mark.parametrize("saliences", [(1.0, 0.0), (0.0, 1.0), (0.7, 0.3)])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_factor_that_is_not_coded_counts_with_its_trained_mean(
    saliences: tuple[float, float], intercept: bool
) -> None:
    values, trained = (np.array([3.0, 0, 1]), np.array([1.0, 2, 5, 7])), ([0], [1, 2])
    z = np.indices((3, 4)).reshape(2, -1).T
    train = np.isin(z[:, 0], trained[0]) | np.isin(z[:, 1], trained[1])
    y = values[0][z[:, 0]] + values[1][z[:, 1]]
    kernel = kernel_matrix(kernel_of_subsets(np.array([0, *saliences, 0])), z, z[train])
    fit = ridge(kernel[train], y[train], intercept=intercept)
    found = leak(values, trained, saliences, intercept=intercept)
    m1, m2 = found.slopes
    expected = m1 * values[0][z[:, 0]] + m2 * values[1][z[:, 1]] + found.offset
    assert fit.predict(kernel)[~train] == pytest.approx(expected[~train])
    assert found.offset == {1.0: 3.5, 0.0: 3.0, 0.7: 0.0}[saliences[0]]


def test_the_constants_of_the_notes() -> None:
    v = np.arange(9) - 4.0
    alone = leak((v, v), ([0], [0]), (0.3, 0.3))
    free = leak((v, v), ([0], [0]), (0.3, 0.3), intercept=True)
    assert alone.offset == pytest.approx(-0.826, abs=5e-4)
    assert free.offset == pytest.approx(-2.839, abs=5e-4)
    for trained in ([4], [0, 8], [2, 6], [0, 4, 8], [2, 3, 5, 6]):
        assert leak((v, v), (trained, trained), (0.2, 0.2)).offset == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize("s", [0.0, 0.1, 0.3, 0.45, 0.5])
def test_two_alike_factors_are_the_printed_form(p: int, s: float) -> None:
    assert slope(p, s) == pytest.approx(p * s / (1 + (p - 2) * s))


def test_the_slope_is_one_only_for_an_additive_code() -> None:
    assert slope(1, 0.5) == 1
    assert leak(([0, 1, 2], [0, 1, 5]), ([0], [1]), (0.5, 0.5)).offset == 0
    assert slope(3, 0.49) < 1
    assert slope(1, 0.5, penalty=0.1) < 1


def test_factors_are_told_apart() -> None:
    first, second = slopes((1, 3), (0.1, 0.4))
    assert first == pytest.approx(3 * 0.1 / (0.5 + 3 * 0.1))
    assert second == pytest.approx(0.4 / (0.5 + 0.4))


def test_impossible_saliences_are_refused() -> None:
    with pytest.raises(BadValue, match="at most 1"):
        slope(1, 0.6)
    with pytest.raises(BadValue, match="0 to 2"):
        leak(([0, 1, 2], [0, 1, 2]), ([5], [0]), (0.3, 0.3))
    with pytest.raises(BadValue, match="at least one"):
        leak(([0, 1, 2], [0, 1, 2]), ([], [0]), (0.3, 0.3))
    with pytest.raises(BadValue, match="0 or more"):
        slope(1, 0.3, penalty=-1)


def test_a_code_that_is_additive_but_for_rounding_leaks_nothing() -> None:
    values, sets = ([1.0, 2, 5, 7], [3.0, -1, 2, 9]), ([0, 2], [1])
    found = leak(values, sets, (0.5, 0.5 - 1.2e-16), intercept=True)
    assert found.slopes == pytest.approx((1, 1)) and found.offset == pytest.approx(0)
    near = leak(values, sets, (0.5, 0.5 - 1e-9), intercept=True)
    assert near.offset == pytest.approx(0, abs=1e-6)


def test_what_is_no_salience_or_item_is_refused(unchecked: None) -> None:
    with pytest.raises(BadValue, match="saliences"):
        slope(2, float("nan"))
    with pytest.raises(BadValue, match="penalty"):
        slope(2, 0.3, penalty=float("nan"))
    with pytest.raises(BadValue, match="numbers of items"):
        leak(([1, 2, 3], [1, 2]), ([True, False, False], [True, False]), (0.3, 0.3))
