"""The abstract view: one thing that a card looks at where the task and the model have it.

What every card shows (accuracies, breakdown, kinds of error) stands in `tables.py` and
`figures.py`. Everything that only some tasks or networks have is a view: it says which analyses
it needs, or none if it does not apply, and makes tables and figures of what they found.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from recombine import stats
from recombine.diagnosis.reading import Reading
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.studies.figure import Figure
from recombine.studies.results import Seeds
from recombine.studies.table import Table, Value
from recombine.tasks.task import Task
from recombine.training import Probe

Cells = Mapping[str, Seeds]
"""Outcomes by the name of the model, of those models that the view applies to."""


@dataclass(frozen=True)
class Looked:
    """What a view is asked about: a model on a task, and the steps at which it is evaluated."""

    task: Task
    model: Model
    steps: tuple[int, ...]

    @property
    def stack(self) -> Stack:
        """One untrained network, to see what it is made of."""
        return _one(self.model, self.task)

    def has(self, part: str, what: str) -> bool:
        """Whether the network shows `<part>.<step>.<what>` over time."""
        named = [site.split(".") for site in self.stack.sites]
        return any(len(s) == 3 and (s[0], s[2]) == (part, what) for s in named)


@functools.lru_cache(maxsize=8)
def _one(model: Model, task: Task) -> Stack:
    return model.stack([0], task.input_shape, len(task.outputs), task.classes)


class View(ABC):
    """One thing to look at."""

    @abstractmethod
    def probes(self, looked: Looked) -> tuple[Probe, ...]:
        """The analyses it needs; none: it does not apply."""

    @abstractmethod
    def tables(self, reading: Reading, cells: Cells) -> tuple[Table, ...]:
        """What it tabulates."""

    @abstractmethod
    def figures(self, reading: Reading, cells: Cells) -> tuple[Figure, ...]:
        """What it draws."""


def by_output_and_factor(
    reading: Reading, cells: Cells, measured: str, *, name: str, title: str, column: str, note: str
) -> Table:
    """A measurement [seed, step, output, factor] at the end; whether the factor should matter."""
    rows: list[tuple[Value, ...]] = []
    for model, cell in cells.items():
        last = cell.array(measured)[:, -1]
        for i, output in enumerate(reading.task.outputs):
            for j, factor in enumerate(reading.task.factors):
                own = "yes" if j in output.factors else "no"
                rows.append((model, output.name, factor.name, own, stats.mean(last[:, i, j])))
    columns = ("model", "output", "factor", "should matter", column)
    return Table(name, title, columns, tuple(rows), note=note)
