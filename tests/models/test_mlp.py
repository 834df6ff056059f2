"""The perceptron equals PyTorch's own modules, seed by seed, and is initialised as it says."""

import numpy as np
import pytest
import torch
from torch import nn

from recombine.errors import BadValue
from recombine.models import read_sites
from recombine.models.mlp import MLP, Init, StackedMLP


def torch_twin(stack: StackedMLP, lane: int, activation: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for weight, bias in zip(stack.weights, stack.biases, strict=True):
        layer = nn.Linear(*weight.shape[1:])
        layer.weight.data, layer.bias.data = weight[lane].T.clone(), bias[lane].clone()
        layers += [layer, activation()]
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize(("name", "module"), [("relu", nn.ReLU), ("tanh", nn.Tanh)])
def test_outputs_and_gradients_equal_torch(name: str, module: type[nn.Module]) -> None:
    stack = MLP(widths=(6, 5), activation=name).stack(range(3), (4,), 2, 3)  # type: ignore[arg-type]
    assert isinstance(stack, StackedMLP)
    x = torch.randn(3, 7, 4, generator=torch.Generator().manual_seed(0))
    out = stack(x)
    assert out.shape == (3, 7, 2, 3)
    gradients = torch.autograd.grad(out.square().sum(), list(stack.weights))
    for lane in range(3):
        twin = torch_twin(stack, lane, module)
        theirs = twin(x[lane])
        torch.testing.assert_close(out[lane].flatten(1), theirs)
        theirs.square().sum().backward()
        layers = [layer for layer in twin if isinstance(layer, nn.Linear)]
        for ours, layer in zip(gradients, layers, strict=True):
            assert layer.weight.grad is not None
            torch.testing.assert_close(ours[lane].T, layer.weight.grad, rtol=1e-4, atol=1e-5)


def weights_of(init: Init) -> tuple[np.ndarray, np.ndarray]:
    stack = MLP(widths=(50,), init=init).stack(range(20), (30,), 1, 2)
    assert isinstance(stack, StackedMLP)
    return stack.weights[0].detach().numpy(), stack.biases[0].detach().numpy()


@pytest.mark.parametrize(
    ("init", "bound"), [("glorot", (6 / 80) ** 0.5), ("pytorch", 30**-0.5), ("playground", 0.5)]
)
def test_weights_are_uniform_within_the_bound(init: Init, bound: float) -> None:
    weight, _ = weights_of(init)
    assert np.abs(weight).max() <= bound
    assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.02)


def test_biases_are_as_each_init_says() -> None:
    assert not weights_of("glorot")[1].any()
    assert np.allclose(weights_of("playground")[1], 0.1)
    assert weights_of("pytorch")[1].std() == pytest.approx(30**-0.5 / 3**0.5, rel=0.1)


def test_a_zero_output_starts_at_one_half() -> None:
    model = MLP(init="glorot-zero-output")
    p = model.probabilities(model.stack([0], (2,), 1, 2)(torch.ones(1, 3, 2)))
    assert torch.equal(p, torch.full((1, 3, 1, 2), 0.5))


def test_the_sign_readout_is_a_tanh_unit() -> None:
    model = MLP(readout="sign")
    raw = model.stack([0], (2,), 1, 2)(torch.randn(1, 5, 2))
    assert raw.shape == (1, 5, 1, 1) and raw.abs().max() < 1
    p = model.probabilities(raw)
    torch.testing.assert_close(p[..., 1] - p[..., 0], raw[..., 0])


def test_a_seed_is_the_same_network_in_any_stack() -> None:
    together = MLP().stack([3, 1, 4], (2,), 1, 2)
    alone = MLP().stack([4], (2,), 1, 2)
    for a, b in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.equal(a[2], b[0])


def test_sites_are_what_stands_between_layers() -> None:
    stack = MLP(widths=(4, 3)).stack([0, 1], (2,), 1, 2)
    x = torch.randn(1, 5, 2)
    seen = read_sites(stack, x, stack.sites)
    assert {k: tuple(v.shape) for k, v in seen.items()} == {
        "hidden.0": (2, 5, 4), "hidden.1": (2, 5, 3), "output": (2, 5, 1, 2),
    }  # fmt: skip
    assert torch.equal(seen["output"], stack(x))


def test_the_sign_readout_refuses_more_than_two_classes() -> None:
    with pytest.raises(BadValue, match="softmax for 3 classes"):
        MLP(readout="sign").stack([0], (2,), 1, 3)
    with pytest.raises(BadValue, match="positive whole numbers"):
        MLP(widths=(0,))
