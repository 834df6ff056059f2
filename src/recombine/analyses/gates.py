"""Gate saturation, stated as what happens to the state: kept, overwritten, or mixed.

A gate is *saturated* below .1 or above .9. What that means depends on which side of the mixture it
multiplies, and two conventions are in use:

    torch:        h' = (1 − z) · n + z · h        z above .9: the state is kept
    printed:      h' = (1 − z) · h + z · n        z above .9: the state is overwritten

Networks here (and those of the paper, which ran on PyTorch) record torch's z; the paper reads it
by the formula it prints, and so says "new information rarely enters" where the state is in fact
overwritten. Here only *kept* and *overwritten* are reported. For a reset gate the words are *used*
(above .9: the candidate sees the state) and *ignored*; for an LSTM the forget gate keeps or
drops the cell, the input gate writes or blocks, the output gate shows or hides.

Numbers: for each unit the share of samples in which it is saturated at each end, their means over
units, and the share of *switching* units, which are saturated at each end in at least a tenth of
the samples: a gate that is used selectively opens for some inputs and shuts for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from recombine.analyses.analysis import RecurrentAnalysis
from recombine.analyses.traces import everything, trace
from recombine.errors import UnknownName
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.spec import later
from recombine.tasks.task import Task

LOW, HIGH = 0.1, 0.9
OFTEN = 0.1
Convention = Literal["torch", "printed"]

MEANINGS: Mapping[str, tuple[str, str]] = {
    "update": ("kept", "overwritten"),
    "reset": ("used", "ignored"),
    "forget": ("kept", "dropped"),
    "input": ("written", "blocked"),
    "output": ("shown", "hidden"),
}
"""What it means that a gate of torch is high, and that it is low."""


def meaning(gate: str, convention: Convention = "torch") -> tuple[str, str]:
    """What happens when the gate is high, and when it is low.

    The conventions differ in the update gate alone.
    """
    if gate not in MEANINGS:
        raise UnknownName("gate", gate, MEANINGS)
    high, low = MEANINGS[gate]
    return (low, high) if gate == "update" and convention == "printed" else (high, low)


def saturation(
    values: Float[np.ndarray, "n unit"],
) -> tuple[Float[np.ndarray, " unit"], Float[np.ndarray, " unit"]]:
    """The share of samples in which each unit is high, and in which it is low."""
    return np.asarray((values > HIGH).mean(axis=0)), np.asarray((values < LOW).mean(axis=0))


@dataclass(frozen=True)
class Gates(RecurrentAnalysis):
    """Measures the saturation of one gate of one part of a recurrent model, over all states."""

    name: ClassVar[str] = "gates"

    part: str = "encoder"
    gate: str = "update"
    convention: Convention | None = None
    """Of the recorded values; none: as the model says, and torch's if it does not."""
    sentences: int | None = later(None)
    """At most so many of the task's sentences, drawn once for all seeds; none: all."""

    def validate(self) -> None:
        meaning(self.gate)

    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        found = trace(stack, task, everything(task, self.sentences), part=self.part, what=self.gate)
        both = [saturation(lane) for lane in found.values]
        high, low = (np.stack(side) for side in zip(*both, strict=True))
        said: Convention = getattr(model, "convention", "torch")
        convention = said if self.convention is None else self.convention
        if_high, if_low = meaning(self.gate, convention)
        called = f"gates/{self.part}.{self.gate}"
        return {
            f"{called}/{if_high}": high,
            f"{called}/{if_low}": low,
            f"{called}/saturated": (high + low).mean(axis=1),
            f"{called}/switching": ((high >= OFTEN) & (low >= OFTEN)).mean(axis=1),
        }
