"""Every network kernel against wide random networks, the notes' table, and exact arithmetic."""

import math

import mpmath  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import pytest

from recombine.errors import BadValue, UnknownName
from recombine.theory.network_kernels import (
    ACTIVATIONS,
    Activation,
    activation_of,
    biased_input,
    gaussian,
    network_kernel,
    network_salience,
    one_hot,
    relu,
)
from recombine.theory.salience import measured_salience

SLOPED = [phi for phi in ACTIVATIONS.values() if phi.slope_drop is not None]


def layer(h: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """Pre-activations of a random layer, scaled to variance 1 over units."""
    z = h @ rng.standard_normal((h.shape[1], width))
    return np.asarray(z / np.sqrt(np.mean(z**2, axis=1, keepdims=True)))


@pytest.mark.parametrize("phi", ACTIVATIONS.values(), ids=lambda phi: phi.name)
@pytest.mark.parametrize("factors", [2, 3])
def test_salience_is_that_of_a_wide_random_network(phi: Activation, factors: int) -> None:
    rng = np.random.default_rng(factors)
    z = np.indices((3,) * factors).reshape(factors, -1).T
    h = np.concatenate([np.eye(3)[z[:, c]] for c in range(factors)], axis=1)
    for depth, width in ((1, 20_000), (2, 3_000)):
        hidden = phi.unit(layer(h, width, rng))
        h = hidden[:, :3_000]
        found = measured_salience(hidden @ hidden.T / width, z)
        theory = network_salience(factors, activation=phi, depth=depth)
        assert found == pytest.approx(
            theory, abs=0.02 if depth > 1 or phi.name == "gaussian" else 0.004
        )


@pytest.mark.parametrize("phi", SLOPED, ids=lambda phi: phi.name)
def test_the_tangent_kernel_is_that_of_a_wide_random_network(phi: Activation) -> None:
    """Gradients of a random two-hidden-layer net in NTK parameterisation, by hand."""
    rng = np.random.default_rng(5)
    z = np.indices((2, 2)).reshape(2, -1).T
    x = np.concatenate([np.eye(2)[z[:, 0]], np.eye(2)[z[:, 1]]], axis=1)
    width, step = 2500, 1e-5
    total = np.zeros((4, 4))
    scale = 1 / np.sqrt(np.mean(phi.unit(rng.standard_normal(400_000)) ** 2))

    def act(u: np.ndarray) -> np.ndarray:
        return np.asarray(scale * phi.unit(u))

    def slope(u: np.ndarray) -> np.ndarray:
        return (act(u + step) - act(u - step)) / (2 * step)

    for _ in range(4):
        w1, w2 = rng.standard_normal((4, width)), rng.standard_normal((width, width))
        a = rng.standard_normal(width)
        u1 = x @ w1 / math.sqrt(2)
        u2 = act(u1) @ w2 / math.sqrt(width)
        g2 = a * slope(u2) / math.sqrt(width)
        g1 = (g2 @ w2.T) / math.sqrt(width) * slope(u1)
        total += act(u2) @ act(u2).T / width
        total += (g2 @ g2.T) * (act(u1) @ act(u1).T) / width
        total += (g1 @ g1.T) * (x @ x.T) / 2
    theory = network_salience(2, activation=phi, depth=2, kind="ntk")
    assert measured_salience(total, z) == pytest.approx(theory, abs=0.03)


NOTES = [
    (2, "relu", 1, (0.4264, 0.1472)),
    (2, "relu", 3, (0.3373, 0.3253)),
    (2, "relu", 20, (0.1325, 0.7351)),
    (2, "relu", 1000, (0.0040, 0.9919)),
    (3, "relu", 2, (0.2314, 0.0814, 0.0617)),
    (3, "relu", 10, (0.1149, 0.0999, 0.3555)),
    (3, "rectified-quadratic", 1, (0.2174, 0.1083, 0.0229)),
    (3, "rectified-quadratic", 3, (0.1010, 0.1391, 0.2796)),
    (3, "rectified-quadratic", 20, (0.0003, 0.0008, 0.9967)),
    (2, "gaussian", 3000, (0.0625, 0.875)),
    (3, "gaussian", 3000, (0.02439, 0.08915, 0.65938)),
]


@pytest.mark.parametrize(("factors", "activation", "depth", "expected"), NOTES)
def test_salience_over_depth_is_the_reference_table(
    factors: int, activation: str, depth: int, expected: tuple[float, ...]
) -> None:
    found = network_salience(factors, activation=activation, depth=depth)
    assert found == pytest.approx(expected, abs=6e-5)


def test_the_tangent_kernel_of_one_relu_layer_is_the_printed_one() -> None:
    assert network_salience(2, kind="ntk")[0] == pytest.approx(0.3711, abs=5e-5)


@pytest.mark.parametrize("name", ["relu", "rectified-quadratic", "gaussian", "leaky", "step"])
def test_deep_salience_keeps_its_digits(name: str) -> None:
    """The plain recursion in 60 digits, where cancellation does not matter."""
    depth, leak = 40, 0.1
    with mpmath.workdps(60):

        def k(x: mpmath.mpf) -> mpmath.mpf:
            t = mpmath.acos(x)
            bare = (mpmath.sin(t) + (mpmath.pi - t) * x) / (2 * mpmath.pi)
            return {
                "relu": bare,
                "leaky": (1 - mpmath.mpf(leak)) ** 2 * bare + mpmath.mpf(leak) * x,
                "step": mpmath.pi - t,
                "rectified-quadratic": 3 * mpmath.sin(t) * x + (mpmath.pi - t) * (1 + 2 * x * x),
                "gaussian": 1 / mpmath.sqrt(9 - 4 * x * x),
            }[name]

        x = [mpmath.mpf(0), mpmath.mpf(1) / 2, mpmath.mpf(1)]
        for _ in range(depth):
            x = [k(value) for value in x]
            x = [value / x[-1] for value in x]
        exact = float((x[1] - x[0]) / (x[2] - x[0]))
    found = network_salience(2, activation=name, depth=depth)[0]
    assert found == pytest.approx(exact, rel=1e-6 if name == "step" else 1e-9, abs=1e-14)


@pytest.mark.parametrize("phi", SLOPED, ids=lambda phi: phi.name)
def test_slopes_are_derivatives_of_the_kernel(phi: Activation) -> None:
    delta, small = np.linspace(0.05, 1.5, 9), 1e-6
    slope = (phi.step(delta + small) - phi.step(delta - small)) / (2 * small)
    assert phi.slope_drop is not None
    assert phi.chi - phi.slope_drop(delta) == pytest.approx(slope, abs=1e-8)


def test_a_kernel_by_subset_goes_through_layers_entry_by_entry() -> None:
    by_subset = np.array([0.0, 0.3, 0.5, 0.9, 1.4])
    found = network_kernel(by_subset, depth=3)
    for i, value in enumerate(by_subset[:-1]):
        assert found[i] == pytest.approx(network_kernel([value, 1.4], depth=3)[0])
    assert found[-1] == 1.0


def test_biases_raise_the_salience_of_single_items() -> None:
    """For 9 + 9 items the notes have .4316; drawn here as the authors draw them."""
    kappa = biased_input(2, 18)
    assert network_salience(kappa)[0] == pytest.approx(0.4316, abs=5e-5)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((18, 200_000)) * math.sqrt(2 / 18)
    bias = rng.uniform(-1, 1, 200_000) / math.sqrt(18)
    hidden = np.stack([weights[i] + weights[9 + j] + bias for i, j in ((0, 0), (0, 1), (1, 1))])
    found = (hidden @ hidden.T) / 200_000
    assert [found[0, 2], found[0, 1], found[0, 0]] == pytest.approx(kappa, rel=0.05)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownName, match="perhaps you meant 'relu'"):
        activation_of("rel")
    with pytest.raises(BadValue, match="one with a derivative"):
        network_salience(2, activation="step", kind="ntk")
    with pytest.raises(BadValue, match="0 or more layers"):
        network_salience(2, depth=-1)
    with pytest.raises(BadValue, match="no entry beyond"):
        network_salience([0.0, 2.0, 1.0])
    with pytest.raises(BadValue):
        relu(1.0)
    with pytest.raises(BadValue):
        gaussian(0.0)
    with pytest.raises(BadValue):
        one_hot(0)


