"""Lanes: a stack of seeds with its optimizer; one update moves every lane by its own gradient.

The loss of a stack is the *sum* of its lanes' losses. No parameter is shared between lanes, so
the gradient of the sum with respect to a lane's parameters is that lane's own gradient, and one
backward pass serves all of them. Optimizers act entry by entry; clipping takes the norm lane by
lane; a lane that has stopped is put back after the update. A parameter may be frozen in some lanes:
its gradient there is zero from the first step on, and so is all that an optimizer makes of it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from recombine.cell import Arrays
from recombine.errors import BadValue, UnknownName
from recombine.models.sequence import SequenceStack
from recombine.models.stack import Stack, Tap, untouched
from recombine.training.flat import Flat, shrink
from recombine.training.interventions import AttentionTap
from recombine.training.losses import loss_of
from recombine.training.optimizers import Adam
from recombine.training.recipe import Recipe

Frozen = Mapping[str, Bool[Tensor, " seed"]]
"""For each parameter that is not to move, the lanes in which it is frozen."""


class Lanes:
    """Everything about a stack in training that changes from step to step.

    Parameters that want no gradient are frozen.
    """

    def __init__(
        self,
        stack: Stack,
        recipe: Recipe,
        frozen: Frozen | None = None,
        *,
        class_values: Sequence[float] | None = None,
    ) -> None:
        self.stack, self.recipe = stack, recipe
        self._moving = _moving(stack, frozen or {})
        named = [(name, p) for name, p in stack.named_parameters() if p.requires_grad]
        self._names = [name for name, _ in named]
        self._parameters = [parameter for _, parameter in named]
        fused = isinstance(recipe.optimizer, Adam) and recipe.optimizer.fused
        self._flat = Flat(self._parameters) if fused and recipe.lanes == "looped" else None
        self._values = [parameter.detach() for parameter in self._parameters]
        if self._flat is not None:
            self._values = [self._flat.values]
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
        self._kept = [[value.clone() for value in self._values] for _ in recipe.keep]
        self._kept_best = [torch.full_like(self._best, torch.inf) for _ in recipe.keep]
        self.kept_at = [torch.full_like(self.stopped_at, -1) for _ in recipe.keep]

    def losses(
        self,
        inputs: Shaped[Tensor, "seeds_or_1 batch *shape"],
        targets: Int[Tensor, "seeds_or_1 batch output"],
        attention: Int[Tensor, "seeds_or_1 batch output"] | None = None,
    ) -> Float[Tensor, " seed"]:
        """The loss of each lane; with guidance, `attention` says where to look."""
        if self.recipe.guidance is None or attention is None:
            return self.loss(self._run(inputs, targets, untouched), targets)
        tap = AttentionTap()
        answers = self.loss(self._run(inputs, targets, tap), targets)
        return answers + self.recipe.guidance.losses(tap.seen, attention)

    def _run(self, inputs: Tensor, targets: Tensor, tap: Tap) -> Tensor:
        """The raw outputs in training; a sequence model makes a step a target."""
        if not isinstance(self.stack, SequenceStack):
            raw: Tensor = self.stack(inputs, tap)
            return raw
        told = targets if self.recipe.forced else None
        return self.stack.unroll(inputs, tap, targets=told, steps=targets.shape[-1])

    def update(
        self,
        step: int,
        inputs: Shaped[Tensor, "seed batch *shape"],
        targets: Int[Tensor, "seed batch output"],
        attention: Int[Tensor, "seed batch output"] | None = None,
    ) -> None:
        """One update of every lane that has not stopped."""
        if not self.stack.training:
            self.stack.train()
        memory = [held.clone() for held in self._memory] if self.stopped.any() else []
        total = self.losses(inputs, targets, attention).sum()
        # A parameter that a module of the user's does not use has a gradient of zeros.
        gradients = torch.autograd.grad(
            total, self._parameters, allow_unused=True, materialize_grads=True
        )
        self.move(step, _masked(gradients, self._moving) if self._moving else gradients)
        self._put_back(self._memory, memory)

    def move(self, step: int, gradients: tuple[Tensor, ...]) -> None:
        """Move every lane that has not stopped by its gradients."""
        gradients = self._clipped(gradients)
        kept = [value.clone() for value in self._values] if self.stopped.any() else []
        factor = self.recipe.schedule.factor(step)
        self.recipe.optimizer.update(self._values, gradients, self._slots, step=step, factor=factor)
        self._put_back(self._values, kept)

    def _put_back(self, values: Sequence[Tensor], before: Sequence[Tensor]) -> None:
        """Give the lanes that have stopped what they had before; nothing kept: none has."""
        for value, earlier in zip(values, before, strict=bool(before)):
            value.copy_(torch.where(along(self.stopped, value), earlier, value))

    def _clipped(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The gradients as the recipe clips them, in the form in which values are held."""
        largest = self.recipe.clip
        if self._flat is None:
            return gradients if largest is None else clip(gradients, largest)
        gradient = self._flat.gather(gradients)
        if largest is not None:
            shrink(gradient, largest)
        return (gradient,)

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

    def consider_keeping(self, step: int, measures: dict[str, Float[Tensor, " seed"]]) -> None:
        """Keep the weights of the lanes that are better now than ever before."""
        for i, rule in enumerate(self.recipe.keep):
            value = measures[rule.measure].to(self._best.device)
            best, better = rule.improved(value, self._kept_best[i])
            self._kept_best[i].copy_(best)
            self.kept_at[i][better] = step
            for kept, now in zip(self._kept[i], self._values, strict=True):
                kept[better] = now[better]

    def kept(self, rule: int) -> dict[str, Tensor]:
        """The weights that a rule of the recipe has kept, by parameter; frozen ones as they are."""
        frozen = {n: p.detach() for n, p in self.stack.named_parameters() if not p.requires_grad}
        kept = self._kept[rule]
        values = kept if self._flat is None else self._flat.views(kept[0])
        return frozen | dict(zip(self._names, values, strict=True))

    def state(self) -> dict[str, Tensor]:
        """Everything needed to go on from here, by name: the tensors themselves, not copies."""
        state = {f"parameter.{i}": value for i, value in enumerate(self._values)}
        for slot, tensors in self._slots.items():
            state |= {f"{slot}.{i}": tensor for i, tensor in enumerate(tensors)}
        for rule, tensors in enumerate(self._kept):
            state |= {f"kept.{rule}.{i}": tensor for i, tensor in enumerate(tensors)}
            state |= {f"kept_best.{rule}": self._kept_best[rule]}
            state |= {f"kept_at.{rule}": self.kept_at[rule]}
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


