"""Convolution in frequencies is convolution, there and back, and networks cannot tell."""

import pytest
import torch
import torch.nn.functional as F

from recombine.errors import BadValue
from recombine.models import looped
from recombine.models.deep_conv import DeepConv
from recombine.models.spectral import (
    forward_transform,
    inverse_transform,
    pays,
    spectral_convolution,
    spectral_rectified,
)


def _normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize(
    ("size", "kernel"),
    [((7, 7), 3), ((8, 8), 5), ((9, 6), 5), ((6, 13), 4), ((5, 5), 5), ((5, 8), 5), ((4, 4), 1)],
)
def test_values_and_gradients_are_those_of_conv2d(size: tuple[int, int], kernel: int) -> None:
    x = _normal(3, 2, *size).requires_grad_()
    weight = _normal(4, 2, kernel, kernel, seed=1).requires_grad_()
    bias = _normal(4, seed=3).requires_grad_()
    ours, theirs = (f(x, weight, bias) for f in (spectral_convolution, F.conv2d))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    by_y = _normal(*theirs.shape, seed=2)
    found = torch.autograd.grad(ours, [x, weight, bias], by_y)
    wanted = torch.autograd.grad(theirs, [x, weight, bias], by_y)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("size", [(8, 8), (9, 6)])
def test_rectified_with_its_sums(size: tuple[int, int]) -> None:
    x = _normal(*size, 2, 3).requires_grad_()
    weight = _normal(4, 2, 3, 3, seed=1).requires_grad_()
    bias = _normal(4, seed=3).requires_grad_()
    ours = spectral_rectified(x, weight, bias)
    r = F.conv2d(x.permute(3, 2, 0, 1), weight, bias).relu().permute(2, 3, 1, 0)
    theirs = r, r.sum((0, 1, 3)), r.square().sum((0, 1, 3))
    by = [_normal(*part.shape, seed=i) for i, part in enumerate(theirs)]
    found = torch.autograd.grad(ours, [x, weight, bias], by)
    wanted = torch.autograd.grad(theirs, [x, weight, bias], by)
    for a, b in zip((*ours, *found), (*theirs, *wanted), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)


def test_no_images_give_none_back() -> None:
    x, weight = _normal(0, 2, 7, 6).requires_grad_(), _normal(4, 2, 5, 5).requires_grad_()
    y = spectral_convolution(x, weight)
    assert y.shape == (0, 4, 3, 2)
    by_x, by_weight = torch.autograd.grad(y.sum(), [x, weight])
    assert by_x.shape == x.shape and not by_weight.any()


@pytest.mark.parametrize("size", [(4, 9), (9, 4), (4, 4)])
def test_a_kernel_larger_than_the_image_is_refused(size: tuple[int, int]) -> None:
    with pytest.raises(BadValue, match="kernel size"):
        spectral_convolution(_normal(2, 3, *size), _normal(4, 3, 5, 5))


def test_only_the_gradients_that_are_wanted() -> None:
    x, weight = _normal(2, 3, 6, 6), _normal(4, 3, 3, 3).requires_grad_()
    y = spectral_convolution(x, weight, torch.ones(4, dtype=x.dtype))
    torch.testing.assert_close(y, F.conv2d(x, weight, torch.ones(4, dtype=x.dtype)))
    torch.autograd.grad(y.sum(), [weight])


@pytest.mark.parametrize("size", [(6, 6), (7, 4), (1, 5)])
def test_the_transform_is_fouriers(size: tuple[int, int]) -> None:
    images = _normal(*size, 3)
    full = torch.fft.fft2(images, dim=(0, 1))[: size[0] // 2 + 1].flatten(0, 1)
    ours = forward_transform(images, size)
    torch.testing.assert_close(torch.complex(ours[:, 0], ours[:, 1]), full)
    torch.testing.assert_close(inverse_transform(ours, size, size), images)
    cut = inverse_transform(ours, size, (1, 2))
    torch.testing.assert_close(cut, images[:1, :2])


def test_zeros_need_not_be_there() -> None:
    images = _normal(3, 2, 5)
    filled = F.pad(images, (0, 0, 0, 4, 0, 6))
    torch.testing.assert_close(forward_transform(images, (9, 6)), forward_transform(filled, (9, 6)))


def test_it_is_used_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _normal(2, 3, 2, 10, 12, dtype=torch.float32)
    model = DeepConv(channels=(16, 17), kernel=5, dense=(5,))
    used = []

    def counted(*given: torch.Tensor) -> torch.Tensor:
        used.append(given)
        return spectral_convolution(*given)

    def learn() -> list[torch.Tensor]:
        stack = model.stack([3, 4], (2, 10, 12), 1, 2)
        stack.train()
        y = stack(x, lambda _, value: value)  # somebody looks: layer by layer
        return [y, *torch.autograd.grad(y.square().mean(), list(stack.parameters()))]

    monkeypatch.setattr(looped, "spectral_convolution", counted)
    ours = learn()
    assert len(used) == 4  # two layers of two lanes
    monkeypatch.setattr(looped, "pays", lambda *_: False)
    theirs = learn()
    assert len(used) == 4
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_small_kernels_and_few_channels_go_the_plain_way() -> None:
    assert pays(torch.zeros(16, 2, 5, 5))
    assert not pays(torch.zeros(16, 16, 3, 3))
    assert not pays(torch.zeros(8, 16, 5, 5))


def test_a_seed_has_the_same_bits_alone_and_beside_others() -> None:
    x = _normal(1, 5, 2, 12, 14, dtype=torch.float32)
    model = DeepConv(channels=(16, 18), kernel=5, dense=(7,))

    def learn(seeds: list[int]) -> tuple[torch.Tensor, ...]:
        stack = model.stack(seeds, (2, 12, 14), 1, 2)
        stack.train()
        y = stack(x)
        return y, *torch.autograd.grad(y.square().mean((1, 2, 3)).sum(), list(stack.parameters()))

    for together, alone in zip(learn([0, 1, 2]), learn([1]), strict=True):
        assert torch.equal(together[1:2], alone)
