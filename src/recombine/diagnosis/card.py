"""The report card: one model or two, trained on a task and judged as a study's part is.

Every statement about a model is a claim with a rule and an interval over seeds, so a diagnosis
goes through the same plan, store and report as a published study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.analyses.breakdown import Breakdown
from recombine.analyses.dependence import Dependence
from recombine.diagnosis import figures, tables
from recombine.diagnosis.reading import Reading
from recombine.models.model import Model
from recombine.stats import Verdict
from recombine.studies.figure import Figure
from recombine.studies.results import Results
from recombine.studies.study import Claim, Judge, Need, Part
from recombine.studies.table import Table
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import Task
from recombine.training import Probe, Recipe, Trial

LEARNED, GAP, LEAN = 0.90, 0.05, 0.05
"""The lines: right on so many trained combinations; so much worse on new ones; flips so often."""


@dataclass(frozen=True)
class Card(Part):
    """The card of one model, or of two side by side."""

    name: ClassVar[str] = "card"
    title: ClassVar[str] = "Report card"
    profiles: ClassVar[tuple[str, ...]] = ("as-given",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 5, "paper": 20}

    task: Task
    models: Mapping[str, Model]
    """By the name that pages give them."""
    recipes: Mapping[str, Recipe]

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        return {
            name: Need(
                Trial(
                    task=self.task,
                    model=model,
                    recipe=self.recipes[name],
                    probes=self._probes(self.recipes[name]),
                    keep_weights=False,
                ),
                range(seeds),
            )
            for name, model in self.models.items()
        }

    def _probes(self, recipe: Recipe) -> tuple[Probe, ...]:
        probes = [Probe(Breakdown())]
        if not isinstance(self.task, SequenceTask):
            probes.append(Probe(Dependence(), recipe.evaluation_steps))
        return tuple(probes)

    def claims(self) -> tuple[Claim, ...]:
        """What is asked of each model."""
        reading = Reading(self.task)
        made = []
        for name in self.models:
            made.append(_claim(f"learns-{name}", f"{name} learns the combinations it is trained on",
                f"accuracy on {reading.reference}: wholly above {LEARNED}; no, if wholly below"))  # fmt: skip
            for split in reading.held_out:
                made.append(_claim(f"composes-{name}-{split}",
                    f"{name} is as right on new combinations ({split}) as on trained ones",
                    f"accuracy on {reading.reference} minus accuracy on {split}, seed by seed: "
                    f"wholly below {GAP}; no, if wholly above"))  # fmt: skip
            if self._leanings():
                made.append(_claim(f"leans-{name}", f"{name} reads only the factors it should",
                    "largest share of predictions that flip when a factor that should not matter "
                    f"is changed: wholly below {LEAN}; no, if wholly above"))  # fmt: skip
        if len(self.models) == 2:
            first, second = self.models
            for split in reading.held_out:
                made.append(_claim(f"better-{split}", f"{first} is better than {second} on {split}",
                    "difference of accuracies, paired by seed: wholly above 0; no, if below"))  # fmt: skip
        return tuple(made)

    def _leanings(self) -> bool:
        redundant = any(len(o.factors) < len(self.task.factors) for o in self.task.outputs)
        return redundant and not isinstance(self.task, SequenceTask)

    def judges(self) -> Mapping[str, Judge]:
        reading, made = Reading(self.task), dict[str, Judge]()
        for name in self.models:
            made[f"learns-{name}"] = lambda r, level, name=name: stats.above(
                stats.mean(reading.accuracy(r[name], reading.reference), level=level), LEARNED
            )
            for split in reading.held_out:
                made[f"composes-{name}-{split}"] = lambda r, level, name=name, split=split: (
                    stats.below(stats.mean(reading.gap(r[name], split), level=level), GAP)
                )
            if self._leanings():
                made[f"leans-{name}"] = lambda r, level, name=name: stats.below(
                    stats.mean(reading.leaning(r[name]), level=level), LEAN
                )
        if len(self.models) == 2:
            first, second = self.models
            for split in reading.held_out:
                made[f"better-{split}"] = lambda r, level, split=split: _better(
                    reading.accuracy(r[first], split), reading.accuracy(r[second], split), level
                )
        return made

    def tables(self, results: Results) -> tuple[Table, ...]:
        reading = Reading(self.task)
        made = [tables.accuracies(reading, results), tables.selection(reading, results)]
        made += [tables.by_factor(reading, results), tables.combinations(reading, results)]
        made += tables.kinds(reading, results)
        if len(self.models) == 2:
            made.append(tables.item_by_item(reading, results))
        return (*made, tables.seeds_needed(reading, results))

    def figures(self, results: Results) -> tuple[Figure, ...]:
        reading = Reading(self.task)
        made = [figures.along_training(reading, results), figures.by_factor(reading, results)]
        if not isinstance(self.task, SequenceTask):
            made.append(figures.dependence(reading, results))
        return tuple(made)


def _better(a: np.ndarray, b: np.ndarray, level: float) -> Verdict:
    return stats.above(stats.mean(a - b, level=level), 0.0)


def _claim(name: str, statement: str, rule: str) -> Claim:
    return Claim(
        id=name,
        part=Card.name,
        statement=f"{statement[0].upper()}{statement[1:]}.",
        where="asked by recombine",
        published="nothing: this is your model",
        rule=rule,
    )
