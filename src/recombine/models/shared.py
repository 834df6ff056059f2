"""A weight used at many steps: read at each of them, its gradient one product for all of them.

Plain autograd makes the gradient of a weight matrix once a step, as a matrix of its own, and adds
these up. For a recurrent network at batch 1 that is most of the memory it touches. Here a use of
the weight passes back only the gradient of its input and lays down (input, gradient of output);
when all uses of a pass have done so, the weight's gradient is one product over the lot:

    ∂W = Σ_t x_tᵀ ∂y_t = [x_1; …; x_T]ᵀ [∂y_1; …; ∂y_T].

Each use reports 1 to the collecting node, and autograd adds these up on the way, so the collector
knows how many of the notes laid down last belong to its own pass.

Where a weight of one seed has a `room` (see `training.flat`), its gradient is written there: asking
the system for 14 MB in every update costs more than filling them. The next pass writes over it.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from recombine.models.products import product

Notes = list[tuple[Tensor, Tensor]]


def weight_gradient(
    x: Float[Tensor, "seed row in"], y: Float[Tensor, "seed row out"], weight: Tensor
) -> Float[Tensor, "seed in out"]:
    """xᵀ y of each seed: the gradient of a weight that was given x and got y back; in its room."""
    room: Tensor | None = getattr(weight, "room", None)
    if room is None or room.shape[0] > 1:
        return product(x.mT, y)
    torch.mm(x[0].T, y[0], out=room[0])
    return room


class Shared:
    """A weight (and bias) for the length of one pass."""

    def __init__(
        self,
        weight: Float[Tensor, "seed in out"],
        bias: Float[Tensor, "seed out"] | None = None,
    ) -> None:
        self._weight, self._bias = weight, bias
        self._notes: Notes = []
        self._tie: Tensor | None = None
        if torch.is_grad_enabled() and weight.requires_grad:
            self._tie = _Collect.apply(weight, bias, self._notes)  # type: ignore[no-untyped-call]

    def __call__(self, x: Float[Tensor, "seed row in"]) -> Float[Tensor, "seed row out"]:
        if self._tie is None:
            y = product(x, self._weight)
            return y if self._bias is None else y + self._bias.unsqueeze(1)
        weight, bias = self._weight.detach(), self._bias
        bias = None if bias is None else bias.detach()
        y = _Use.apply(x, self._tie, weight, bias, self._notes)  # type: ignore[no-untyped-call]
        assert isinstance(y, Tensor)
        return y

    def of_zeros(self, batch: int) -> Float[Tensor, "seed row out"]:
        """What it makes of so many rows of zeros: the bias."""
        assert self._bias is not None
        return self._bias.unsqueeze(1).expand(-1, batch, -1)


class _Use(torch.autograd.Function):
    """One step's product."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, tie: Tensor, weight: Tensor, bias: Tensor | None, notes: Notes
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.notes = notes
        y = product(x, weight)
        return y if bias is None else y.add_(bias.unsqueeze(1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        ctx.notes.append((x, gradient))
        by_x = product(gradient, weight.transpose(1, 2)) if ctx.needs_input_grad[0] else None
        return by_x, gradient.new_ones(()), None, None, None


class _Collect(torch.autograd.Function):
    """The node through which every use reaches the weight."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, notes: Notes) -> Tensor:
        ctx.notes, ctx.biased, ctx.weight = notes, bias is not None, weight
        return weight.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, count: Tensor) -> tuple[Tensor | None, ...]:
        mine = ctx.notes[-int(count) :]
        ctx.notes.clear()
        x = torch.cat([x for x, _ in mine], dim=1) if len(mine) > 1 else mine[0][0]
        y = torch.cat([y for _, y in mine], dim=1) if len(mine) > 1 else mine[0][1]
        by_bias = y.sum(1) if ctx.biased else None
        return weight_gradient(x, y, ctx.weight), by_bias, None