@pytest.mark.parametrize(
    ("sharpness", "depth", "first"),
    [(1.0, 3400, 0.0625), (0.1, 210, 0.24460), (0.05, 300, 0.24843)],
)
def test_a_deep_gaussian_network_keeps_its_limit(
    sharpness: float, depth: int, first: float
) -> None:
    """Deviations underflow without a common factor; the values are by 800 digits."""
    found = network_salience(2, activation=gaussian(sharpness), depth=depth)
    assert found == pytest.approx([first, 1 - 2 * first], abs=1e-5)


@pytest.mark.parametrize("sharpness", [0.5, 1.0])
def test_a_deep_gaussian_tangent_kernel_goes_on_as_it_was(sharpness: float) -> None:
    """Past the point where deviations would underflow, saliences still only creep."""
    phi = gaussian(sharpness)
    before, after = (
        network_salience(3, activation=phi, depth=depth, kind="ntk") for depth in (1200, 6000)
    )
    assert np.isfinite(after).all() and after == pytest.approx(before, abs=1e-3)


def test_wrong_kernels_and_sizes_are_refused(unchecked: None) -> None:
    with pytest.raises(UnknownName, match="legal: nngp, ntk"):
        network_salience(2, kind="NNGP")  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="at least 1"):
        biased_input(2, -4)
