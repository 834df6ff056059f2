"""All parameters of one lane as one vector: clipping and optimizer are a few passes over memory.

The parameters become views into the vector, and so do their gradients: the big ones are written in
place by the products that make them (see `models.shared`), the rest, which are small, are copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

LINE = 16
"""Every parameter begins at a multiple of 64 bytes, as products want it."""


class Flat:
    """The parameters of one lane, moved into one vector."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._shapes = [parameter.shape for parameter in parameters]
        starts, total = [], 0
        for parameter in parameters:
            starts.append(total)
            total += -(-parameter.numel() // LINE) * LINE
        self._starts = starts
        self.values: Float[Tensor, "1 total"] = parameters[0].new_zeros((1, total))
        self.gradient: Float[Tensor, "1 total"] = torch.zeros_like(self.values)
        self._gradients = self.views(self.gradient)
        for parameter, room, gradient in zip(
            parameters, self.views(self.values), self._gradients, strict=True
        ):
            room.copy_(parameter.detach())
            parameter.data = room
            parameter.room = gradient  # type: ignore[attr-defined]

    def views(self, vector: Float[Tensor, "1 total"]) -> list[Tensor]:
        """The parts of such a vector that belong to each parameter."""
        return [
            vector[:, start : start + shape.numel()].view(shape)
            for start, shape in zip(self._starts, self._shapes, strict=True)
        ]

    def gather(self, gradients: Sequence[Tensor]) -> Float[Tensor, "1 total"]:
        """The gradients as one vector."""
        for room, gradient in zip(self._gradients, gradients, strict=True):
            if gradient.data_ptr() != room.data_ptr():
                room.copy_(gradient)
        return self.gradient


def shrink(gradient: Float[Tensor, "1 total"], largest: float) -> None:
    """Scale one lane's gradient down, in place, to a norm of at most `largest`."""
    norm = float(torch.linalg.vector_norm(gradient))
    if norm > largest:
        gradient.mul_(largest / norm)
