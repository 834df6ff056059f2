"""Optimizers, written out: they act entry by entry, and so on every lane by itself.

The updates are those of torch.optim (tested against it). They are written out because the first
torch.optim optimizer of a process costs 2.5 seconds of imports, which every worker would pay,
and because their state, a list of tensors a slot, goes into a checkpoint as it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from recombine.errors import BadValue
from recombine.spec import Spec, later

Slots = dict[str, list[Tensor]]
"""What an optimizer remembers: for each slot a tensor a parameter."""
Held = tuple[Tensor, Tensor, Tensor, Tensor]
"""A parameter, its gradient, and what Adam remembers of it."""
LINE = 16
"""Numbers in the widest vector of a processor."""


@dataclass(frozen=True)
class Optimizer(Spec, ABC):
    """A rule that moves parameters by gradients."""

    kind: ClassVar[str] = "training"

    @abstractmethod
    def slots(self, parameters: Sequence[Tensor]) -> Slots:
        """What it remembers before the first update."""

    @abstractmethod
    def update(
        self,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        slots: Slots,
        *,
        step: int,
        factor: float,
    ) -> None:
        """Move the parameters in place; the first step is 0, the rate is multiplied by `factor`."""


@dataclass(frozen=True)
class SGD(Optimizer):
    """Gradient descent; with `momentum` > 0 the heavy ball."""

    name: ClassVar[str] = "sgd"

    rate: float = 0.1
    """Learning rate before the schedule."""
    momentum: float = 0.0

    def validate(self) -> None:
        _check_rate(self.rate, "training/sgd.rate")
        if not 0 <= self.momentum < 1:
            raise BadValue("training/sgd.momentum", self.momentum, "a number in [0, 1)")

    def slots(self, parameters: Sequence[Tensor]) -> Slots:
        return {"velocity": [torch.zeros_like(p) for p in parameters]} if self.momentum else {}

    def update(
        self,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        slots: Slots,
        *,
        step: int,
        factor: float,
    ) -> None:
        moves = gradients
        if self.momentum:
            moves = slots["velocity"]
            for velocity, gradient in zip(moves, gradients, strict=True):
                velocity.mul_(self.momentum).add_(gradient)
        for parameter, move in zip(parameters, moves, strict=True):
            parameter.add_(move, alpha=-self.rate * factor)


@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam (Kingma & Ba 2015)."""

    name: ClassVar[str] = "adam"

    rate: float = 1e-3
    """Learning rate before the schedule."""
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    fused: bool = later(False)
    """PyTorch's kernel that reads and writes every number once; for looped lanes on all parameters
    as one vector. It rounds differently from the plain update."""

    def validate(self) -> None:
        _check_rate(self.rate, "training/adam.rate")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise BadValue("training/adam.betas", list(self.betas), "two numbers in [0, 1)")

    def slots(self, parameters: Sequence[Tensor]) -> Slots:
        return {
            "mean": [torch.zeros_like(p) for p in parameters],
            "square": [torch.zeros_like(p) for p in parameters],
        }

    def update(
        self,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        slots: Slots,
        *,
        step: int,
        factor: float,
    ) -> None:
        every = list(zip(parameters, gradients, slots["mean"], slots["square"], strict=True))
        # The kernel rounds the last numbers of a tensor by themselves: a lane whose numbers do not
        # end with a line would feel its neighbours.
        whole = [held for held in every if self.fused and held[0][0].numel() % LINE == 0]
        rest = [held for held in every if not self.fused or held[0][0].numel() % LINE]
        if whole:
            self._fused(whole, step, factor)
        self._plain(rest, step, factor)

    def _fused(self, held: Sequence[Held], step: int, factor: float) -> None:
        parameters, gradients, means, squares = (list(each) for each in zip(*held, strict=True))
        torch._fused_adam_(
            parameters, gradients, means, squares, [],
            [torch.tensor(float(step + 1))] * len(parameters),
            lr=self.rate * factor, beta1=self.betas[0], beta2=self.betas[1], weight_decay=0.0,
            eps=self.epsilon, amsgrad=False, maximize=False,
        )  # fmt: skip

    def _plain(self, held: Sequence[Held], step: int, factor: float) -> None:
        beta1, beta2 = self.betas
        # The slots start at zero; dividing by 1 − βᵗ takes that bias away.
        size = self.rate * factor / (1 - beta1 ** (step + 1))
        scale = 1 / math.sqrt(1 - beta2 ** (step + 1))
        for parameter, gradient, mean, square in held:
            mean.lerp_(gradient, 1 - beta1)
            square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            parameter.addcdiv_(mean, square.sqrt().mul_(scale).add_(self.epsilon), value=-size)


def _check_rate(rate: float, where: str) -> None:
    if rate <= 0:
        raise BadValue(where, rate, "a positive number")
