"""Batch norm and max-pooling of images that lie in memory pixel by pixel.

Convolution in frequencies (`spectral`) leaves images as [long side, short side, channel, image].
PyTorch's own layers would lay them anew, or walk through them number by number. Ours give the same
values and gradients, up to rounding, by operations on whole planes.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

Images = Float[Tensor, "batch channel h w"]
Planes = Float[Tensor, "long short channel batch"]
Flat = Float[Tensor, "pixel column"]
"""Planes with all pixels in one dimension and all channels of all images in the other."""
Pooled = Float[Tensor, "batch channel half_h half_w"]
EPS, MOMENTUM = 1e-5, 0.1
"""Batch norm's constants in PyTorch."""


def planes(x: Images) -> Planes:
    """Images pixel by pixel, along the longer side; those that already lie so are not copied."""
    upright = x.mT if x.shape[3] > x.shape[2] else x
    return upright.permute(2, 3, 1, 0).contiguous()


def images(x: Planes, *, turned: bool) -> Images:
    """Planes as images again, wider than high if they were `turned`; nothing moves in memory."""
    upright = x.permute(3, 2, 0, 1)
    return upright.mT if turned else upright


def channel_sums(x: Planes) -> Float[Tensor, " channel"]:
    """The sum over all pixels of all images, as a product with ones: a third of `sum`'s time."""
    flat = x.flatten(2).flatten(0, 1)
    return torch.mm(flat.new_ones(1, len(flat)), flat).view(x.shape[2:]).sum(1)


def batch_norm(
    x: Images,
    mean: Float[Tensor, " channel"],
    variance: Float[Tensor, " channel"],
    weight: Float[Tensor, " channel"],
    bias: Float[Tensor, " channel"],
) -> Images:
    """F.batch_norm in training; the running mean and variance are updated in place."""
    y = _BatchNorm.apply(planes(x), mean, variance, weight, bias)  # type: ignore[no-untyped-call]
    return images(y, turned=x.shape[3] > x.shape[2])


class _BatchNorm(torch.autograd.Function):
    """y = w (x - m)/s + b, where m and s² are mean and variance of a channel in this batch.

    m and s move with x. So from g = ∂y, with sums over the n pixels of all images of a channel,

        ∂b = Σ g,   ∂w = Σ g (x - m)/s,   ∂x = w/s · (g - ∂b/n - (x - m)/s · ∂w/n).
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Planes,
        mean: Float[Tensor, " channel"],
        variance: Float[Tensor, " channel"],
        weight: Float[Tensor, " channel"],
        bias: Float[Tensor, " channel"],
    ) -> Planes:
        n = x[:, :, 0].numel()
        m = channel_sums(x) / n
        centred = x - m[:, None]
        v = channel_sums(centred * centred) / n
        mean.lerp_(m, MOMENTUM)
        variance.lerp_(v * (n / (n - 1)), MOMENTUM)
        one_by_s = (v + EPS).rsqrt()
        ctx.save_for_backward(centred, one_by_s, weight)
        return _plus_scaled(bias, centred, weight * one_by_s)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Planes) -> tuple[Tensor | None, ...]:
        centred, one_by_s, weight = ctx.saved_tensors
        n = g[:, :, 0].numel()
        g = g.contiguous()
        by_bias, by_weight = channel_sums(g), channel_sums(g * centred) * one_by_s
        scale = weight * one_by_s
        by_x = _plus_scaled(-scale * by_bias / n, g, scale)
        by_x = _plus_scaled(by_x, centred, -scale * one_by_s * by_weight / n)
        return by_x, None, None, by_weight, by_bias


def _plus_scaled(
    base: Planes | Float[Tensor, " channel"], x: Planes, scale: Float[Tensor, " channel"]
) -> Planes:
    """base + scale x, channel by channel, in one walk through memory."""
    batch = x.shape[3]
    row = base.flatten(2) if base.dim() > 1 else base.repeat_interleave(batch)
    return torch.addcmul(row, x.flatten(2), scale.repeat_interleave(batch)).view(x.shape)


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
