"""Two-layer diagonal linear nets, stacked: β_t = w⁺v⁺_t − w⁻v⁻_t for each task t, elementwise.

Weights are [seed, run, d]. A run is one of the problems that a seed trains side by side (its sample
sizes, its initial scales); the runs of a seed are always together, other seeds may come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

Weight = Float[Tensor, "seed run d"]


@dataclass(frozen=True)
class Diagonal:
    """The weights of a stack of nets; training changes the tensors in place."""

    w: tuple[Weight, Weight]
    """w⁺ and w⁻, shared by all tasks."""
    v: tuple[tuple[Weight, Weight], ...]
    """v⁺ and v⁻ of each task."""

    @classmethod
    def at(cls, gamma: Float[Tensor, "seed run d"], *, tasks: int = 1) -> Diagonal:
        """All weights at γ."""
        v = tuple((gamma.clone(), gamma.clone()) for _ in range(tasks))
        return cls((gamma.clone(), gamma.clone()), v)

    @classmethod
    def beside(cls, nets: Sequence[Diagonal]) -> Diagonal:
        """The runs of several nets of one task, one after another."""
        values = [
            torch.cat(list(each), 1) for each in zip(*(n.tensors() for n in nets), strict=True)
        ]
        return cls((values[0], values[1]), ((values[2], values[3]),))

    def betas(self) -> tuple[Weight, ...]:
        """The coefficients of each task."""
        plus, minus = self.w
        return tuple(plus * up - minus * down for up, down in self.v)

    def tensors(self) -> tuple[Weight, ...]:
        """Every weight, w first."""
        return (*self.w, *(value for pair in self.v for value in pair))

    def copy(self) -> Diagonal:
        """The same weights in tensors of their own."""
        plus, minus = self.w
        return Diagonal(
            (plus.clone(), minus.clone()), tuple((a.clone(), b.clone()) for a, b in self.v)
        )

    def finetunable(self, rescaling: float, readout: float, *, runs: int) -> Diagonal:
        """After pretraining: w kept and multiplied by c, a fresh readout, a copy for each run."""
        plus, minus = (value.expand(-1, runs, -1) * rescaling for value in self.w)
        fresh = torch.full_like(plus, readout)
        return Diagonal((plus.clone(), minus.clone()), ((fresh, fresh.clone()),))
