"""The gates of a recurrent step and their gradients by hand, for when nobody looks at them.

A step at batch 1 is a dozen operations on a few hundred numbers, and autograd's book-keeping for
each costs more than the operation. These steps compute exactly what the cells write out, forward
bit for bit; each is there as functions and as one node of autograd.
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


Saved = tuple[Tensor, ...]
"""What the way back needs of a step."""


def gru_step(projected: Tensor, recurrent: Tensor, h: Tensor, keeps: bool) -> tuple[Tensor, Saved]:
    """From x W_i + b_i, h W_h + b_h and h to h'; `keeps` is torch's convention."""
    size = h.shape[-1]
    gates = half_tanh(projected[..., : 2 * size] + recurrent[..., : 2 * size])
    r, z = gates[..., :size], gates[..., size:]
    q = recurrent[..., 2 * size :]
    n = torch.tanh(projected[..., 2 * size :] + r * q)
    return n + z * (h - n) if keeps else h + z * (n - h), (gates, q, n, h)


def gru_back(gradient: Tensor, saved: Saved, keeps: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of what such a step was given."""
    gates, q, n, h = saved
    size = h.shape[-1]
    r, z = gates[..., :size], gates[..., size:]
    kept = gradient * z
    by_h, by_n = (kept, gradient - kept) if keeps else (gradient - kept, kept)
    by_z = gradient * (h - n if keeps else n - h)
    by_new = tanh_backward(by_n, n)
    by_gates = sigmoid_backward(torch.cat([by_new * q, by_z], dim=-1), gates)
    by_recurrent = torch.cat([by_gates, by_new * r], dim=-1)
    return torch.cat([by_gates, by_new], dim=-1), by_recurrent, by_h


def lstm_step(summed: Tensor, c: Tensor) -> tuple[tuple[Tensor, Tensor], Saved]:
    """From x W_i + b_i + h W_h + b_h and c to h' and c'."""
    i, f, g, o = summed.chunk(4, dim=-1)
    i, f, g, o = half_tanh(i), half_tanh(f), torch.tanh(g), half_tanh(o)
    new = f * c + i * g
    out = torch.tanh(new)
    return (o * out, new), (i, f, g, o, c, out)


def lstm_back(by_h: Tensor, by_c: Tensor, saved: Saved) -> tuple[Tensor, Tensor]:
    """The gradients of what such a step was given."""
    i, f, g, o, c, out = saved
    by_new = by_c + tanh_backward(by_h * o, out)
    by_gates = [
        sigmoid_backward(by_new * g, i),
        sigmoid_backward(by_new * c, f),
        tanh_backward(by_new * i, g),
        sigmoid_backward(by_h * out, o),
    ]
    return torch.cat(by_gates, dim=-1), by_new * f


class GRUGates(torch.autograd.Function):
    """`gru_step` as a node."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, recurrent: Tensor, h: Tensor, keeps: bool) -> Tensor:
        new, saved = gru_step(projected, recurrent, h, keeps)
        ctx.save_for_backward(*saved)
        ctx.keeps = keeps
        return new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return *gru_back(gradient, ctx.saved_tensors, ctx.keeps), None


class LSTMGates(torch.autograd.Function):
    """`lstm_step` as a node."""

    @staticmethod
    def forward(ctx: Any, summed: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        new, saved = lstm_step(summed, c)
        ctx.save_for_backward(*saved)
        return new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_h: Tensor, by_c: Tensor) -> tuple[Tensor, Tensor]:
        return lstm_back(by_h, by_c, ctx.saved_tensors)
