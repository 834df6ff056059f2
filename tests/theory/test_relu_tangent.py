"""Tangent kernel regression against autograd, simulation, and descent on the linear form."""

import numpy as np
import pytest
import torch

from recombine.errors import BadValue
from recombine.theory.relu_tangent import (
    GatedSum,
    gated_overlap,
    tangent_kernel,
    tangent_regression,
)
from recombine.theory.relu_unit import relu_distance, relu_overlap

RNG = np.random.default_rng(5)
W, A = RNG.standard_normal((40, 4)), RNG.standard_normal(40) / 3
X, Y = RNG.standard_normal((9, 4)), RNG.standard_normal(9)


def slopes(w: np.ndarray, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient of every answer in all weights, by autograd."""
    weights = [torch.from_numpy(v).requires_grad_() for v in (w, a)]
    rows = []
    for one in torch.from_numpy(x):
        out = torch.relu(weights[0] @ one) @ weights[1]
        rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(out, weights)]).numpy())
    return np.array(rows)


def test_the_kernel_is_the_product_of_gradients() -> None:
    other = RNG.standard_normal((3, 4))
    expected = slopes(W, A, X) @ slopes(W, A, other).T
    assert np.allclose(tangent_kernel(W, A, X, other), expected)


def test_the_solution_is_the_shortest_move_that_fits() -> None:
    found, net = tangent_regression(W, A, X, Y), GatedSum.of_net(W, A)
    move, *_ = np.linalg.lstsq(slopes(W, A, X), Y - net(X), rcond=None)
    other = RNG.standard_normal((30, 4))
    assert np.allclose(found(X), Y)
    assert np.allclose(found(other), net(other) + slopes(W, A, other) @ move)


def test_the_linear_form_of_a_slow_net_is_where_descent_takes_it() -> None:
    # a net whose answers are scaled up moves little: its training is that of the linear form
    big, targets = 1e3, Y * 1e-3
    w, a = (torch.from_numpy(v.copy()).requires_grad_() for v in (W, A))
    x, y = torch.from_numpy(X), torch.from_numpy(targets + GatedSum.of_net(W, A)(X))
    rate = 1.0 / float(np.linalg.eigvalsh(tangent_kernel(W, A, X, X))[-1])
    for _ in range(1500):
        loss = (torch.relu(x @ w.T) @ a - y).square().sum() / 2
        gradients = torch.autograd.grad(loss, (w, a))
        with torch.no_grad():
            w -= rate * gradients[0]
            a -= rate * gradients[1]
    found, other = tangent_regression(W, A, X, y.numpy()), RNG.standard_normal((50, 4))
    trained = torch.relu(torch.from_numpy(other) @ w.detach().T) @ a.detach()
    change = found(other) - GatedSum.of_net(W, A)(other)
    gap = trained.numpy() - GatedSum.of_net(W, A)(other) - change
    assert np.abs(gap).max() * big < 0.05 * np.abs(change).max() * big


def test_without_a_readout_it_is_least_squares_on_the_hidden_layer() -> None:
    found, other = tangent_regression(W, np.zeros(40), X, Y), RNG.standard_normal((30, 4))
    readout = np.linalg.pinv(np.maximum(X @ W.T, 0)) @ Y
    assert np.allclose(found(other), np.maximum(other @ W.T, 0) @ readout)


def test_distances_are_those_of_a_simulation_and_of_two_nets() -> None:
    teacher = (RNG.standard_normal((3, 4)), np.array([1.0, -1.0, 0.5]))
    net, target = GatedSum.of_net(W, A), GatedSum.of_net(*teacher)
    assert net.distance(target) == pytest.approx(relu_distance((W, A), teacher), rel=1e-8)
    odd = GatedSum(W[:5], RNG.standard_normal((5, 4)))  # predictors unlike their gates
    x = RNG.standard_normal((400_000, 4))
    assert odd.distance(target) == pytest.approx(
        float(((odd(x) - target(x)) ** 2).mean()), rel=0.02
    )


def test_equal_opposite_and_silent_gates() -> None:
    gates = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    predictors = np.ones((4, 2))
    both = gated_overlap(gates, predictors)
    assert np.allclose(both[:2, :2], 1.0)  # E[(x₁ + x₂)² 1[x₁ > 0]] = 1
    assert np.allclose(both[0, 2:], 0.0)
    assert np.allclose(gated_overlap(gates[:3], gates[:3]), relu_overlap(gates[:3], gates[:3]))


def test_no_examples_repeated_ones_and_bad_ones() -> None:
    net = GatedSum.of_net(W, A)
    assert np.allclose(tangent_regression(W, A, X[:0], Y[:0])(X), net(X))
    once, twice = (tangent_regression(W, A, np.tile(X, (k, 1)), np.tile(Y, k)) for k in (1, 2))
    assert np.allclose(once.predictors, twice.predictors, atol=1e-6)
    torn = tangent_regression(W, A, X[[0, 0]], np.array([1.0, 3.0]))
    assert torn(X[:1])[0] == pytest.approx(2.0)
    with pytest.raises(BadValue, match="finite"):
        tangent_regression(W, A, X, np.full(9, np.nan))
