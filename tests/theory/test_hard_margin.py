"""The quadratic program against the central path, Clarabel and scikit-learn; no solution, why."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC  # type: ignore[import-untyped, unused-ignore]

from recombine.theory import max_margin
from recombine.theory.hard_margin import hard_margin
from recombine.theory.max_margin import OneGroup, socp, solve


def points(seed: int, n: int = 30, dim: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, dim))
    return x, np.where(x @ rng.standard_normal(dim) > 0, 1.0, -1.0)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_case_of_one_group(seed: int) -> None:
    x, y = points(seed)
    fast, path = hard_margin(x @ x.T, y), solve(OneGroup(x @ x.T, y), len(y))
    reason, (theirs,), multipliers = socp([x], y)
    assert fast.feasible and not reason and 0 <= fast.gap < 1e-6
    ours = fast.scales[0] * (fast.multipliers * y) @ x
    assert fast.norms.sum() == pytest.approx(path.norms.sum(), rel=1e-6)
    assert np.linalg.norm((fast.multipliers * y) @ x) == pytest.approx(1.0)
    np.testing.assert_allclose(ours, theirs, atol=1e-4 * np.abs(theirs).max())
    np.testing.assert_allclose(fast.multipliers, multipliers, atol=1e-3 * multipliers.max())


def test_it_is_a_machine_of_scikit_learn_on_a_curved_kernel() -> None:
    x, y = points(1, n=80)
    y = y * np.sign(x[:, 0])  # not separable by a plane
    kernel = (x @ x.T) ** 2
    path = hard_margin(kernel, y)
    theirs = SVC(C=1e12, kernel="precomputed", tol=1e-10).fit(kernel, y)
    # theirs has an offset: with one, the norm at margin 1 can only be smaller
    square = float(
        theirs.dual_coef_[0] @ kernel[np.ix_(*[theirs.support_] * 2)] @ theirs.dual_coef_[0]
    )
    assert path.feasible and path.norms[0] >= np.sqrt(square) * (1 - 1e-6)
    outputs = kernel @ (path.multipliers * y * path.scales[0])
    assert (y * outputs).min() == pytest.approx(1.0)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
@example(185, 1.0)  # rounding stops the steps just before Σα is seen to be unbounded
def test_feasible_exactly_when_the_central_path_finds_it_so(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((8, 4)) * scale
    y = np.where(rng.random(8) < 0.5, 1.0, -1.0)
    fast, path = hard_margin(x @ x.T, y), solve(OneGroup(x @ x.T, y), 8)
    assert fast.reason == path.reason
    np.testing.assert_allclose(fast.norms, path.norms, rtol=1e-5)


def test_no_points_repeated_points_and_hopeless_ones() -> None:
    x, y = points(0)
    assert hard_margin(np.zeros((0, 0)), y[:0]).reason == max_margin.NO_POINTS
    again = np.vstack([x, x, x[:4]])
    once, twice = hard_margin(x @ x.T, y), hard_margin(again @ again.T, np.r_[y, y, y[:4]])
    assert twice.norms[0] == pytest.approx(once.norms[0], rel=1e-6)
    torn = hard_margin(again @ again.T, np.r_[y, y, -y[:4]])
    assert torn.reason == max_margin.NOT_SEPARABLE and np.isnan(torn.norms).all()
    silent = np.vstack([x[:2], np.zeros((1, 6))])
    assert hard_margin(silent @ silent.T, np.ones(3)).reason == max_margin.SILENT
