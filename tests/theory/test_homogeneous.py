"""The parameter-space statement: exact at a solution, invariant to scale, true of three layers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from recombine.theory import gated
from recombine.theory.homogeneous import least_square, stationarity


def balanced(predictors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and readout of least norm for these predictors."""
    v = np.sqrt(np.sqrt((predictors**2).sum((1, 2))))
    return predictors / np.maximum(v, 1e-12)[:, None, None], v


def weights_and_slopes(
    w: np.ndarray, v: np.ndarray, x: np.ndarray, y: np.ndarray, on: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    each = y[:, None] * (np.einsum("nd,hcd->nhc", x, w) * on).sum(2)
    by_w = np.einsum("n,h,nhc,nd->nhcd", y, v, on, x).reshape(len(x), -1)
    return np.append(w.ravel(), v), each @ v, np.hstack([by_w, each])


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.standard_normal((14, 3)), np.ones(14)])
    on = (rng.integers(0, 2, (14, 4, 1)) == np.arange(2)).astype(float)
    teacher = rng.standard_normal((4, 2, 4))
    return x, np.where(gated.respond(teacher, x, on) > 0, 1.0, -1.0), on


@pytest.mark.parametrize("seed", range(4))
def test_the_convex_limit_is_a_kkt_point_of_the_weights(seed: int) -> None:
    x, y, on = problem(seed)
    solution = gated.svm_gln(x, y, on)
    theta, margins, slopes = weights_and_slopes(*balanced(solution.predictors), x, y, on)
    found = stationarity(theta, margins, slopes, degree=2)
    assert found.residual < 1e-2
    # ‖θ‖² = 2 Σ‖ζ_h‖ at balance, so the normalised margin is half that of the convex problem.
    np.testing.assert_allclose(found.margin, solution.margin / 2, rtol=1e-4)
    l2 = gated.svm_l2(x, y, on)
    other = stationarity(*weights_and_slopes(*balanced(l2.predictors), x, y, on), degree=2)
    assert other.residual > 5 * found.residual and other.margin < found.margin


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6), st.floats(0.1, 10))
def test_scale_changes_nothing(seed: int, scale: float) -> None:
    x, y, on = problem(seed)
    w, v = balanced(gated.svm_l2(x, y, on).predictors)
    one = stationarity(*weights_and_slopes(w, v, x, y, on), degree=2)
    other = stationarity(*weights_and_slopes(scale * w, scale * v, x, y, on), degree=2)
    np.testing.assert_allclose(other.margin, one.margin, rtol=1e-9)
    np.testing.assert_allclose(other.residual, one.residual, rtol=1e-6)


def test_without_points_or_margin_there_is_no_residual() -> None:
    none = stationarity(np.ones(2), np.zeros(0), np.zeros((0, 2)), degree=2)
    assert math.isnan(none.residual) and math.isnan(none.margin)
    wrong = stationarity(np.ones(2), np.array([-1.0]), np.ones((1, 2)), degree=1)
    assert math.isnan(wrong.residual) and wrong.margin < 0
    assert math.isnan(stationarity(np.zeros(2), np.zeros(1), np.ones((1, 2)), degree=2).margin)


@pytest.mark.parametrize("layers", [2, 3])
def test_dense_layers_on_top_leave_the_norm_a_function_of_the_sum(layers: int) -> None:
    """The least ‖θ‖² that carries given predictors, by brute force over all weights."""
    zeta = np.array([[1.0, 2.0], [-0.5, 0.3], [0.2, -1.0]])
    units, dim, second = 3, 2, 2
    mixing = second * units if layers == 3 else 0

    def carried(theta: np.ndarray) -> np.ndarray:
        w = theta[: units * dim].reshape(units, dim)
        if layers == 2:
            return (theta[units * dim :][:, None] * w - zeta).ravel()
        u = theta[units * dim : units * dim + mixing].reshape(second, units)
        return ((theta[units * dim + mixing :] @ u)[:, None] * w - zeta).ravel()

    count = units * dim + mixing + (units if layers == 2 else second)
    best = np.inf
    for start in range(8):
        theta = np.random.default_rng(start).standard_normal(count)
        found = optimize.minimize(
            lambda t: t @ t, theta, jac=lambda t: 2 * t, method="SLSQP",
            constraints={"type": "eq", "fun": carried}, options={"maxiter": 1000, "ftol": 1e-12},
        )  # fmt: skip
        if np.abs(carried(found.x)).max() < 1e-6:
            best = min(best, found.fun)
    total = float(np.linalg.norm(zeta, axis=1).sum())
    np.testing.assert_allclose(best, least_square(total, layers), rtol=1e-4)
