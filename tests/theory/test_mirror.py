"""The mirror map against simulated gradient flow, its inverse, and the divergence's definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from recombine.errors import BadValue
from recombine.theory import Mirror

weights = st.lists(st.floats(-2, 2), min_size=4, max_size=4).map(lambda w: np.array(w)[:, None])


@given(weights)
def test_the_start_is_the_coefficient_of_the_initial_weights(w: np.ndarray) -> None:
    mirror = Mirror.of_weights(*w)
    assert mirror.start == pytest.approx(w[0] * w[2] - w[1] * w[3], abs=1e-12)


@given(weights)
def test_a_and_b_give_k_and_c(w: np.ndarray) -> None:
    """β = k sinh(z + c) with k = √(A²−B²)/2 and c = artanh(B/A)."""
    mirror = Mirror.of_weights(*w)
    a, b = float(np.square(w).sum()), 2 * float((w[0] * w[2] - w[1] * w[3])[0])
    assert mirror.k == pytest.approx(np.sqrt(max(a**2 - b**2, 0)) / 2, abs=1e-7)
    if a**2 - b**2 > 1e-6:
        c = np.arctanh(b / a)
        for z in (-1.0, 0.3):
            expected = np.sqrt(a**2 - b**2) / 2 * np.sinh(z + c)
            assert mirror.beta(np.array([z])) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(weights, st.floats(-1, 1))
def test_it_is_what_the_flow_does_under_a_constant_gradient(w: np.ndarray, g: float) -> None:
    """Small steps of ẇ⁺ = −g v⁺, … for a unit of time end at z = −2g."""
    wp, wm, vp, vm = (float(x[0]) for x in w)
    steps = 2000
    for _ in range(steps):  # midpoint rule
        half = g / steps / 2
        mp, mm, np_, nm = wp - half * vp, wm + half * vm, vp - half * wp, vm + half * wm
        wp, wm = wp - 2 * half * np_, wm + 2 * half * nm
        vp, vm = vp - 2 * half * mp, vm + 2 * half * mm
    beta = Mirror.of_weights(*w).beta(np.array([-2 * g]))
    assert beta == pytest.approx(wp * vp - wm * vm, abs=1e-5)


@given(st.floats(1e-8, 5), st.floats(1e-8, 5), st.floats(-20, 20))
def test_the_inverse_undoes_it(up: float, down: float, z: float) -> None:
    mirror = Mirror(np.array([up]), np.array([down]))
    beta = mirror.beta(np.array([z]))
    again = mirror.beta(mirror.inverse(beta))
    assert again == pytest.approx(beta, rel=1e-9, abs=1e-12)


@given(st.floats(0.01, 3), st.floats(0.01, 3), st.floats(-4, 4))
def test_the_divergence_is_the_integral_of_z(up: float, down: float, beta: float) -> None:
    mirror = Mirror(np.array([up]), np.array([down]))
    start = float(mirror.start[0])
    expected, _ = quad(lambda b: float(mirror.inverse(np.array([b]))[0]), start, beta)
    assert mirror.divergence(np.array([beta])) == pytest.approx(expected, abs=1e-7)
    assert mirror.divergence(mirror.start) == pytest.approx(0.0, abs=1e-12)


def test_a_one_sided_or_dead_coefficient_cannot_go_everywhere() -> None:
    growing = Mirror(np.array([1.0]), np.array([0.0]))
    assert np.isnan(growing.inverse(np.array([-1.0])))
    assert growing.divergence(np.array([-1.0])) == np.inf
    dead = Mirror(np.zeros(1), np.zeros(1))
    assert dead.divergence(np.zeros(1)) == 0.0
    assert dead.divergence(np.ones(1)) == np.inf


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_what_no_weights_give_is_refused(value: float) -> None:
    with pytest.raises(BadValue, match="from 0 up"):
        Mirror(np.array([value]), np.ones(1))


@pytest.mark.usefixtures("unchecked")
def test_both_halves_have_as_many_numbers() -> None:
    with pytest.raises(BadValue, match="as many numbers"):
        Mirror(np.ones(2), np.ones(3))
