"""The theorem on random tasks, kernels and fits; the metric against tables that are or are not."""

import numpy as np
import pytest

from recombine.errors import BadValue
from recombine.theory.additivity import (
    additivity,
    indicators,
    is_additive,
    magnitudes,
    seen,
)
from recombine.theory.conjunctions import accumulate, kernel_matrix
from recombine.theory.kernel_fit import hard_margin, least_norm, ridge


@pytest.mark.parametrize("seed", range(5))
def test_every_kernel_model_adds_up_seen_conjunctions(seed: int) -> None:
    """Random saliences by subset, 40% of the combinations, three kinds of fit, any duals at all."""
    rng = np.random.default_rng(seed)
    z = np.indices((3, 4, 3)).reshape(3, -1).T
    kappa = accumulate(rng.random(8))
    train = rng.random(len(z)) < 0.4
    kernel = kernel_matrix(kappa, z, z[train])
    y, labels = rng.standard_normal(train.sum()), np.sign(rng.standard_normal(train.sum()))
    inner = kernel[train]
    answers = [
        least_norm(inner, y, intercept=True).predict(kernel),
        ridge(inner, y, penalty=0.3).predict(kernel),
        hard_margin(inner, labels).predict(kernel),
        kernel @ rng.standard_normal(train.sum()),
    ]
    for table in answers:
        assert additivity(table, z, train).residual_test < 1e-8


def test_a_rectangle_of_unseen_pairs_is_a_sum() -> None:
    rng = np.random.default_rng(0)
    z = np.indices((6, 6)).reshape(2, -1).T
    train = (z == 0).any(axis=1)
    kernel = kernel_matrix(accumulate(rng.random(4)), z, z[train])
    f = least_norm(kernel[train], rng.standard_normal(train.sum())).predict(kernel).reshape(6, 6)
    assert f[2, 3] + f[4, 5] == pytest.approx(f[2, 5] + f[4, 3])


def test_sums_are_additive_and_exclusive_or_is_not() -> None:
    z = np.indices((4, 4)).reshape(2, -1).T
    train = (z == 0).any(axis=1)
    total = z[:, 0] + 3.0 * z[:, 1] ** 2
    parity = (-1.0) ** (z.sum(axis=1))
    assert is_additive(total, z, train)
    assert not is_additive(parity, z, train)
    found = additivity(parity, z, train)
    assert found.r2_train == pytest.approx(1)
    assert found.r2_test < 0.5
    assert is_additive(parity, z, np.ones(16, dtype=bool))  # nothing is held out


def test_a_table_that_is_seen_in_pairs_is_additive_in_pairs() -> None:
    """Parity of two of three factors, whose pairs were seen, or were not."""
    z = np.indices((3, 3, 2)).reshape(3, -1).T
    parity = (-1.0) ** (z[:, 0] + z[:, 1])
    assert is_additive(parity, z, z[:, 2] == 0)
    assert not is_additive(parity, z, (z[:, :2] == 0).any(axis=1))


def test_conjunctions_are_those_of_training() -> None:
    z = np.array([[0, 0], [0, 1]])
    names = [(c.components, c.values) for c in seen(z)]
    assert names == [((0,), (0,)), ((1,), (0,)), ((1,), (1,)), ((0, 1), (0, 0)), ((0, 1), (0, 1))]
    design = indicators(np.array([[0, 0], [1, 1]]), seen(z))
    assert design.tolist() == [[1, 1, 0, 1, 0], [0, 0, 1, 0, 0]]
    assert len(seen(z, order=1)) == 3


def test_magnitudes_are_shares() -> None:
    z = np.indices((3, 3)).reshape(2, -1).T
    found = additivity(z[:, 0].astype(float), z, (z == 0).any(axis=1))
    first = np.array([c.components == (0,) for c in found.conjunctions])
    shares = magnitudes(found, [("first", first), ("rest", ~first)])
    assert shares["first"] + shares["rest"] == pytest.approx(1)
    assert shares["first"] > shares["rest"]


def test_a_constant_has_no_share_of_variance() -> None:
    z = np.indices((3, 3)).reshape(2, -1).T
    found = additivity(np.ones(9), z, (z == 0).any(axis=1))
    assert np.isnan(found.r2_test) and found.residual_test < 1e-9


def test_wrong_calls_are_refused() -> None:
    z = np.indices((2, 2)).reshape(2, -1).T
    with pytest.raises(BadValue, match="1 to 2"):
        seen(z, order=3)
    with pytest.raises(BadValue, match="a mark a row"):
        additivity(np.ones(4), z, np.zeros(4, dtype=bool))


def test_additivity_goes_by_the_size_of_the_numbers() -> None:
    z = np.indices((4, 4)).reshape(2, -1).T
    train = (z == 0).any(axis=1)
    board = (-1.0) ** z.sum(axis=1)
    for scale in (1e-7, 1.0, 1e7):
        assert not is_additive(scale * board, z, train)
        assert is_additive(scale * z.sum(axis=1), z, train)


def test_numbers_do_not_mark_rows(unchecked: None) -> None:
    z = np.indices((4, 4)).reshape(2, -1).T
    with pytest.raises(BadValue, match="true or false"):
        additivity(z.sum(axis=1).astype(float), z, (z == 0).any(axis=1).astype(int))


def test_the_form_is_not_enough() -> None:
    """Trained on a diagonal, no kernel model gives both factors values of their own."""
    z = np.indices((4, 4)).reshape(2, -1).T
    train = z[:, 0] == z[:, 1]
    first, second = np.array([0.0, 1, 5, 2]), np.array([0.0, 3, -1, 1])
    table = first[z[:, 0]] + second[z[:, 1]]
    assert is_additive(table, z, train)
    # f = b + S₁ a_i + S₂ a_j for any kernel and duals: both factors have the same values but for
    # a share t of them, and the least squares over t stay far from zero
    left = []
    for share in [*np.linspace(-20, 20, 401), 1e6]:
        one_hot = np.eye(4)
        design = np.c_[np.ones(16), one_hot[z[:, 0]] + share * one_hot[z[:, 1]]][~train]
        solved = np.linalg.lstsq(design, table[~train], rcond=None)[0]
        left.append(((table[~train] - design @ solved) ** 2).sum())
    assert min(left) > 9
