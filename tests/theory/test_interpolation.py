"""The exact solver against gradient descent, generic minimisation, and degenerate data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from recombine.errors import BadValue
from recombine.theory import Mirror, interpolate
from recombine.theory.finetuning import exact_mirror, pretrained_weights


def problem(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x, x @ rng.standard_normal(d)


def descend(
    x: np.ndarray, y: np.ndarray, w: list[np.ndarray], *, rate: float, steps: int
) -> np.ndarray:
    """Plain gradient descent on the four weights, with nothing of ours in it."""
    wp, wm, vp, vm = (value.copy() for value in w)
    for _ in range(steps):
        g = rate * (x.T @ (x @ (wp * vp - wm * vm) - y)) / len(y)
        wp, wm, vp, vm = wp - g * vp, wm + g * vm, vp - g * wp, vm + g * wm
    return wp * vp - wm * vm


def test_it_is_where_gradient_descent_ends() -> None:
    """M1: 40 inputs, 15 examples, weights of 0.1."""
    x, y = problem(15, 40)
    y = y / 4
    gamma = np.full(40, 0.1)
    trained = descend(x, y, [gamma] * 4, rate=0.01, steps=30_000)
    found = interpolate(x, y, Mirror.of_weights(*[gamma] * 4))
    assert found.converged and found.residual < 1e-9
    assert np.abs(found.beta - trained).max() < 1e-3


def test_it_is_where_descent_ends_from_any_weights() -> None:
    x, y = problem(8, 12, seed=1)
    w = list(np.random.default_rng(2).normal(0, 0.5, (4, 12)))
    trained = descend(x, y, w, rate=0.002, steps=40_000)
    found = interpolate(x, y, Mirror.of_weights(*w))
    assert np.abs(found.beta - trained).max() < 5e-3 * np.abs(trained).max()


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_no_other_interpolator_diverges_less(seed: int, n: int) -> None:
    """Against SciPy's minimiser over the null space of X."""
    x, y = problem(n, 6, seed)
    rng = np.random.default_rng(seed)
    mirror = Mirror(rng.uniform(0.05, 1, 6), rng.uniform(0.05, 1, 6))
    found = interpolate(x, y, mirror)
    assert found.converged
    base, null = np.linalg.lstsq(x, y, rcond=None)[0], np.linalg.svd(x)[2][n:].T
    generic = minimize(lambda t: mirror.divergence(base + null @ t), np.zeros(6 - n), tol=1e-12)
    assert mirror.divergence(found.beta) <= generic.fun + 1e-7
    assert found.beta == pytest.approx(base + null @ generic.x, abs=1e-3)


@given(st.integers(0, 10_000), st.floats(1e-6, 1.0), st.integers(1, 20))
@settings(max_examples=25, deadline=None)
def test_it_interpolates_and_z_is_in_the_span(seed: int, gamma: float, n: int) -> None:
    x, y = problem(n, 30, seed)
    mirror = Mirror.of_scale(np.full(30, 4 * gamma**2))
    found = interpolate(x, y, mirror)
    assert found.converged, found.reason
    assert np.abs(x @ found.beta - y).max() < 1e-7
    z = mirror.inverse(found.beta)
    inside = x.T @ np.linalg.lstsq(x.T, z, rcond=None)[0]
    assert z == pytest.approx(inside, abs=1e-4 * (1 + np.abs(z).max()))


def test_no_examples_leave_the_start() -> None:
    mirror = exact_mirror(np.array([1.0, -2.0, 0.0]), gamma=0.1)
    found = interpolate(np.zeros((0, 3)), np.zeros(0), mirror)
    assert found.converged and np.array_equal(found.beta, mirror.start)


def test_zero_targets_give_zero_from_a_balanced_start() -> None:
    x, _ = problem(3, 7)
    found = interpolate(x, np.zeros(3), Mirror.of_scale(np.ones(7)))
    assert found.converged and found.beta == pytest.approx(np.zeros(7), abs=1e-9)


def test_zero_inputs_say_nothing_or_contradict() -> None:
    mirror = Mirror.of_scale(np.ones(4))
    nothing = interpolate(np.zeros((2, 4)), np.zeros(2), mirror)
    assert nothing.converged and not nothing.beta.any()
    contradiction = interpolate(np.zeros((2, 4)), np.ones(2), mirror)
    assert not contradiction.converged and "contradict" in contradiction.reason
    assert np.isfinite(contradiction.beta).all()


def test_repeated_examples_count_once() -> None:
    x, y = problem(4, 9)
    mirror = Mirror.of_scale(np.full(9, 0.01))
    once, thrice = interpolate(x, y, mirror), interpolate(np.tile(x, (3, 1)), np.tile(y, 3), mirror)
    assert thrice.converged and thrice.beta == pytest.approx(once.beta, abs=1e-7)


def test_contradicting_examples_end_where_the_flow_tends() -> None:
    """The same input with targets 1 and 3: least squares asks for 2, and the reason is said."""
    x, y = problem(4, 9)
    twice, targets = np.concatenate([x, x[:1]]), np.concatenate([y, y[:1] + 2])
    mirror = Mirror.of_scale(np.full(9, 0.1))
    found = interpolate(twice, targets, mirror)
    middle = interpolate(x, y + np.array([1.0, 0, 0, 0]), mirror)
    assert not found.converged and "contradict each other" in found.reason
    assert found.beta == pytest.approx(middle.beta, abs=1e-7)


def test_as_many_examples_as_inputs_leave_no_choice() -> None:
    x, y = problem(9, 6)
    found = interpolate(x, y, Mirror.of_scale(np.full(6, 1e-6)))
    assert found.converged
    assert found.beta == pytest.approx(np.linalg.lstsq(x, y, rcond=None)[0], abs=1e-9)


def test_what_the_weights_cannot_reach_is_said() -> None:
    growing = Mirror(np.ones(3), np.zeros(3))
    found = interpolate(np.ones((1, 3)), np.array([-1.0]), growing)
    assert not found.converged and "cannot be reached" in found.reason
    assert np.isfinite(found.beta).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(wrong: float) -> None:
    mirror = Mirror.of_scale(np.ones(2))
    with pytest.raises(BadValue, match="inputs"):
        interpolate(np.array([[wrong, 1.0]]), np.ones(1), mirror)
    with pytest.raises(BadValue, match="targets"):
        interpolate(np.ones((1, 2)), np.array([wrong]), mirror)
    with pytest.raises(BadValue, match="2 columns"):
        interpolate(np.ones((1, 3)), np.ones(1), mirror)


def test_pretrained_weights_are_those_of_descent() -> None:
    x, y = problem(30, 10)
    y = y / 4
    gamma = np.full(10, 0.3)
    wp, wm, vp, vm = (gamma.copy() for _ in range(4))
    for _ in range(20_000):
        g = 0.005 * (x.T @ (x @ (wp * vp - wm * vm) - y)) / len(y)
        wp, wm, vp, vm = wp - g * vp, wm + g * vm, vp - g * wp, vm + g * wm
    plus, minus = pretrained_weights(wp * vp - wm * vm, 0.3)
    assert wp == pytest.approx(plus, abs=2e-3) and wm == pytest.approx(minus, abs=2e-3)


@pytest.mark.usefixtures("unchecked")
def test_examples_and_targets_must_be_as_many() -> None:
    x, y = problem(3, 5)
    with pytest.raises(BadValue, match="one an example"):
        interpolate(x, y[:2], Mirror.of_scale(np.ones(5)))
    with pytest.raises(BadValue, match="5 columns"):
        interpolate(x[0], y, Mirror.of_scale(np.ones(5)))
