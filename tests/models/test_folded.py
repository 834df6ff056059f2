"""Blocks whose norms are folded away are PyTorch's convolution, ReLU, batch norm and pooling."""

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from recombine.models import deep_conv
from recombine.models.deep_conv import DeepConv
from recombine.models.folded import Block, folded_blocks
from recombine.models.stack import Stack


def _normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def _blocks(*channels: int, kernel: int) -> list[Block]:
    """Blocks with gains of both signs, and running statistics of their own."""
    found = []
    for i, (before, after) in enumerate(pairwise(channels)):
        weight = _normal(after, before, kernel, kernel, seed=10 * i).requires_grad_()
        bias, gain, offset = (_normal(after, seed=10 * i + j).requires_grad_() for j in range(1, 4))
        running = torch.zeros(after).double(), torch.ones(after).double()
        found.append(Block(weight, bias, gain, offset, *running))
    return found


def _plain(x: torch.Tensor, blocks: list[Block]) -> torch.Tensor:
    for b in blocks:
        h = F.conv2d(x, b.weight, b.bias).relu()
        x = F.batch_norm(h, b.mean, b.variance, b.gain, b.offset, training=True)
    return F.max_pool2d(x, 2)


@pytest.mark.parametrize("size", [(11, 9), (9, 12), (10, 10)])
@pytest.mark.parametrize("depth", [1, 3])
def test_values_gradients_and_running_statistics_are_pytorchs(
    size: tuple[int, int], depth: int
) -> None:
    x = _normal(4, 2, *size, seed=5).requires_grad_()
    found = []
    for layers in (folded_blocks, _plain):
        blocks = _blocks(*(2, 3, 4, 3)[: depth + 1], kernel=3)
        y = layers(x, blocks)
        learned = [p for b in blocks for p in (b.weight, b.bias, b.gain, b.offset)]
        gradients = torch.autograd.grad(y, [x, *learned], _normal(*y.shape, seed=6))
        found.append([y, *gradients, *(s for b in blocks for s in (b.mean, b.variance))])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_a_channel_that_is_always_silent_has_no_nan() -> None:
    (block,) = _blocks(2, 3, kernel=3)
    with torch.no_grad():
        block.bias[1] = -1e3
    x = _normal(4, 2, 8, 8)
    ours = folded_blocks(x, [block])
    torch.testing.assert_close(ours, _plain(x, [block]))
    assert all(g.isfinite().all() for g in torch.autograd.grad(ours.sum(), [block.weight]))


def _stack(seeds: list[int]) -> Stack:
    stack = DeepConv(channels=(16, 17), kernel=5, dense=(5,)).stack(seeds, (2, 10, 12), 1, 2)
    stack.train()
    return stack


def test_training_folds_where_it_pays_and_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, used = _normal(2, 3, 2, 10, 12, dtype=torch.float32), []

    def counted(*given: object) -> torch.Tensor:
        used.append(given)
        return folded_blocks(*given)  # type: ignore[arg-type]

    def learn(looks: bool) -> list[torch.Tensor]:
        stack = _stack([3, 4])
        y = stack(x, lambda _, value: value) if looks else stack(x)
        gradients = torch.autograd.grad(y.square().mean(), list(stack.parameters()))
        return [y, *gradients, *(b for n, b in stack.named_buffers() if "step" not in n)]

    monkeypatch.setattr(deep_conv, "folded_blocks", counted)
    ours = learn(looks=False)
    assert len(used) == 2  # a lane each
    theirs = learn(looks=True)
    assert len(used) == 2
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    with torch.no_grad():
        _stack([3]).eval()(x[:1])
    assert len(used) == 2
