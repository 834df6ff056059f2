"""Lanes: a stack of seeds with its optimizer; one update moves every lane by its own gradient.

The loss of a stack is the *sum* of its lanes' losses. No parameter is shared between lanes, so
the gradient of the sum with respect to a lane's parameters is that lane's own gradient, and one
backward pass serves all of them. Optimizers act entry by entry; clipping takes the norm lane by
lane; a lane that has stopped is put back after the update.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from recombine.cell import Arrays
from recombine.models.stack import Stack
from recombine.training.losses import loss_of
from recombine.training.recipe import Recipe


class Lanes:
    """Everything about a stack in training that changes from step to step."""

    def __init__(
        self, stack: Stack, recipe: Recipe, class_values: Sequence[float] | None = None
    ) -> None:
        self.stack, self.recipe = stack, recipe
        self._parameters = list(stack.parameters())
        self._values = [parameter.detach() for parameter in self._parameters]
        self._slots = recipe.optimizer.slots(self._values)
        self.loss = loss_of(recipe.loss, class_values)
        # What a network remembers beside its parameters, such as the means of a batch norm.
        self._memory = list(stack.buffers())
        device = self._parameters[0].device
        self.stopped: Bool[Tensor, " seed"] = torch.zeros(
            stack.lanes, dtype=torch.bool, device=device
        )
        self.stopped_at = torch.full((stack.lanes,), -1, device=device)
        # As exact as the measures: a plateau rounded to fewer bits would look like an improvement.
        self._best = torch.full((stack.lanes,), torch.inf, dtype=torch.float64, device=device)
        self._waited = torch.zeros(stack.lanes, device=device)

    def losses(
        self,
        inputs: Shaped[Tensor, "seeds_or_1 batch *shape"],
        targets: Int[Tensor, "seeds_or_1 batch output"],
    ) -> Float[Tensor, " seed"]:
        """The loss of each lane."""
        return self.loss(self.stack(inputs), targets)

    def update(
        self,
        step: int,
        inputs: Shaped[Tensor, "seed batch *shape"],
        targets: Int[Tensor, "seed batch output"],
    ) -> None:
        """One update of every lane that has not stopped."""
        if not self.stack.training:
            self.stack.train()
        kept = [v.clone() for v in self._changing()] if self.stopped.any() else None
        total = self.losses(inputs, targets).sum()
        gradients = torch.autograd.grad(total, self._parameters)
        if self.recipe.clip is not None:
            gradients = clip(gradients, self.recipe.clip)
        factor = self.recipe.schedule.factor(step)
        self.recipe.optimizer.update(self._values, gradients, self._slots, step=step, factor=factor)
        if kept is not None:
            for value, before in zip(self._changing(), kept, strict=True):
                value.copy_(torch.where(along(self.stopped, value), before, value))

    def _changing(self) -> list[Tensor]:
        return [*self._values, *self._memory]

    def consider_stopping(self, step: int, measures: dict[str, Float[Tensor, " seed"]]) -> None:
        """Stop the lanes whose measure says so."""
        rule = self.recipe.stop
        if rule is None:
            return
        value = measures[rule.measure].to(self._best.device)
        best, waited, stop = rule.update(value, self._best, self._waited)
        self._best.copy_(best)
        self._waited.copy_(waited)
        new = stop & ~self.stopped
        self.stopped_at[new] = step
        self.stopped |= new

    def state(self) -> dict[str, Tensor]:
        """Everything needed to go on from here, by name: the tensors themselves, not copies."""
        state = {f"parameter.{i}": value for i, value in enumerate(self._values)}
        for slot, tensors in self._slots.items():
            state |= {f"{slot}.{i}": tensor for i, tensor in enumerate(tensors)}
        state |= {f"memory.{i}": tensor for i, tensor in enumerate(self._memory)}
        return state | {
            "stopped": self.stopped,
            "stopped_at": self.stopped_at,
            "best": self._best,
            "waited": self._waited,
        }

    def restore(self, arrays: Arrays) -> None:
        """Go on from a state."""
        for name, tensor in self.state().items():
            tensor.copy_(torch.from_numpy(arrays[name]))


def along(mask: Tensor, like: Tensor) -> Tensor:
    """A value a lane, shaped to broadcast against a stacked tensor."""
    return mask.reshape(-1, *[1] * (like.ndim - 1))


def clip(gradients: Sequence[Tensor], largest: float) -> tuple[Tensor, ...]:
    """Gradients scaled down, lane by lane, to a norm of at most `largest`."""
    # Added up one by one: a sum over a dimension that stands *before* the lanes is vectorised
    # across lanes, and how it is rounded then depends on how many there are.
    squares = functools.reduce(torch.add, [g.flatten(1).square().sum(1) for g in gradients])
    scale = (largest / squares.sqrt()).clamp(max=1.0)
    return tuple(g * along(scale, g) for g in gradients)
