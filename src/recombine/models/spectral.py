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

**A row at a time.** A core multiplies faster than memory brings it numbers, the more so when all
cores work. So whatever needs no more than a row of frequencies is done while that row is in the
core's cache: the transform along the width, the products, and the way back along the width. The way
back along the height goes column by column of pixels, with ReLU and the sums that batch norm needs.
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
from recombine.models.planes import images, planes

KERNEL, CHANNELS = 5, 16
"""From this size of kernel and number of channels on it is faster than F.conv2d."""
Size = tuple[int, int]
"""Height and width."""
Columns = Float[Tensor, "h w column"]
Spectrum = Float[Tensor, "frequency 2 column"]
Kernels = Float[Tensor, "frequency side twice_out twice_in"]


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
    y, _, _ = _Spectral.apply(planes(x), weight, bias, False)  # type: ignore[no-untyped-call]
    return images(y, turned=turned)


def spectral_rectified(
    x: Float[Tensor, "h w in batch"],
    weight: Float[Tensor, "out in k k"],
    bias: Float[Tensor, " out"],
) -> tuple[Float[Tensor, "h2 w2 out batch"], Float[Tensor, " out"], Float[Tensor, " out"]]:
    """r = relu(w ⋆ x + b), and of each channel Σ r and Σ r² over all pixels of all images."""
    found = _Spectral.apply(x, weight, bias, True)  # type: ignore[no-untyped-call]
    return found  # type: ignore[no-any-return]


