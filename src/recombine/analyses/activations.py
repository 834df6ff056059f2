"""How units use their range: the distribution of each unit's values over all states.

- *range*: largest minus smallest value of a unit, as a share of what its activation function
  allows (2 for a state in (−1, 1), 1 for a gate in (0, 1)).
- *entropy*: bits of the unit's values in 32 equal bins of that range; 5 bits if all are used
  evenly, 0 if the unit stands still.
- *narrow*: the share of units whose range is below a tenth of what is allowed.

An LSTM's memory, the logits and the like have no bounds, and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine.analyses.analysis import RecurrentAnalysis
from recombine.analyses.traces import everything, trace
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.tasks.task import Task

BINS = 32
NARROW = 0.1
BOUNDS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("state", "new", "context"), (-1.0, 1.0)),
    **dict.fromkeys(("update", "reset", "input", "forget", "output", "attention"), (0.0, 1.0)),
}
"""What a site's values lie between: what tanh made, and means of that; gates and attention."""
ROUNDING = 1e-5


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
    version: ClassVar[int] = 2
    """2: candidates and contexts are measured against (−1, 1), not (0, 1)."""

    part: str = "encoder"
    what: str = "state"

    def validate(self) -> None:
        if self.what not in BOUNDS:
            legal = f"a site whose values have bounds: {', '.join(BOUNDS)}"
            raise BadValue("analyses/activations.what", self.what, legal)

    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        found = trace(stack, task, everything(task), part=self.part, what=self.what)
        low, high = bounds = BOUNDS[self.what]
        if found.values.min() < low - ROUNDING or found.values.max() > high + ROUNDING:
            reached = f"values from {found.values.min():.3g} to {found.values.max():.3g}"
            legal = f"a recurrent model, in which they lie between {low:g} and {high:g}"
            raise BadValue(f"{self.part}.*.{self.what} of models/{model.name}", reached, legal)
        spread = np.stack([ranges(lane, bounds) for lane in found.values])
        used = np.stack([shares(lane, bounds) for lane in found.values])
        called = f"activations/{self.part}.{self.what}"
        return {
            f"{called}/range": spread,
            f"{called}/shares": used.astype(np.float32),
            f"{called}/entropy": np.stack([entropies(lane) for lane in used]),
            f"{called}/narrow": (spread < NARROW).mean(axis=1),
        }
