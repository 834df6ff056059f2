"""Products in half precision: eleven binary digits in, float32 sums, float32 parameters.

A processor with units for matrices of 16-bit numbers convolves six to eight times as fast in them
as in float32. So a network may hold the values between its layers as halves (IEEE binary16) and
round its weights to halves for each product, while the products are summed, the norms computed and
the weights kept in float32. Halves have the eleven binary digits of TF32, in which PyTorch
convolves on graphics processors unless told otherwise.

**Small gradients.** A half reaches from 6e-8 (with all digits: from 6e-5) to 65,504; gradients of a
mean over a batch are smaller than that. Where they enter the halves (`left`), those of each lane
are multiplied by the power of two that brings the largest into [½, 1), and where they leave, at a
parameter or an input (`entered`), they are divided by it. A power of two rounds nothing away. Sums
over many pixels may grow beyond the first gradients by a factor of 65,504 before they overflow.

On a processor without such units the same values are convolved in float32, at its usual speed.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from recombine.models.stack import Tap, untouched


class Halves:
    """One pass through the layers of a stack that hold halves, and back."""

    def __init__(self, lanes: int) -> None:
        self.scale = torch.ones(lanes)
        """What the gradients of each lane are multiplied by on the way back."""

    def entered(self, lane: int, *numbers: Tensor | None) -> tuple[Any, ...]:
        """Inputs and parameters of a lane as halves; halves stay what they are."""
        return tuple(
            x if x is None or x.dtype == torch.half else self._passed(x, lane, torch.half)
            for x in numbers
        )

    def beside(self, lane: int, parameter: Tensor) -> Tensor:
        """A parameter of a lane that a layer with halves reads in float32, such as a norm's."""
        return self._passed(parameter, lane, torch.float32)

    def _passed(self, x: Tensor, lane: int, dtype: torch.dtype) -> Tensor:
        return _Entered.apply(x, self, lane, dtype)  # type: ignore[no-untyped-call,no-any-return]

    def shown_to(self, tap: Tap) -> Tap:
        """The tap, which sees float32 at every site, and whose answers are halves again."""
        if tap is untouched:
            return tap
        return lambda site, value: tap(site, value.float()).to(value.dtype)

    def left(self, h: Float[Tensor, "seed *rest"]) -> Float[Tensor, "seed *rest"]:
        """The halves of all lanes as float32, for the layers that follow."""
        return _Left.apply(h, self)  # type: ignore[no-untyped-call,no-any-return]


class _Entered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, halves: Halves, lane: int, dtype: torch.dtype) -> Tensor:
        ctx.halves, ctx.lane = halves, lane
        return x.to(dtype, copy=True)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_half: Tensor) -> tuple[Tensor | None, ...]:
        return by_half.float().div_(ctx.halves.scale[ctx.lane]), None, None, None


class _Left(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, halves: Halves) -> Tensor:
        ctx.halves = halves
        return h.float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_h: Tensor) -> tuple[Tensor | None, ...]:
        largest = by_h.abs().flatten(1).amax(1)
        scale = torch.ldexp(torch.ones_like(largest), -torch.frexp(largest).exponent)
        ctx.halves.scale = scale
        return (by_h * scale.view(-1, *[1] * (by_h.dim() - 1))).half(), None


def pooled_by_pixels(x: Float[Tensor, "batch channel h w"]) -> Tensor:
    """F.max_pool2d(x, 2), whose gradient lies in memory pixel by pixel, as all before it does."""
    return _Laid.apply(F.max_pool2d(x, 2))  # type: ignore[no-untyped-call,no-any-return]


class _Laid(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, by_x: Tensor) -> Tensor:
        return by_x.contiguous(memory_format=torch.channels_last)


def half_convolution(
    x: Float[Tensor, "batch in h w"],
    weight: Float[Tensor, "out in k k"],
    bias: Float[Tensor, " out"] | None,
) -> Float[Tensor, "batch out h2 w2"]:
    """F.conv2d of halves, lying in memory pixel by pixel."""
    pixels = torch.channels_last
    x, weight = x.contiguous(memory_format=pixels), weight.contiguous(memory_format=pixels)
    if fast(x.device):
        return F.conv2d(x, weight, bias)
    return F.conv2d(x.float(), weight.float(), None if bias is None else bias.float()).half()


def fast(device: torch.device) -> bool:
    """Whether this device multiplies halves faster than float32."""
    if device.type != "cpu":
        return True
    return bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())
