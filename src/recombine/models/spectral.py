"""Convolution in frequencies: the same numbers in an eighth of the operations.

A convolution with k × k kernels, only where they lie within the image, takes k² products for each
pixel, channel in and channel out. In frequencies it takes one complex product,

    y_o = Σ_c w_oc ⋆ x_c      becomes      Y_o(f) = Σ_c conj(W_oc(f)) X_c(f),

a product of matrices for every frequency f. The transform is periodic, so the last k − 1 rows and
columns of y are wrong: just those where a kernel would reach over the edge. They are not computed.
The way back fits into the same period, because a gradient of h − k + 1 pixels and a kernel of k
make h:

    ∂x_c = Σ_o W_oc ∂Y_o  (all of it),      ∂w_oc = Σ_images conj(∂Y_o) X_c  (its first k × k).

**Transforms are products too.** For 16 to 48 pixels a matrix of cosines and sines is as fast as a
fast transform, and it can leave out the zeros that fill an image up and the pixels that nobody asks
for. Images lie in memory as [height, width, channel, image]: a transform then multiplies whole
planes from the left, first along the height, where a real image needs half of the frequencies,
then along the width, and leaves [frequency, (real, imaginary) × channel, image]. So a complex
product is a real one of twice the size, with [[W_r, W_i], [−W_i, W_r]] for conj(W).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from recombine.errors import BadValue
from recombine.models.planes import channel_sums, images, planes

KERNEL, CHANNELS = 5, 16
"""From this size of kernel and number of channels on it is faster than F.conv2d."""
Size = tuple[int, int]
"""Height and width."""
Columns = Float[Tensor, "h w column"]
Spectrum = Float[Tensor, "frequency 2 column"]


def pays(weight: Float[Tensor, "out in k k"]) -> bool:
    """Whether a convolution without padding by these kernels is faster this way."""
    small = weight.shape[-1] < KERNEL or len(weight) < CHANNELS
    return weight.device.type == "cpu" and not small


def spectral_convolution(
    x: Float[Tensor, "batch in h w"],
    weight: Float[Tensor, "out in k k"],
    bias: Float[Tensor, " out"] | None = None,
) -> Float[Tensor, "batch out h2 w2"]:
    """What F.conv2d gives, lying in memory pixel by pixel.

    The longer side comes first there: its transform is the one that is halved.
    """
    size, kernel = tuple(x.shape[2:]), tuple(weight.shape[2:])
    if kernel[0] > size[0] or kernel[1] > size[1]:
        raise BadValue("kernel size", kernel, f"no more than the image has pixels, {size}")
    if not len(x):  # no images: there is nothing to lay in memory
        return F.conv2d(x, weight, bias)
    turned = x.shape[3] > x.shape[2]
    if turned:
        weight = weight.mT
    y = _Spectral.apply(planes(x), weight, bias)  # type: ignore[no-untyped-call]
    return images(y, turned=turned)


class _Spectral(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "h w in batch"],
        weight: Float[Tensor, "out in k k"],
        bias: Float[Tensor, " out"] | None,
    ) -> Float[Tensor, "h2 w2 out batch"]:
        height, width, channels, batch = x.shape
        out, _, *kernel = weight.shape
        ctx.size, ctx.kernel = (height, width), tuple(kernel)
        spectrum = forward_transform(x.flatten(2), ctx.size).view(-1, 2 * channels, batch)
        kernels = _conjugate(forward_transform(_columns(weight), ctx.size), out)
        ctx.save_for_backward(spectrum, kernels)
        found = torch.bmm(kernels, spectrum).view(-1, 2, out * batch)
        cut = height - kernel[0] + 1, width - kernel[1] + 1
        y = inverse_transform(found, ctx.size, cut).view(*cut, out, batch)
        return y if bias is None else y.add_(bias.unsqueeze(1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_y: Float[Tensor, "h2 w2 out batch"]) -> tuple[Tensor | None, ...]:
        spectrum, kernels = ctx.saved_tensors
        out, batch = by_y.shape[2:]
        channels = spectrum.shape[1] // 2
        by_y = by_y.contiguous()
        back = forward_transform(by_y.flatten(2), ctx.size).view(-1, 2 * out, batch)
        by_x = by_weight = by_bias = None
        if ctx.needs_input_grad[0]:
            found = torch.bmm(kernels.mT, back).view(-1, 2, channels * batch)
            by_x = inverse_transform(found, ctx.size, ctx.size)
            by_x = by_x.view(*ctx.size, channels, batch)
        if ctx.needs_input_grad[1]:
            both = torch.bmm(back, spectrum.mT).view(-1, 2, out, 2, channels)
            real = both[:, 0, :, 0] + both[:, 1, :, 1]
            imaginary = both[:, 0, :, 1] - both[:, 1, :, 0]
            found = torch.stack([real, imaginary], 1).view(-1, 2, out * channels)
            by_weight = inverse_transform(found, ctx.size, ctx.kernel)
            by_weight = by_weight.view(*ctx.kernel, out, channels).permute(2, 3, 0, 1)
        if ctx.needs_input_grad[2]:
            by_bias = channel_sums(by_y)
        return by_x, by_weight, by_bias


def _columns(weight: Float[Tensor, "out in k k"]) -> Columns:
    return weight.permute(2, 3, 0, 1).contiguous().flatten(2)


def _conjugate(spectrum: Spectrum, out: int) -> Float[Tensor, "frequency twice_out twice_in"]:
    """conj(W) as a real matrix: [[W_r, W_i], [−W_i, W_r]]."""
    real, imaginary = spectrum.view(len(spectrum), 2, out, -1).unbind(1)
    channels = real.shape[2]
    found = real.new_empty(len(real), 2, out, 2, channels)
    found[:, 0, :, 0] = found[:, 1, :, 1] = real
    found[:, 0, :, 1] = imaginary
    torch.neg(imaginary, out=found[:, 1, :, 0])
    return found.view(-1, 2 * out, 2 * channels)


def forward_transform(pixels: Columns, size: Size) -> Spectrum:
    """The frequencies of images that are filled up with zeros to a size."""
    height, width, columns = pixels.shape
    half = size[0] // 2 + 1
    # Along the height: rows of (frequency, part), for the lower half of the frequencies.
    cos, sin = _circle(size[0], height, pixels.dtype)
    down = torch.stack([cos[:half], -sin[:half]], 1).flatten(0, 1)
    found = torch.mm(down, pixels.view(height, -1)).view(half, 2 * width, columns)
    # Along the width, of complex numbers: (a + ib)(cos θ − i sin θ).
    cos, sin = _circle(size[1], width, pixels.dtype)
    turn = torch.stack([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)], 1).flatten(0, 1)
    return torch.matmul(turn, found).view(-1, 2, columns)


def inverse_transform(spectrum: Spectrum, size: Size, cut: Size) -> Columns:
    """The first rows and columns of the images that have these frequencies."""
    columns, half = spectrum.shape[2], size[0] // 2 + 1
    # Along the width: (a + ib)(cos θ + i sin θ), rows of (part, pixel).
    cos, sin = (part.T for part in _circle(size[1], cut[1], spectrum.dtype))
    turn = torch.cat([torch.stack([cos, -sin], 2), torch.stack([sin, cos], 2)]).flatten(1)
    found = torch.matmul(turn, spectrum.view(half, -1, columns))
    # Along the height: each frequency but the first (and the middle one) stands for two.
    cos, sin = _circle(size[0], cut[0], spectrum.dtype)
    stands = cos.new_tensor([1 if 2 * f in (0, size[0]) else 2 for f in range(half)])
    down = torch.stack([cos[:half], -sin[:half]], 1) * (stands / math.prod(size))[:, None, None]
    return torch.mm(down.flatten(0, 1).T, found.view(2 * half, -1)).view(*cut, columns)


@lru_cache(maxsize=256)
def _circle(
    side: int, pixels: int, dtype: torch.dtype
) -> tuple[Float[Tensor, "frequency pixel"], Float[Tensor, "frequency pixel"]]:
    """cos and sin of θ = 2π f p / side, for all frequencies f and the first pixels p."""
    turns = torch.outer(torch.arange(side), torch.arange(pixels)) % side
    angles = turns.double() * (2 * math.pi / side)
    return angles.cos().to(dtype), angles.sin().to(dtype)
