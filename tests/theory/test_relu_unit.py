"""The cost of a ReLU unit against brute force, and the exact test loss against sampling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from recombine.errors import BadValue
from recombine.theory.relu_unit import relu_distance, relu_overlap, unit_cost

size = st.floats(1e-3, 1e3)


@given(size, st.floats(0, 1e3), st.floats(-1, 1))
def test_it_is_the_least_cost(beta: float, aux: float, cosine: float) -> None:
    m0 = np.sqrt(aux)

    def cost(log_m: float) -> float:
        m = np.exp(log_m)
        return float((beta / m) ** 2 + (m - m0) ** 2 + 2 * m * m0 * (1 - cosine))

    grid = np.linspace(-10, 10, 401)
    m = np.exp(grid)
    best = grid[np.argmin((beta / m) ** 2 + (m - m0) ** 2 + 2 * m * m0 * (1 - cosine))]
    brute = minimize_scalar(cost, bounds=(best - 0.06, best + 0.06), method="bounded")
    found = unit_cost(beta, aux, cosine=cosine)
    assert found.penalty <= brute.fun * (1 + 1e-6) + 1e-12
    assert found.penalty == pytest.approx(brute.fun, rel=1e-4, abs=1e-9)


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0, 1), st.floats(0, 0.3))
def test_its_derivatives(beta: float, aux: float, cosine: float, readout: float) -> None:
    step = 1e-5
    found = unit_cost(beta, aux, cosine=cosine, readout=readout)
    if found.penalty < 1e-6:
        return

    def log_cost(b: float, a: float) -> float:
        return float(np.log(unit_cost(b, a, cosine=cosine, readout=readout).penalty))

    e = np.exp(step)
    by_beta = (log_cost(beta * e, aux) - log_cost(beta / e, aux)) / (2 * step)
    by_aux = (log_cost(beta, aux * e) - log_cost(beta, aux / e)) / (2 * step)
    assert found.order == pytest.approx(by_beta, abs=1e-3)
    assert found.feature_dependence == pytest.approx(by_aux, abs=1e-3)


@given(size, size, st.floats(0.05, 1))
def test_the_conservation_law_holds_for_it_too(beta: float, aux: float, cosine: float) -> None:
    """With no readout the cost is homogeneous of degree 1 in (β, β_aux)."""
    found = unit_cost(beta, aux, cosine=cosine)
    assert found.order + found.feature_dependence == pytest.approx(1.0, abs=1e-5)


def test_values_as_noted() -> None:
    assert unit_cost(1.0, 1.0, cosine=0.9).feature_dependence == pytest.approx(-0.21, abs=0.005)
    assert unit_cost(1.0, 1e6).order == pytest.approx(2.0, abs=1e-2)
    assert unit_cost(1.0, 1e-8).order == pytest.approx(1.0, abs=1e-2)
    strong = unit_cost(1.0, 1e6, cosine=0.9)
    assert strong.order < 0.01 and strong.penalty == pytest.approx(1e6 * (1 - 0.81), rel=0.01)


def test_the_overlap_is_what_sampling_gives() -> None:
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((3, 4)), rng.standard_normal((2, 4))
    x = rng.standard_normal((400_000, 4))
    sampled = np.maximum(x @ u.T, 0).T @ np.maximum(x @ v.T, 0) / len(x)
    assert relu_overlap(u, v) == pytest.approx(sampled, rel=0.02, abs=0.01)


def test_the_distance_of_a_net_to_itself_is_zero_and_to_another_what_sampling_gives() -> None:
    rng = np.random.default_rng(1)
    net = rng.standard_normal((5, 4)), rng.standard_normal(5)
    other = rng.standard_normal((2, 4)), rng.standard_normal(2)
    assert relu_distance(net, net) < 1e-12
    x = rng.standard_normal((400_000, 4))
    f, g = (np.maximum(x @ w.T, 0) @ a for w, a in (net, other))
    assert relu_distance(net, other) == pytest.approx(float(np.square(f - g).mean()), rel=0.02)


def test_illegal_strengths_are_refused() -> None:
    for wrong in ({"beta": 0.0}, {"beta_aux": -1.0}, {"cosine": 2.0}):
        with pytest.raises(BadValue):
            unit_cost(**{"beta": 1.0, "beta_aux": 1.0, **wrong})
