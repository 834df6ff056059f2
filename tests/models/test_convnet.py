"""The convolutional network against PyTorch's own layers: outputs, gradients, lanes, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models import Stack
from recombine.models import convnet as module
from recombine.models.convnet import ConvNet
from recombine.models.stack import read_sites
from recombine.seeds import torch_seed


def drawn(*shape: int, background: bool = True) -> Tensor:
    """Images with large black regions, where every position of a kernel gives the same."""
    generator = torch.Generator().manual_seed(torch_seed(0, "test"))
    x = torch.rand(*shape, generator=generator)
    keep = torch.rand(*shape, generator=generator) > 0.6
    return x * keep if background else x


def plain(stack: Stack, colours: int, dense: Sequence[int]) -> nn.Sequential:
    """PyTorch's layers with the parameters of lane 0."""
    w, b = ([p[0].detach().clone() for p in group] for group in (stack.weights, stack.biases))
    first, second = w[0].shape[-1], w[1].shape[0]
    layers: list[nn.Module] = [
        nn.Conv2d(colours, first, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(first, second, 3),
        nn.ReLU(), nn.Flatten(),
    ]  # fmt: skip
    for i, (fan_in, fan_out) in enumerate(pairwise(dense)):
        layers += [nn.ReLU()] * (i > 0) + [nn.Linear(fan_in, fan_out)]
    network = nn.Sequential(*layers)
    trained = [layer for layer in network if hasattr(layer, "weight")]
    with torch.no_grad():
        trained[0].weight.copy_(w[0].permute(3, 2, 0, 1))
        trained[1].weight.copy_(w[1])
        for layer, weight in zip(trained[2:], w[2:], strict=True):
            layer.weight.copy_(weight.T)
        # ours flattens channels last, PyTorch channels first
        spatial = dense[0] // second
        order = torch.arange(dense[0]).reshape(spatial, second).T.flatten()
        trained[2].weight.copy_(w[2].T[:, order])
        for layer, bias in zip(trained, b, strict=True):
            layer.bias.copy_(bias)
    return network


def with_biases(stack: Stack) -> Stack:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for bias in stack.biases:
            bias.normal_(0, 0.1, generator=generator)
    return stack


@pytest.mark.parametrize(
    ("shape", "background"),
    [((28, 56), True), ((13, 16), False), ((12, 15, 3), True), ((13, 17, 3), False)],
)
def test_it_is_the_network_of_pytorchs_layers(shape: tuple[int, ...], background: bool) -> None:
    """Even and odd sides, grey and coloured, with ties and without: outputs and all gradients."""
    model = ConvNet(channels=(4, 5), widths=(6,))
    stack = with_biases(model.stack([3], shape, 1, 10)).double()
    height, width = (((side - 2) // 2) - 2 for side in shape[:2])
    colours = shape[2] if len(shape) == 3 else 1
    network = plain(stack, colours, (height * width * 5, 6, 10)).double()
    x = drawn(1, 7, *shape, background=background).double().requires_grad_()
    out = stack(x)
    image = x[0] if colours > 1 else x[0].unsqueeze(-1)
    expected = network(image.permute(0, 3, 1, 2))
    torch.testing.assert_close(out[0, :, 0], expected, rtol=1e-10, atol=1e-12)
    weights = torch.linspace(-1, 1, 10).double()
    ours = torch.autograd.grad((out[0, :, 0] * weights).tanh().sum(), [*stack.parameters(), x])
    theirs = torch.autograd.grad((expected * weights).tanh().sum(), [*network.parameters(), x])
    torch.testing.assert_close(ours[-1], theirs[-1], rtol=1e-8, atol=1e-12)
    count = len(stack.weights)
    for i in range(count):
        mine, other = ours[i][0], theirs[2 * i]
        if i == 0:
            other = other.permute(2, 3, 1, 0)
        elif i == 2:
            other = other.reshape(-1, 5, height * width).permute(2, 1, 0).flatten(0, 1)
        elif i > 2:
            other = other.T
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-12)
        torch.testing.assert_close(ours[count + i][0], theirs[2 * i + 1], rtol=1e-8, atol=1e-12)


def test_the_papers_network_has_its_parameters() -> None:
    stack = ConvNet().stack([0], (28, 56), 1, 10)
    assert sum(p.numel() for p in stack.parameters()) == 1_150_090
    assert stack.weights[2].shape == (1, 17_600, 64)


def test_a_long_pass_is_the_pass_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded; whether a gradient is wanted does not change what comes out."""
    stack = ConvNet(channels=(3, 4), widths=(5,)).stack([0, 1], (12, 16), 1, 3)
    x = drawn(1, 21, 12, 16)
    whole = stack(x)
    monkeypatch.setattr(module, "SLICE", 8)
    with torch.no_grad():
        torch.testing.assert_close(stack(x), whole.detach(), rtol=1e-5, atol=1e-6)
        assert read_sites(stack, x, ["pooled"])["pooled"].shape == (2, 21, 5, 7, 3)


@pytest.mark.parametrize("shared", [True, False])
def test_gradients_have_the_same_bits_alone_and_beside_others(shared: bool) -> None:
    model = ConvNet(channels=(8, 16), widths=(16,))
    x = drawn(1 if shared else 3, 9, 20, 24)

    def gradients(seeds: list[int], inputs: Tensor) -> list[Tensor]:
        stack = model.stack(seeds, (20, 24), 1, 10)
        return list(torch.autograd.grad(stack(inputs).square().sum(), list(stack.parameters())))

    together = gradients([0, 1, 2], x)
    for lane in range(3):
        alone = gradients([lane], x if shared else x[lane : lane + 1])
        for a, b in zip(alone, together, strict=True):
            assert torch.equal(a[0], b[lane])


@pytest.mark.parametrize("shape", [(3,), (7, 28), (28, 28, 3, 1)])
def test_what_is_no_image_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadValue, match="images of at least 8 × 8"):
        ConvNet().stack([0], shape, 1, 10)
