"""Images that lie in memory pixel by pixel, and their max-pooling.

Convolution in frequencies (`spectral`) leaves images as [long side, short side, channel, image].
PyTorch's own pooling would lay them anew. Ours gives the same values and gradients by operations on
whole planes.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

Images = Float[Tensor, "batch channel h w"]
Planes = Float[Tensor, "long short channel batch"]
Pooled = Float[Tensor, "batch channel half_h half_w"]


def planes(x: Images) -> Planes:
    """Images pixel by pixel, along the longer side; those that already lie so are not copied."""
    upright = x.mT if x.shape[3] > x.shape[2] else x
    return upright.permute(2, 3, 1, 0).contiguous()


def images(x: Planes, *, turned: bool) -> Images:
    """Planes as images again, wider than high if they were `turned`; nothing moves in memory."""
    upright = x.permute(3, 2, 0, 1)
    return upright.mT if turned else upright


def max_pool(x: Images) -> Pooled:
    """F.max_pool2d(x, 2), with the images left where they lie in memory."""
    return _MaxPool.apply(x)  # type: ignore[no-untyped-call,no-any-return]


class _MaxPool(torch.autograd.Function):
    """The largest of each 2 × 2 pixels. Of equals the first gets the gradient, row by row."""

    @staticmethod
    def forward(ctx: Any, x: Images) -> Pooled:
        first, second, third, fourth = _four(x)
        largest = torch.maximum(torch.maximum(first, second), torch.maximum(third, fourth))
        ctx.save_for_backward(x, largest)
        return largest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Pooled) -> Images:
        x, largest = ctx.saved_tensors
        by_x = torch.zeros_like(x)
        left = torch.empty_like(largest).copy_(g)  # laid as the images are
        for pixel, by_pixel in zip(_four(x), _four(by_x), strict=True):
            torch.mul(left, pixel == largest, out=by_pixel)
            left -= by_pixel
        return by_x


def _four(x: Images) -> tuple[Pooled, Pooled, Pooled, Pooled]:
    """The four pixels of every square; a last odd row or column belongs to none."""
    height, width = (side - side % 2 for side in x.shape[2:])
    rows = x[:, :, 0:height:2], x[:, :, 1:height:2]
    (a, b), (c, d) = ((row[..., 0:width:2], row[..., 1:width:2]) for row in rows)
    return a, b, c, d
