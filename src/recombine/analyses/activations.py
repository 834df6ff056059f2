"""How units use their range: the distribution of each unit's values over all states.

- *range*: largest minus smallest value of a unit, as a share of what its activation function
  allows (2 for a state in (−1, 1), 1 for a gate in (0, 1)).
- *entropy*: bits of the unit's values in 32 equal bins of that range; 5 bits if all are used
  evenly, 0 if the unit stands still.
- *narrow*: the share of units whose range is below a tenth of what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine.analyses.analysis import RecurrentAnalysis
from recombine.analyses.traces import everything, trace
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.tasks.task import Task

BINS = 32
NARROW = 0.1
BOUNDS: Mapping[str, tuple[float, float]] = {"state": (-1.0, 1.0), "candidate": (-1.0, 1.0)}
"""What a site's values lie between; gates, which are not named here, lie between 0 and 1."""


def ranges(
    values: Float[np.ndarray, "n unit"], bounds: tuple[float, float]
) -> Float[np.ndarray, " unit"]:
    """Each unit's range as a share of what is allowed."""
    return np.asarray(np.ptp(values, axis=0) / (bounds[1] - bounds[0]))


def shares(
    values: Float[np.ndarray, "n unit"], bounds: tuple[float, float], *, bins: int = BINS
) -> Float[np.ndarray, "unit bin"]:
    """The share of a unit's values in each bin; what lies beyond the bounds is in the last."""
    low, high = bounds
    place = np.clip(((values - low) / (high - low) * bins).astype(np.int64), 0, bins - 1)
    units = values.shape[1]
    counts = np.bincount((place + bins * np.arange(units)).ravel(), minlength=units * bins)
    return np.asarray(counts.reshape(units, bins) / len(values))


def entropies(shares: Float[np.ndarray, "unit bin"]) -> Float[np.ndarray, " unit"]:
    """Bits of each unit's distribution."""
    log = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.abs((shares * log).sum(axis=1)))


@dataclass(frozen=True)
class Activations(RecurrentAnalysis):
    """Measures every unit of one part of a recurrent model, over all states."""

    name: ClassVar[str] = "activations"

    part: str = "encoder"
    what: str = "state"

    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        found = trace(stack, task, everything(task), part=self.part, what=self.what)
        bounds = BOUNDS.get(self.what, (0.0, 1.0))
        spread = np.stack([ranges(lane, bounds) for lane in found.values])
        used = np.stack([shares(lane, bounds) for lane in found.values])
        called = f"activations/{self.part}.{self.what}"
        return {
            f"{called}/range": spread,
            f"{called}/shares": used.astype(np.float32),
            f"{called}/entropy": np.stack([entropies(lane) for lane in used]),
            f"{called}/narrow": (spread < NARROW).mean(axis=1),
        }
