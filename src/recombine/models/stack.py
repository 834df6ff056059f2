"""A stack: many seeds of one network in one module, with named sites to read or replace.

Every parameter and buffer of a stack has the seed as its first dimension, one call runs all seeds:

    inputs [seed or 1, batch, …]  →  outputs [seed, batch, output, class]

`Stack` is the abstract module. Our own networks are written out for the seed dimension (one
batched product for all seeds: about twice as fast as vmap on small nets). `Vmapped` makes a stack
of any plain `torch.nn.Module` with `torch.func`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from recombine.models.modules import Modules


@runtime_checkable
class Tap(Protocol):
    """Sees the value at each named site as it passes; what it returns goes on instead."""

    def __call__(self, site: str, value: Tensor) -> Tensor: ...


def untouched(site: str, value: Tensor) -> Tensor:
    """The tap that changes nothing."""
    return value


def odds(raw: Float[Tensor, "*lead output 1"]) -> Float[Tensor, "*lead output 2"]:
    """A single unit read as the log-odds of class 1 against class 0.

    A softmax over the pair (0, o): `sigmoid` rounds a lane by where it stands in the stack.
    """
    return torch.cat([torch.zeros_like(raw), raw], dim=-1).softmax(-1)


def sees_all(tap: Tap) -> bool:
    """Whether a tap may look at any site.

    If not, a network may show it the attention alone, and pass on what stood there before: it is
    then faster, with the same outputs. A tap says so by an attribute `attention_only` that is true.
    """
    return tap is not untouched and not getattr(tap, "attention_only", False)


class Stack(nn.Module, ABC):
    """Many seeds of one network; lanes never mix."""

    @property
    @abstractmethod
    def lanes(self) -> int:
        """How many seeds are in the stack."""

    @property
    @abstractmethod
    def sites(self) -> tuple[str, ...]:
        """The places where a tap is called, in order."""

    @abstractmethod
    def forward(
        self, inputs: Shaped[Tensor, "seeds_or_1 batch *shape"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output class"]:
        """The raw outputs of every seed."""


def read_sites(
    stack: Stack, inputs: Shaped[Tensor, "seeds_or_1 batch *shape"], wanted: Iterable[str]
) -> dict[str, Tensor]:
    """What stands at these sites while the inputs pass."""
    chosen, seen = set(wanted), {}

    def tap(site: str, value: Tensor) -> Tensor:
        if site in chosen:
            seen[site] = value
        return value

    stack(inputs, tap)
    return seen


class Vmapped(Stack):
    """A stack of any plain module, run under vmap.

    The module maps inputs [batch, …] to outputs [batch, output, class]; its only site is its
    output. Modules without a batching rule (nn.LSTM, nn.GRU) cannot be stacked this way.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.inner = Modules(modules)

    @property
    def lanes(self) -> int:
        return self.inner.lanes

    @property
    def sites(self) -> tuple[str, ...]:
        return ("output",)

    def forward(
        self, inputs: Shaped[Tensor, "seeds_or_1 batch *shape"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output class"]:
        return tap("output", self.inner(inputs))
