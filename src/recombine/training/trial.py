"""The trial: the cell that trains a model on a task by a recipe and runs analyses on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from torch import Tensor

from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.spec import Spec
from recombine.tasks.task import Task
from recombine.training.evaluation import check_rules
from recombine.training.lanes import Lanes
from recombine.training.loop import Measure, train
from recombine.training.recipe import Recipe

STACK = 500
"""Seeds a stacked job. Measured on the two-dimensional problem, milliseconds a seed on one core:
17.6 with 50 in a stack, 11.0 with 100, 7.5 with 250, 6.1 with 500, 6.0 with 1,000."""


@runtime_checkable
class Reads(Protocol):
    """What an analysis can do: read a stack of networks on a task."""

    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]: ...


@dataclass(frozen=True)
class Probe(Spec):
    """An analysis at chosen steps of training."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "probe"

    analysis: Spec
    """Any analysis of the catalog."""
    at: tuple[int, ...] | None = None
    """The steps; none: only the last."""


@dataclass(frozen=True)
class Trial(Cell):
    """Train and measure."""

    name: ClassVar[str] = "trial"

    task: Task
    model: Model
    recipe: Recipe
    probes: tuple[Probe, ...] = ()
    keep_weights: bool = False
    """Store the trained parameters with the run."""

    @property
    def seeds_per_job(self) -> int:
        return STACK if self.recipe.lanes == "stacked" else 1

    def ready(self) -> None:
        self.task.ready()
        check_rules(self.task, self.recipe)

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        if self.recipe.lanes == "stacked":
            return self._together(seeds, context)
        alone = replace(context, checkpoint=context.checkpoint if len(seeds) == 1 else None)
        return {seed: self._together([seed], alone)[seed] for seed in seeds}

    def _together(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        probes = [(self._steps(probe), self._reader(probe)) for probe in self.probes]
        lanes, curves = train(
            self.task, self.model, self.recipe, seeds=seeds, probes=probes, context=context
        )
        return {seed: self._outcome(lane, lanes, curves) for lane, seed in enumerate(seeds)}

    def _steps(self, probe: Probe) -> tuple[int, ...]:
        last = self.recipe.steps
        return (last,) if probe.at is None else tuple(s for s in probe.at if s <= last)

    def validate(self) -> None:
        for probe in self.probes:
            if not isinstance(probe.analysis, Reads):
                raise BadValue("cells/trial.probes", probe.analysis, "analyses that can measure")

    def _reader(self, probe: Probe) -> Measure:
        analysis = cast(Reads, probe.analysis)
        return lambda stack: analysis.measure(stack, self.task, self.model)

    def _outcome(
        self, lane: int, lanes: Lanes, curves: Mapping[str, Mapping[int, np.ndarray]]
    ) -> Outcome:
        arrays: dict[str, np.ndarray] = {}
        scalars = {"stopped_at": float(lanes.stopped_at[lane])}
        for name, by_step in curves.items():
            values = np.stack([values[lane] for values in by_step.values()])
            arrays[name] = values
            arrays[f"{name}@steps"] = np.asarray(list(by_step))
            if values.ndim == 1:
                scalars[name] = float(values[-1])
        weights = {}
        if self.keep_weights:
            weights = _weights(dict(lanes.stack.named_parameters()), lane)
            for i, rule in enumerate(self.recipe.keep):
                kept = _weights(lanes.kept(i), lane)
                weights |= {f"{rule.label}:{name}": value for name, value in kept.items()}
        for i, rule in enumerate(self.recipe.keep):
            scalars[f"kept_at/{rule.label}"] = float(lanes.kept_at[i][lane])
        return Outcome(scalars, arrays, weights)


def _weights(values: Mapping[str, Tensor], lane: int) -> dict[str, np.ndarray]:
    """One lane's parameters by name."""
    return {name: value[lane].detach().cpu().numpy() for name, value in values.items()}
