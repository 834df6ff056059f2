"""What a study's claims, tables and figures are computed from: the outcomes of its cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int, Shaped

from recombine.cell import Cell, Outcome
from recombine.errors import UnknownName

T = TypeVar("T")


@dataclass(frozen=True)
class Seeds:
    """The outcomes of one cell, over seeds."""

    outcomes: Mapping[int, Outcome]

    @property
    def n(self) -> int:
        """How many seeds there are."""
        return len(self.outcomes)

    def scalar(self, name: str) -> Float[np.ndarray, " seed"]:
        """A final number of every seed, in order of seed."""
        return np.array([_pick(self.outcomes[s].scalars, name) for s in sorted(self.outcomes)])

    def array(self, name: str) -> Shaped[np.ndarray, seed * shape]:
        """A measurement of every seed, in order of seed."""
        return np.stack([_pick(self.outcomes[s].arrays, name) for s in sorted(self.outcomes)])

    def steps(self, name: str) -> Int[np.ndarray, " step"]:
        """The steps at which a measurement was taken: the dimension after the seed."""
        first = self.outcomes[min(self.outcomes)]
        return np.asarray(_pick(first.arrays, f"{name}@steps"))


def _pick(values: Mapping[str, T], name: str) -> T:
    if name not in values:
        raise UnknownName("measurement", name, values)
    return values[name]


@dataclass(frozen=True)
class Results:
    """The outcomes of every cell of a part, with the scale and profile they were made at."""

    scale: str
    profile: str
    cells: Mapping[str, Seeds]
    specs: Mapping[str, Cell] = field(default_factory=dict)
    """What was run, by the names of cells: `--set` may have made it differ from the part's own."""

    def __getitem__(self, cell: str) -> Seeds:
        if cell not in self.cells:
            raise UnknownName("cell", cell, self.cells)
        return self.cells[cell]

    def shared(self, *cells: str) -> list[Seeds]:
        """These cells with the seeds that all of them have, for pairs."""
        found = [self[cell].outcomes for cell in cells]
        seeds = sorted(set.intersection(*(set(outcomes) for outcomes in found)))
        return [Seeds({seed: outcomes[seed] for seed in seeds}) for outcomes in found]
