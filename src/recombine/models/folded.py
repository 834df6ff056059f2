"""Blocks of convolution, ReLU and batch norm in training, each norm folded into what follows it.

Batch norm scales and moves each channel, y = a r + c, with a = γ/s and c = β − a m, where m and s²
are mean and variance of r in this batch. A convolution without padding cannot tell whether that is
done to the image or to its kernels:

    w_o ⋆ (a r + c) + b_o  =  Σ_i (a_i w_oi) ⋆ r_i  +  b_o + Σ_i c_i Σ w_oi.

So no image is ever walked through for a norm. Kernels are small, and autograd finds the gradients
of a and c in theirs; those of m and s² go into Σ r and Σ r², which the convolution returns. A
maximum over pixels commutes with the last norm where a ≥ 0; where a < 0 it is one of −r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from recombine.models.planes import images, max_pool, planes
from recombine.models.spectral import spectral_rectified

EPS, MOMENTUM = 1e-5, 0.1
"""Batch norm's constants in PyTorch."""


@dataclass(frozen=True)
class Block:
    """Parameters of a convolution and its batch norm; running mean and variance are updated."""

    weight: Float[Tensor, "out in k k"]
    bias: Float[Tensor, " out"]
    gain: Float[Tensor, " out"]
    offset: Float[Tensor, " out"]
    mean: Float[Tensor, " out"]
    variance: Float[Tensor, " out"]


def folded_blocks(
    x: Float[Tensor, "batch channel h w"], blocks: Sequence[Block]
) -> Float[Tensor, "batch out half_h half_w"]:
    """The blocks one after the other, and a 2 × 2 max-pooling."""
    turned = x.shape[3] > x.shape[2]
    r, a, c = planes(x), x.new_ones(x.shape[1]), x.new_zeros(x.shape[1])
    for block in blocks:
        weight = block.weight.mT if turned else block.weight
        bias = block.bias + (weight.sum((2, 3)) * c).sum(1)
        r, total, squares = spectral_rectified(r, weight * a[:, None, None], bias)
        a, c = _norm(block, total, squares, r[:, :, 0].numel())
    signs = torch.where(a < 0, -1.0, 1.0)
    if (a < 0).any():
        r = r * signs[:, None]
    pooled = max_pool(images(r, turned=turned))
    return pooled * (a * signs)[:, None, None] + c[:, None, None]


def _norm(
    block: Block, total: Float[Tensor, " out"], squares: Float[Tensor, " out"], n: int
) -> tuple[Float[Tensor, " out"], Float[Tensor, " out"]]:
    """a and c of the norm of n numbers a channel; the running mean and variance are updated."""
    mean = total / n
    variance = (squares / n - mean * mean).clamp(min=0)  # rounding may leave less than 0
    with torch.no_grad():
        block.mean.lerp_(mean, MOMENTUM)
        block.variance.lerp_(variance * (n / (n - 1)), MOMENTUM)
    a = block.gain * (variance + EPS).rsqrt()
    return a, block.offset - a * mean
