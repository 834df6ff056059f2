"""Diagnostic classifiers on the sites of a recurrent model: the analysis that runs the probes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine.analyses.analysis import RecurrentAnalysis
from recombine.analyses.probes import Diagnosis, Samples, Variant, diagnose
from recombine.analyses.traces import Reads, Trace, everything, trace, words_like
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.spec import later
from recombine.tasks.task import Task


@dataclass(frozen=True)
class Diagnostics(RecurrentAnalysis):
    """Reads the current word, or the time step, off the units at one kind of site."""

    name: ClassVar[str] = "diagnostics"

    part: str = "encoder"
    what: str = "state"
    reads: Reads = "word"
    """`word`: which of the source words is being read. `time`: at which step we are."""
    words: str = "*"
    """The source words that count as classes, with wildcards; states at others are left out."""
    variant: Variant = "honest"
    folds: int = 5
    """Of the honest variant."""

    sentences: int | None = later(None)
    """At most so many of the task's sentences, drawn once for all seeds; none: all."""

    def validate(self) -> None:
        if self.folds < 3:
            raise BadValue("analyses/diagnostics.folds", self.folds, "at least 3: one to tune on")

    @property
    def called(self) -> str:
        """What its results start with."""
        return f"diagnostics/{self.part}.{self.what}.{self.reads}.{self.variant}"

    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        found = trace(stack, task, everything(task, self.sentences), part=self.part, what=self.what)
        found, labels = self._labelled(found, task)
        units = found.values.shape[2]
        each = [
            diagnose(self._samples(found, labels, lane), variant=self.variant, folds=self.folds)
            for lane in range(len(found.values))
        ]
        return {
            f"{self.called}/accuracy": np.array([one.accuracy for one in each]),
            f"{self.called}/group_accuracy": np.array([one.group_accuracy for one in each]),
            f"{self.called}/units": np.array([float(len(one.group)) for one in each]),
            f"{self.called}/control": np.array([one.control for one in each]),
            f"{self.called}/chance": np.array([one.chance for one in each]),
            f"{self.called}/group": np.stack([_places(one, units) for one in each]),
        }

    def _labelled(self, found: Trace, task: Task) -> tuple[Trace, np.ndarray]:
        """The samples that have a class, and their classes from 0 up."""
        if self.reads == "time":
            return found, np.unique(found.time, return_inverse=True)[1]
        found = found.where(np.isin(found.word, words_like(task, self.words)))
        return found, np.unique(found.word, return_inverse=True)[1]

    def _samples(self, found: Trace, labels: np.ndarray, lane: int) -> Samples:
        # The control's types: the class together with the first word, so that there are several
        # times as many types as classes, and each is met after many different prefixes.
        types = labels * (int(found.first.max()) + 1) + found.first
        return Samples(found.values[lane].astype(np.float64), labels, found.prefix, types)


def _places(found: Diagnosis, units: int) -> Float[np.ndarray, " unit"]:
    """Each unit's place in the functional group, from 1 up; 0 outside of it."""
    places = np.zeros(units)
    places[list(found.group)] = np.arange(1, len(found.group) + 1)
    return places
