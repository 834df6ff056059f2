"""Exact fits against closed equations, generic minimisers and scikit-learn's machine."""

import numpy as np
import pytest
from sklearn.svm import SVC  # type: ignore[import-untyped, unused-ignore]

from recombine.errors import BadValue
from recombine.theory.conjunctions import kernel_matrix
from recombine.theory.kernel_fit import hard_margin, least_norm, ridge
from recombine.theory.salience import complete, kernel_of


def problem(seed: int, n: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernel of distinct combinations of three factors, random targets, random labels."""
    rng = np.random.default_rng(seed)
    every = np.indices((4, 4, 4)).reshape(3, -1).T
    z = every[rng.permutation(len(every))[:n]]
    kappa = kernel_of(complete(0.12, 0.1), base=0.3)
    return kernel_matrix(kappa, z, z), rng.standard_normal(n), np.sign(rng.standard_normal(n))


@pytest.mark.parametrize("seed", range(3))
def test_ridge_is_the_textbook_solution(seed: int) -> None:
    kernel, y, _ = problem(seed)
    fit = ridge(kernel, y, penalty=0.7)
    assert fit.dual == pytest.approx(np.linalg.solve(kernel + 0.7 * np.eye(len(y)), y))
    with_b = ridge(kernel, y, penalty=0.7, intercept=True)
    n = len(y)
    bordered = np.block([[kernel + 0.7 * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), 0]])
    solved = np.linalg.solve(bordered, np.append(y, 0))
    assert with_b.dual == pytest.approx(solved[:n])
    assert with_b.intercept == pytest.approx(solved[n])


@pytest.mark.parametrize("intercept", [False, True])
def test_least_norm_is_the_limit_of_ridge(intercept: bool) -> None:
    kernel, y, _ = problem(4)
    fit = least_norm(kernel, y, intercept=intercept)
    near = ridge(kernel, y, penalty=1e-9, intercept=intercept)
    assert fit.fits and fit.predict(kernel) == pytest.approx(y, abs=1e-9)
    assert fit.dual == pytest.approx(near.dual, abs=1e-5)


def test_targets_out_of_reach_are_said_to_be() -> None:
    """A purely additive code cannot fit exclusive-or; its best answer is nothing."""
    z = np.indices((2, 2)).reshape(2, -1).T
    kernel = kernel_matrix(kernel_of([0.5, 0.0]), z, z)
    y = np.array([1.0, -1.0, -1.0, 1.0])
    fit = least_norm(kernel, y)
    assert not fit.fits
    assert fit.predict(kernel) == pytest.approx(np.zeros(4), abs=1e-12)
    assert not hard_margin(kernel, y).fits


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("intercept", [False, True])
def test_the_machine_meets_the_conditions_of_optimality(seed: int, intercept: bool) -> None:
    kernel, _, y = problem(seed, n=40)
    fit = hard_margin(kernel, y, intercept=intercept)
    margins, multipliers = y * fit.predict(kernel), y * fit.dual
    assert fit.fits
    assert margins.min() == pytest.approx(1, abs=1e-6)
    assert multipliers.min() > -1e-6
    assert np.abs(multipliers * (margins - 1)).max() < 1e-6
    assert not intercept or abs(fit.dual.sum()) < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_the_machine_is_scikit_learns(seed: int) -> None:
    kernel, _, y = problem(seed, n=40)
    other = SVC(C=1e10, kernel="precomputed", tol=1e-8).fit(kernel, y)
    fit = hard_margin(kernel, y)
    assert fit.predict(kernel) == pytest.approx(other.decision_function(kernel), abs=1e-4)


def test_a_single_label_needs_no_support() -> None:
    fit = hard_margin(np.eye(3), np.ones(3))
    assert fit.fits and fit.intercept == 1 and not fit.dual.any()


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(BadValue, match="positive semidefinite"):
        least_norm(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0]))
    with pytest.raises(BadValue, match="finite"):
        least_norm(np.array([[np.nan]]), np.array([1.0]))
    with pytest.raises(BadValue, match="−1 and"):
        hard_margin(np.eye(2), np.array([0.0, 1.0]))
    with pytest.raises(BadValue, match="0 or more"):
        ridge(np.eye(2), np.array([0.0, 1.0]), penalty=-1)


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1e3, 1e6, 1e10])
def test_a_largest_margin_does_not_depend_on_the_size_of_the_kernel(scale: float) -> None:
    x = np.array([[2.0, -2, -3], [-1, -1, 2], [0, -3, -1], [1, 2, 2]])
    y = np.array([1.0, -1, 1, -1])
    machine = SVC(C=1e10, kernel="linear").fit(x, y)
    kernel = scale * x @ x.T
    fit = hard_margin(kernel, y)
    assert fit.fits
    assert fit.predict(kernel) == pytest.approx(machine.decision_function(x), abs=1e-6)
    for seed in range(5):
        kernel, _, y = problem(seed)
        same = hard_margin(kernel, y)
        fit = hard_margin(scale * kernel, y)
        assert fit.predict(scale * kernel) == pytest.approx(same.predict(kernel), abs=1e-6)


def test_tiny_targets_that_are_not_met_are_not_met() -> None:
    kernel, y, _ = problem(0)
    assert not ridge(np.zeros_like(kernel), 1e-8 * y).fits
    assert ridge(kernel, 1e-8 * y).fits and ridge(kernel, 0 * y).fits
    with pytest.raises(BadValue, match="penalty"):
        ridge(kernel, y, penalty=float("nan"))
