"""Pooling of images that lie pixel by pixel is PyTorch's own."""

import pytest
import torch
import torch.nn.functional as F

from recombine.models.planes import images, max_pool, planes

SHAPES = [(5, 3, 8, 7), (4, 2, 6, 9), (3, 2, 7, 7)]


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def _both_ways(x: torch.Tensor) -> list[torch.Tensor]:
    """The same images, lying image by image and pixel by pixel."""
    return [x.clone().requires_grad_(), _by_pixels(x).detach().requires_grad_()]


def _by_pixels(x: torch.Tensor) -> torch.Tensor:
    return images(planes(x), turned=x.shape[3] > x.shape[2])


@pytest.mark.parametrize("shape", SHAPES)
def test_planes_are_the_same_images_and_stay_where_they_are(shape: tuple[int, ...]) -> None:
    x = _normal(*shape)
    laid = _by_pixels(x)
    assert torch.equal(laid, x)
    assert planes(laid).data_ptr() == laid.data_ptr()


@pytest.mark.parametrize("shape", SHAPES)
def test_max_pooling_is_pytorchs_also_where_pixels_are_equal(shape: tuple[int, ...]) -> None:
    for x in _both_ways((2 * _normal(*shape)).round()):
        ours, theirs = max_pool(x), F.max_pool2d(x, 2)
        assert torch.equal(ours, theirs)
        by_y = _normal(*theirs.shape, seed=1)
        found, wanted = (torch.autograd.grad(y, x, by_y)[0] for y in (ours, theirs))
        assert torch.equal(found, wanted)
        assert found.stride() == x.stride()