def _moving(stack: Stack, frozen: Frozen) -> dict[int, Tensor]:
    """By place among those that train, the lanes in which a parameter moves, if not in all.

    What is frozen in every lane is taken out of training altogether.
    """
    found: dict[int, Tensor] = {}
    place = 0
    for name, parameter in stack.named_parameters():
        still = frozen.get(name)
        if still is not None and bool(still.all()):
            parameter.requires_grad_(False)
        elif still is not None and parameter.requires_grad and bool(still.any()):
            found[place] = ~still.to(parameter.device)
        place += parameter.requires_grad
    if unknown := sorted(set(frozen) - {name for name, _ in stack.named_parameters()}):
        raise UnknownName("parameter", unknown[0], [n for n, _ in stack.named_parameters()])
    if not place:
        raise BadValue("frozen parameters", "all of them", "at least one that can be trained")
    return found


def _masked(gradients: Sequence[Tensor], moving: Mapping[int, Tensor]) -> tuple[Tensor, ...]:
    return tuple(
        g * along(moving[i], g).to(g.dtype) if i in moving else g for i, g in enumerate(gradients)
    )


def along(mask: Tensor, like: Tensor) -> Tensor:
    """A value a lane, shaped to broadcast against a stacked tensor."""
    return mask.reshape(-1, *[1] * (like.ndim - 1))


def clip(gradients: Sequence[Tensor], largest: float) -> tuple[Tensor, ...]:
    """Gradients scaled down, lane by lane, to a norm of at most `largest`."""
    # Added up one by one: a sum over a dimension that stands *before* the lanes is vectorised
    # across lanes, and how it is rounded then depends on how many there are.
    norms = [torch.linalg.vector_norm(g.flatten(1), dim=1) for g in gradients]
    squares = functools.reduce(torch.add, [norm.square() for norm in norms])
    scale = (largest / squares.sqrt()).clamp(max=1.0)
    if bool((scale == 1.0).all()):
        return tuple(gradients)
    return tuple(g * along(scale, g) for g in gradients)
