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
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from recombine.errors import BadValue, UnknownName
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


class Pruned(Stack):
    """A stack some of whose units are held at zero, lane by lane."""

    def __init__(self, inner: Stack, kept: Mapping[str, Bool[np.ndarray, "seed unit"]]) -> None:
        super().__init__()
        for pattern in kept:
            if not any(fnmatchcase(site, pattern) for site in inner.sites):
                raise UnknownName("site", pattern, inner.sites)
        self.inner = inner
        device = next(inner.parameters()).device
        self._masks = {
            site: torch.from_numpy(mask.astype(np.float32)).unsqueeze(1).to(device)
            for site in inner.sites
            for pattern, mask in kept.items()
            if fnmatchcase(site, pattern)
        }

    @property
    def lanes(self) -> int:
        return self.inner.lanes

    @property
    def sites(self) -> tuple[str, ...]:
        return self.inner.sites

    def forward(
        self, inputs: Shaped[Tensor, "seeds_or_1 batch *shape"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output class"]:
        return self.inner(inputs, self.masked(tap))

    def masked(self, tap: Tap) -> Tap:
        """A tap that silences the pruned units and then hands on to another."""

        def silence(site: str, value: Tensor) -> Tensor:
            mask = self._masks.get(site)
            return tap(site, value if mask is None else value * mask)

        return silence
