"""Penalties of finetuning and multi-task learning: limits, derivatives, laws, published orders."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.errors import BadValue
from recombine.theory import Mirror, finetuning, interpolate, multitask
from recombine.theory.finetuning import feature_dependence, order, penalty, pretrained_scale, q

size = st.floats(1e-4, 1e4)


def log_slope(f, at: float, step: float = 1e-5) -> float:  # type: ignore[no-untyped-def]
    """d log f/d log x by central differences."""
    up, down = float(f(at * np.exp(step))), float(f(at * np.exp(-step)))
    return (np.log(up) - np.log(down)) / (2 * step)


@given(st.floats(-50, 50))
def test_q_is_its_definition(z: float) -> None:
    expected = 2 - np.sqrt(4 + z**2) + z * np.arcsinh(z / 2)
    assert q(z) == pytest.approx(expected, abs=1e-12, rel=1e-9)


def test_q_keeps_its_digits_near_zero() -> None:
    assert float(q(1e-9)) == pytest.approx(0.25e-18, rel=1e-9)


def test_the_limits_are_ridge_and_almost_absolute_value() -> None:
    assert float(penalty(1e-4, 1.0)) == pytest.approx(1e-8 / 2, rel=1e-6)
    expected = 0.5 * (np.log(4 * 1.0 / 1e-8) - 1)
    assert float(penalty(1.0, 1e-8)) == pytest.approx(expected, rel=1e-6)


@given(size, size)
def test_the_penalty_is_half_the_divergence_from_zero(beta: float, scale: float) -> None:
    mirror = Mirror.of_scale(np.array([scale]))
    expected = mirror.divergence(np.array([beta])) / 2
    assert float(penalty(beta, scale)) == pytest.approx(expected, rel=1e-6, abs=1e-13 * scale)


@given(size, size)
def test_order_and_dependence_are_log_derivatives(beta: float, aux: float) -> None:
    slope = log_slope(lambda b: penalty(b, pretrained_scale(aux, gamma=0.05)), beta)
    assert float(order(beta, pretrained_scale(aux, gamma=0.05))) == pytest.approx(slope, abs=1e-4)
    slope = log_slope(
        lambda a: penalty(beta, pretrained_scale(a, gamma=0.05, rescaling=0.3, readout=0.01)), aux
    )
    fd = feature_dependence(beta, aux, gamma=0.05, rescaling=0.3, readout=0.01)
    assert float(fd) == pytest.approx(slope, abs=1e-4)
    slope = log_slope(lambda a: multitask.marginal_penalty(beta, a), aux)
    assert float(multitask.marginal_dependence(beta, aux)) == pytest.approx(slope, abs=1e-4)
    slope = log_slope(lambda b: multitask.marginal_penalty(b, aux), beta)
    assert float(multitask.marginal_order(beta, aux)) == pytest.approx(slope, abs=1e-4)


@given(size, size, st.floats(0.01, 10))
def test_the_conservation_law(beta: float, aux: float, rescaling: float) -> None:
    """At γ = 0, order + FD = 1, whatever the rescaling."""
    scale = pretrained_scale(aux, gamma=0.0, rescaling=rescaling)
    total = order(beta, scale) + feature_dependence(beta, aux, gamma=0.0, rescaling=rescaling)
    assert float(total) == pytest.approx(1.0, abs=1e-6)
    both = multitask.marginal_order(beta, aux) + multitask.marginal_dependence(beta, aux)
    assert float(both) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("ratio", "finetuned", "together"),
    [(1e-6, 1.070, 1.0), (1e-3, 1.137, 1.001), (0.1, 1.347, 1.1), (1, 1.749, 1.707), (100, 2, 2)],
)
def test_orders_as_noted(ratio: float, finetuned: float, together: float) -> None:
    assert float(order(1.0, ratio)) == pytest.approx(finetuned, abs=1e-3)
    assert float(multitask.marginal_order(1.0, ratio)) == pytest.approx(together, abs=1e-3)


def test_the_nested_regime_is_wide_for_finetuning_only() -> None:
    wide = finetuning.nested_width(feature_dependence)
    narrow = finetuning.nested_width(multitask.marginal_dependence)
    assert wide == pytest.approx(7.3, abs=0.1) and narrow == pytest.approx(0.8, abs=0.05)


def test_a_readout_that_is_not_small_ends_the_dependence() -> None:
    """c²|β_aux| ≪ γ²: the pretrained feature no longer counts."""
    fd = feature_dependence(1.0, 1.0, gamma=1e-3, rescaling=1e-4, readout=1e-1)
    assert abs(float(fd)) < 1e-5


@given(st.floats(0.01, 0.5), st.integers(0, 100))
def test_without_an_auxiliary_task_finetuning_is_single_task_learning(
    gamma: float, seed: int
) -> None:
    """w = γ again, so the map is that of a fresh net."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((3, 8))
    y = x @ rng.standard_normal(8)
    tuned = finetuning.exact_mirror(np.zeros(8), gamma=gamma)
    fresh = Mirror.of_scale(np.full(8, finetuning.single_task_scale(gamma)))
    assert tuned.up == pytest.approx(fresh.up) and tuned.down == pytest.approx(fresh.down)
    assert interpolate(x, y, tuned).beta == pytest.approx(interpolate(x, y, fresh).beta, abs=1e-8)


@given(st.floats(-3, 3), st.floats(1e-3, 1), st.floats(0.01, 2))
def test_the_exact_map_has_the_stated_scale(aux: float, gamma: float, c: float) -> None:
    mirror = finetuning.exact_mirror(np.array([aux]), gamma=gamma, rescaling=c)
    scale = pretrained_scale(aux, gamma=gamma, rescaling=c)
    assert 2 * (mirror.up + mirror.down) == pytest.approx(float(scale), rel=1e-9)


def test_the_printed_and_the_script_form_are_off_by_two_and_four() -> None:
    exact = pretrained_scale(1.3, gamma=0.0)
    assert finetuning.printed_scale(1.3, gamma=0.0) == pytest.approx(2 * float(exact))
    assert finetuning.script_scale(1.3, gamma=0.0) == pytest.approx(4 * float(exact))
    printed = 1.3 * q(2 * 0.7 / 1.3)  # as printed, up to a factor
    assert 4 * float(penalty(0.7, finetuning.printed_scale(1.3, gamma=0.0))) == pytest.approx(
        float(printed)
    )


def test_a_scale_of_zero_is_refused() -> None:
    with pytest.raises(BadValue, match="positive"):
        penalty(1.0, 0.0)
    with pytest.raises(BadValue, match="gamma"):
        pretrained_scale(1.0, gamma=-1.0)


def test_a_coefficient_may_be_larger_than_any_scale() -> None:
    """(|β|/2)(log(4|β|/A) − 1), though the square of 4β/A is beyond double precision."""
    assert float(penalty(1.0, 1e-200)) == pytest.approx((np.log(4) + 200 * np.log(10) - 1) / 2)
    assert float(order(1.0, 1e-200)) == pytest.approx(1, abs=3e-3)