class _Spectral(torch.autograd.Function):
    """w ⋆ x + b, or its ReLU with sums of that and of its square (else these are zeros)."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "h w in batch"],
        weight: Float[Tensor, "out in k k"],
        bias: Float[Tensor, " out"] | None,
        rectified: bool,
    ) -> tuple[Float[Tensor, "h2 w2 out batch"], Float[Tensor, " out"], Float[Tensor, " out"]]:
        height, width, _, batch = x.shape
        out, kernel = len(weight), tuple(weight.shape[2:])
        cut = height - kernel[0] + 1, width - kernel[1] + 1
        kernels = _conjugate(weight, (height, width))
        rows = torch.mm(_down(height, height, x.dtype), x.flatten(1))
        found, spectrum = _multiplied(rows.view(len(kernels), 2 * width, -1), kernels, cut[1])
        if bias is not None:  # a constant is the frequency zero, which is divided by all pixels
            found[0, : cut[1]] += (height * width * bias).repeat_interleave(batch)
        y, *sums = _pixels(found, (height, width), cut, rectified=rectified)
        y = y.view(*cut, out, batch)
        ctx.size, ctx.kernel = (height, width), kernel
        ctx.save_for_backward(y if rectified else None, spectrum, kernels)
        total, squares = (part.view(out, batch).sum(1) for part in sums)
        return y, total, squares

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        by_y: Float[Tensor, "h2 w2 out batch"],
        by_sum: Float[Tensor, " out"],
        by_squares: Float[Tensor, " out"],
    ) -> tuple[Tensor | None, ...]:
        r, spectrum, kernels = ctx.saved_tensors
        out, batch = by_y.shape[2:]
        rows = _gradient_rows(by_y, r, by_sum, by_squares, ctx.size[0])
        wanted = ctx.needs_input_grad
        by_x, by_weight = _multiplied_back(rows, spectrum, kernels, wanted[0], wanted[1])
        if by_x is not None:
            by_x, *_ = _pixels(by_x, ctx.size, ctx.size, rectified=False)
            by_x = by_x.view(*ctx.size, -1, batch)
        if by_weight is not None:
            by_weight = inverse_transform(by_weight.flatten(3).flatten(0, 1), ctx.size, ctx.kernel)
            by_weight = by_weight.view(*ctx.kernel, -1, out).permute(3, 2, 0, 1)
        by_bias = None
        if wanted[2]:  # the sum over all pixels is the frequency zero
            by_bias = rows[0, : by_y.shape[1]].sum(0).view(out, batch).sum(1)
        return by_x, by_weight, by_bias, None


def _multiplied(
    rows: Float[Tensor, "frequency part_side column"], kernels: Kernels, pixels: int
) -> tuple[
    Float[Tensor, "frequency part_cut out_batch"], Float[Tensor, "frequency side_part column"]
]:
    """conj(W) X, back along the width; and X. Rows of numbers come and go; one is in the cache."""
    _, side, twice_out, twice_in = kernels.shape
    batch = 2 * rows.shape[2] // twice_in
    forth, back = _turn(side, side, rows.dtype), _turn_back(side, pixels, rows.dtype)
    spectrum, product = torch.empty_like(rows), rows.new_empty(side, twice_out, batch)
    found = rows.new_empty(len(rows), 2 * pixels, twice_out * batch // 2)
    turned = product.view(2 * side, -1)
    for row, x, w, y in zip(rows, spectrum, kernels, found, strict=True):
        torch.mm(forth, row, out=x)
        torch.bmm(w, x.view(side, twice_in, batch), out=product)
        torch.mm(back, turned, out=y)
    return found, spectrum


def _multiplied_back(
    rows: Float[Tensor, "frequency part_cut out_batch"],
    spectrum: Float[Tensor, "frequency side_part column"],
    kernels: Kernels,
    x_wanted: bool,
    w_wanted: bool,
) -> tuple[
    Float[Tensor, "frequency part_side column"] | None,
    Float[Tensor, "frequency side 2 channel out"] | None,
]:
    """∂x, back along the width, and ∂W, of those that are wanted."""
    _, side, twice_out, twice_in = kernels.shape
    batch, sizes = 2 * rows.shape[2] // twice_out, (twice_in // 2, 2, twice_out // 2)
    forth = _turn(side, rows.shape[1] // 2, rows.dtype)
    back = _turn_back(side, side, rows.dtype)
    y, product = (rows.new_empty(side, n, batch) for n in (twice_out, twice_in))
    both = rows.new_empty(side, twice_in, twice_out)
    blocks = both.view(side, 2, *sizes)
    by_x = torch.empty_like(spectrum) if x_wanted else None
    by_weight = rows.new_empty(len(rows), side, 2, sizes[0], sizes[2]) if w_wanted else None
    for f, (row, x, w) in enumerate(zip(rows, spectrum, kernels, strict=True)):
        torch.mm(forth, row, out=y.view(2 * side, -1))
        if by_x is not None:
            torch.bmm(w.mT, y, out=product)
            torch.mm(back, product.view(2 * side, -1), out=by_x[f])
        if by_weight is not None:
            torch.bmm(x.view(side, twice_in, batch), y.mT, out=both)
            torch.add(blocks[:, 0, :, 0], blocks[:, 1, :, 1], out=by_weight[f, :, 0])
            torch.sub(blocks[:, 1, :, 0], blocks[:, 0, :, 1], out=by_weight[f, :, 1])
    return by_x, by_weight


def _pixels(
    rows: Float[Tensor, "frequency part_width column"], size: Size, cut: Size, *, rectified: bool
) -> tuple[Float[Tensor, "h w column"], Float[Tensor, " column"], Float[Tensor, " column"]]:
    """The way back along the height; with ReLU and the sums of it and of its square, if wanted."""
    columns = rows.shape[2]
    y = rows.new_empty(*cut, columns)
    sums = rows.new_zeros(2, cut[1], columns)
    up, rows = _up(size, cut[0], rows.dtype), rows.view(-1, cut[1], columns)
    ones, squares = up.new_ones(1, cut[0]), up.new_empty(cut[0], columns)
    for w in range(cut[1]):
        torch.mm(up, rows[:, w], out=y[:, w])
        if rectified:
            y[:, w].clamp_(min=0)
            torch.mm(ones, y[:, w], out=sums[0, w : w + 1])
            torch.mm(ones, torch.mul(y[:, w], y[:, w], out=squares), out=sums[1, w : w + 1])
    return y, *sums.sum(1)


def _gradient_rows(
    by_y: Float[Tensor, "h w out batch"],
    r: Float[Tensor, "h w out batch"] | None,
    by_sum: Float[Tensor, " out"],
    by_squares: Float[Tensor, " out"],
    height: int,
) -> Float[Tensor, "frequency part_width column"]:
    """The gradient in w ⋆ x + b along the height in frequencies.

    Through r = relu(…), Σ r and Σ r² it is (∂y + ∂Σr + 2r ∂Σr²), and 0 where r is.
    """
    pixels, width, out, batch = by_y.shape
    by_y, down = by_y.contiguous().flatten(2), _down(height, pixels, by_y.dtype)
    rows = by_y.new_empty(len(down), width, out * batch)
    constant, slope = (part.repeat_interleave(batch) for part in (by_sum, 2 * by_squares))
    gradient = by_y.new_empty(pixels, out * batch)
    for w in range(width):
        if r is None:
            gradient = by_y[:, w]
        else:
            here = r[:, w].flatten(1)
            torch.addcmul(by_y[:, w], here, slope, out=gradient)
            gradient += constant
            torch.ops.aten.threshold_backward(gradient, here, 0, grad_input=gradient)
        torch.mm(down, gradient, out=rows[:, w])
    return rows.view(len(down) // 2, 2 * width, -1)


def _conjugate(weight: Float[Tensor, "out in k k"], size: Size) -> Kernels:
    """conj(W) of every frequency as a real matrix: [[W_r, W_i], [−W_i, W_r]]."""
    out, channels = weight.shape[:2]
    columns = weight.permute(2, 3, 0, 1).contiguous().flatten(2)
    spectrum = forward_transform(columns, size).view(-1, size[1], 2, out, channels)
    real, imaginary = spectrum.unbind(2)
    found = real.new_empty(*real.shape[:2], 2, out, 2, channels)
    found[:, :, 0, :, 0] = found[:, :, 1, :, 1] = real
    found[:, :, 0, :, 1] = imaginary
    torch.neg(imaginary, out=found[:, :, 1, :, 0])
    return found.view(len(real), size[1], 2 * out, 2 * channels)


def forward_transform(pixels: Columns, size: Size) -> Spectrum:
    """The frequencies of images that are filled up with zeros to a size."""
    height, width, columns = pixels.shape
    rows = torch.mm(_down(size[0], height, pixels.dtype), pixels.view(height, -1))
    rows = rows.view(-1, 2 * width, columns)
    return torch.matmul(_turn(size[1], width, pixels.dtype), rows).view(-1, 2, columns)


def inverse_transform(spectrum: Spectrum, size: Size, cut: Size) -> Columns:
    """The first rows and columns of the images that have these frequencies."""
    columns, back = spectrum.shape[2], _turn_back(size[1], cut[1], spectrum.dtype)
    rows = torch.matmul(back, spectrum.view(-1, 2 * size[1], columns))
    up = _up(size, cut[0], spectrum.dtype)
    return torch.mm(up, rows.view(up.shape[1], -1)).view(*cut, columns)


@lru_cache(maxsize=256)
def _down(side: int, pixels: int, dtype: torch.dtype) -> Float[Tensor, "frequency_part pixel"]:
    """From real pixels to (frequency, part), for the lower half of the frequencies."""
    cos, sin = (part[: side // 2 + 1] for part in _circle(side, pixels))
    return torch.stack([cos, -sin], 1).flatten(0, 1).to(dtype)


@lru_cache(maxsize=256)
def _up(size: Size, pixels: int, dtype: torch.dtype) -> Float[Tensor, "pixel frequency_part"]:
    """The way back to real pixels: each frequency but the first (and the middle one) is two."""
    half = size[0] // 2 + 1
    cos, sin = (part[:half] for part in _circle(size[0], pixels))
    stands = cos.new_tensor([1 if 2 * f in (0, size[0]) else 2 for f in range(half)])
    found = torch.stack([cos, -sin], 1) * (stands / math.prod(size))[:, None, None]
    return found.flatten(0, 1).T.to(dtype).contiguous()


@lru_cache(maxsize=256)
def _turn(side: int, pixels: int, dtype: torch.dtype) -> Float[Tensor, "frequency_part part_pixel"]:
    """Of complex numbers (part, pixel): (a + ib)(cos θ − i sin θ), as rows of (frequency, part)."""
    cos, sin = _circle(side, pixels)
    rows = torch.stack([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)], 1)
    return rows.flatten(0, 1).to(dtype)


@lru_cache(maxsize=256)
def _turn_back(
    side: int, pixels: int, dtype: torch.dtype
) -> Float[Tensor, "part_pixel frequency_part"]:
    """Back from (frequency, part): (a + ib)(cos θ + i sin θ), as rows of (part, pixel)."""
    return _turn(side, pixels, dtype).T.contiguous()


@lru_cache(maxsize=256)
def _circle(
    side: int, pixels: int
) -> tuple[Float[Tensor, "frequency pixel"], Float[Tensor, "frequency pixel"]]:
    """cos and sin of θ = 2π f p / side, for all frequencies f and the first pixels p."""
    turns = torch.outer(torch.arange(side), torch.arange(pixels)) % side
    angles = turns.double() * (2 * math.pi / side)
    return angles.cos(), angles.sin()
