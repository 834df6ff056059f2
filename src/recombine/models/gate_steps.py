"""The gates of a recurrent step in one autograd node, for when nobody looks at them.

A step at batch 1 is a dozen operations on a few hundred numbers, and autograd's book-keeping for
each costs more than the operation. These nodes compute exactly what the cells write out, forward
bit for bit, and their gradients by hand.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

tanh_backward = torch.ops.aten.tanh_backward
sigmoid_backward = torch.ops.aten.sigmoid_backward


def half_tanh(x: Tensor) -> Tensor:
    """(1 + tanh(x/2)) / 2, the sigmoid."""
    return torch.tanh(x * 0.5).mul_(0.5).add_(0.5)


class Sigmoid(torch.autograd.Function):
    """The sigmoid by itself."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = half_tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return sigmoid_backward(gradient, y)  # type: ignore[no-any-return]


class GRUGates(torch.autograd.Function):
    """From x W_i + b_i, h W_h + b_h and h to h'; `keeps` is torch's convention."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, recurrent: Tensor, h: Tensor, keeps: bool) -> Tensor:
        size = h.shape[-1]
        gates = half_tanh(projected[..., : 2 * size] + recurrent[..., : 2 * size])
        r, z = gates[..., :size], gates[..., size:]
        q = recurrent[..., 2 * size :]
        n = torch.tanh(projected[..., 2 * size :] + r * q)
        ctx.save_for_backward(gates, q, n, h)
        ctx.keeps = keeps
        return n + z * (h - n) if keeps else h + z * (n - h)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gates, q, n, h = ctx.saved_tensors
        size = h.shape[-1]
        r, z = gates[..., :size], gates[..., size:]
        kept = gradient * z
        by_h, by_n = (kept, gradient - kept) if ctx.keeps else (gradient - kept, kept)
        by_z = gradient * (h - n if ctx.keeps else n - h)
        by_new = tanh_backward(by_n, n)
        by_gates = sigmoid_backward(torch.cat([by_new * q, by_z], dim=-1), gates)
        by_recurrent = torch.cat([by_gates, by_new * r], dim=-1)
        return torch.cat([by_gates, by_new], dim=-1), by_recurrent, by_h, None


class LSTMGates(torch.autograd.Function):
    """From x W_i + b_i + h W_h + b_h and c to h' and c'."""

    @staticmethod
    def forward(ctx: Any, summed: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = summed.chunk(4, dim=-1)
        i, f, g, o = half_tanh(i), half_tanh(f), torch.tanh(g), half_tanh(o)
        new = f * c + i * g
        out = torch.tanh(new)
        ctx.save_for_backward(i, f, g, o, c, out)
        return o * out, new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_h: Tensor, by_c: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o, c, out = ctx.saved_tensors
        by_new = by_c + tanh_backward(by_h * o, out)
        by_gates = [
            sigmoid_backward(by_new * g, i),
            sigmoid_backward(by_new * c, f),
            tanh_backward(by_new * i, g),
            sigmoid_backward(by_h * out, o),
        ]
        return torch.cat(by_gates, dim=-1), by_new * f
