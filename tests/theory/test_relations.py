"""Equivalence, ordering, invariance and partial exposure against brute-force fits."""

import numpy as np
import pytest

from recombine.errors import BadValue
from recombine.theory import relations
from recombine.theory.conjunctions import kernel_matrix
from recombine.theory.kernel_fit import hard_margin, ridge
from recombine.theory.salience import complete, kernel_of


def answers(
    z: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    s: float,
    *,
    penalty: float = 0.0,
    intercept: bool = False,
) -> np.ndarray:
    kernel = kernel_matrix(kernel_of(complete(s)), z, z[train])
    fit = ridge(kernel[train], y[train], penalty=penalty, intercept=intercept)
    return np.asarray(fit.predict(kernel))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("classes", "items", "linking"), [(2, 2, 1), (2, 5, 4), (3, 3, 1), (4, 3, 2)]
)
@pytest.mark.parametrize(("s", "penalty"), [(0.1, 0.0), (0.37, 0.0), (0.25, 0.6)])
def test_every_held_out_pair_gets_the_same_answer(
    classes: int, items: int, linking: int, s: float, penalty: float, intercept: bool
) -> None:
    z = np.indices((classes * items,) * 2).reshape(2, -1).T
    y = np.where(z[:, 0] // items == z[:, 1] // items, 1.0, -1.0)
    train = (z % items < linking).any(axis=1)
    f = answers(z, y, train, s, penalty=penalty, intercept=intercept)[~train]
    expected = relations.equivalence_output(
        s, classes=classes, items=items, linking=linking, penalty=penalty, intercept=intercept
    )
    assert f == pytest.approx(np.full(len(f), expected), abs=1e-8)
    assert classes != 2 or expected == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("items", [3, 7, 10])
@pytest.mark.parametrize(("s", "penalty"), [(0.02, 0.0), (0.2, 0.0), (0.5, 0.0), (0.3, 1.5)])
def test_ordering_is_a_hyperbolic_sine(items: int, s: float, penalty: float) -> None:
    z = np.indices((items,) * 2).reshape(2, -1).T
    z = z[z[:, 0] != z[:, 1]]
    y = np.where(z[:, 0] < z[:, 1], 1.0, -1.0)
    train = np.abs(z[:, 0] - z[:, 1]) == 1
    f = answers(z, y, train, s, penalty=penalty)
    table = relations.ordering_table(s, items=items, penalty=penalty)
    assert f[~train] == pytest.approx(table[z[~train, 0], z[~train, 1]], abs=1e-8)
    assert (f * y > 0).all()
    from_first = table[0, 1:]
    assert (np.diff(from_first) > 0).all()


def test_ordering_of_an_additive_code_is_distance() -> None:
    assert relations.ordering_table(0.5, items=5)[1, 4] == pytest.approx(3)


def test_ordering_survives_a_lookup_table() -> None:
    assert not relations.ordering_values(0.0).any()
    tiny = relations.ordering_values(1e-130, items=9)
    assert np.isfinite(tiny).all() and tiny[0] == pytest.approx(1e-130, rel=1e-3)


@pytest.mark.parametrize("k", [0.05, 0.3, 0.5])
def test_two_by_two_items(k: float) -> None:
    z = np.indices((2, 2)).reshape(2, -1).T
    y = 2.0 * z[:, 0] - 1
    second = z[:, 1] == 0
    f = answers(z, y, second, k)
    assert (y * f)[~second] == pytest.approx([relations.invariance_margin(k)] * 2)
    three = ~(z == 1).all(axis=1)
    for intercept in (False, True):
        f = answers(z, y, three, k, intercept=intercept)
        expected = relations.partial_exposure_margin(k, intercept=intercept)
        assert f[3] == pytest.approx(expected)


def test_invariance_of_a_largest_margin_is_the_same() -> None:
    z = np.indices((2, 2)).reshape(2, -1).T
    y = 2.0 * z[:, 0] - 1
    train = z[:, 1] == 0
    kernel = kernel_matrix(kernel_of(complete(0.3)), z, z[train])
    f = hard_margin(kernel[train], y[train]).predict(kernel)
    assert (y * f)[~train] == pytest.approx([relations.invariance_margin(0.3)] * 2)


def test_impossible_values_are_refused() -> None:
    with pytest.raises(BadValue, match=r"0 to 0\.5"):
        relations.ordering_values(0.7)
    with pytest.raises(BadValue, match="does not link"):
        relations.equivalence_output(0.3, items=2, linking=2)
    with pytest.raises(BadValue, match="not both 0"):
        relations.invariance_margin(0.0, 0.0)
    with pytest.raises(BadValue, match="at least 2"):
        relations.ordering_values(0.3, items=1)


def test_a_negative_penalty_is_refused() -> None:
    with pytest.raises(BadValue, match="penalty"):
        relations.invariance_margin(0.3, penalty=-0.5)
