"""Neuron pruning: a recurrent layer is left with its strongest units, the others are held at zero.

A unit that always says zero is as good as absent, whatever its weights: nothing downstream hears
it, and no gradient reaches it. So pruning is a mask on the states of a layer, and works on any
stack with state sites; with nothing removed it is the identity, and with everything removed only
biases speak.

The *strength* of a unit is the sum of |w| over all weights of its cell that lead into or out of it:
its columns of the input and recurrent weights, for every gate, and its row of the recurrent ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from recombine.errors import BadValue, UnknownName
from recombine.models.sequence import SequenceStack
from recombine.models.stack import Stack, Tap, untouched


def strength(
    incoming: Float[np.ndarray, "in gated"], recurrent: Float[np.ndarray, "unit gated"]
) -> Float[np.ndarray, " unit"]:
    """Σ|w| into and out of each unit; the columns of a weight are gate by gate, unit by unit."""
    units = len(recurrent)
    into = np.abs(incoming).sum(axis=0) + np.abs(recurrent).sum(axis=0)
    return np.asarray(into.reshape(-1, units).sum(axis=0) + np.abs(recurrent).sum(axis=1))


def strongest(strength: Float[np.ndarray, " unit"], *, keep: float) -> Bool[np.ndarray, " unit"]:
    """Which units are kept: a share of them, rounded to whole units, the strongest first."""
    if not 0 <= keep <= 1:
        raise BadValue("share of units to keep", keep, "a number from 0 to 1")
    kept = np.zeros(len(strength), dtype=bool)
    kept[np.argsort(-strength, kind="stable")[: round(keep * len(strength))]] = True
    return kept


class Silence:
    """A tap that holds the pruned units at zero, lane by lane, and hands on to another."""

    def __init__(self, stack: Stack, kept: Mapping[str, Bool[np.ndarray, "seed _"]]) -> None:
        for pattern, mask in kept.items():
            if len(mask) not in (1, stack.lanes):
                legal = f"{stack.lanes}, one for each lane, or 1 for all"
                raise BadValue(f"rows of the mask of {pattern}", len(mask), legal)
            if not any(fnmatchcase(site, pattern) for site in stack.sites):
                raise UnknownName("site", pattern, stack.sites)
        device = next(stack.parameters()).device
        self._masks = {
            site: torch.from_numpy(mask.astype(np.float32)).unsqueeze(1).to(device)
            for site in stack.sites
            for pattern, mask in kept.items()
            if fnmatchcase(site, pattern)
        }

    def before(self, tap: Tap) -> Tap:
        """What the other tap sees is silenced already."""

        def silenced(site: str, value: Tensor) -> Tensor:
            mask = self._masks.get(site)
            if mask is None:
                return tap(site, value)
            if mask.shape[-1] not in (1, value.shape[-1]):
                legal = f"{value.shape[-1]}, one for each unit, or 1 for all"
                raise BadValue(f"width of the mask of {site}", mask.shape[-1], legal)
            return tap(site, value * mask)

        return silenced


class Pruned(Stack):
    """A stack some of whose units are held at zero; parameters are those of `inner`."""

    def __init__(self, inner: Stack, kept: Mapping[str, Bool[np.ndarray, "seed _"]]) -> None:
        super().__init__()
        self.inner, self._silence = inner, Silence(inner, kept)

    @property
    def lanes(self) -> int:
        return self.inner.lanes

    @property
    def sites(self) -> tuple[str, ...]:
        return self.inner.sites

    def forward(
        self, inputs: Shaped[Tensor, "seeds_or_1 batch *shape"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output class"]:
        raw: Tensor = self.inner(inputs, self._silence.before(tap))
        return raw


class PrunedSequence(SequenceStack):
    """The same for a sequence model, which can be trained further as such."""

    def __init__(
        self, inner: SequenceStack, kept: Mapping[str, Bool[np.ndarray, "seed _"]]
    ) -> None:
        super().__init__()
        self.inner, self._silence = inner, Silence(inner, kept)

    @property
    def lanes(self) -> int:
        return self.inner.lanes

    @property
    def sites(self) -> tuple[str, ...]:
        return self.inner.sites

    def unroll(
        self,
        inputs: Float[Tensor, "seeds_or_1 batch time word"],
        tap: Tap = untouched,
        *,
        targets: Int[Tensor, "seeds_or_1 batch output"] | None = None,
        steps: int | None = None,
    ) -> Float[Tensor, "seed batch step class"]:
        return self.inner.unroll(inputs, self._silence.before(tap), targets=targets, steps=steps)


def prune(stack: Stack, kept: Mapping[str, Bool[np.ndarray, "seed _"]]) -> Pruned | PrunedSequence:
    """The stack with only these units, named by site (`encoder.*.state`), at work in each lane."""
    if isinstance(stack, SequenceStack):
        return PrunedSequence(stack, kept)
    return Pruned(stack, kept)
