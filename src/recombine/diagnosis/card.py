"""The report card: one model or two, trained on a task and judged as a study's part is.

Every statement about a model is a claim with a rule and an interval over seeds, so a diagnosis
goes through the same plan, store and report as a published study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.analyses.breakdown import Breakdown
from recombine.analyses.dependence import Dependence
from recombine.diagnosis import audited, figures, inside, leaning, tables, theory
from recombine.diagnosis.one_network import difference, over
from recombine.diagnosis.reading import Reading
from recombine.diagnosis.view import Looked, View
from recombine.models.model import Model
from recombine.models.own import Own
from recombine.stats import Verdict
from recombine.studies.figure import Figure
from recombine.studies.results import Results, Seeds
from recombine.studies.study import Claim, Judge, Need, Part
from recombine.studies.table import Table
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import Task
from recombine.training import Probe, Recipe, Trial

LEARNED, GAP, LEAN = 0.90, 0.05, 0.05
"""The lines: right on so many trained combinations; so much worse on new ones; flips so often."""

VIEWS: tuple[View, ...] = (
    leaning.OfClasses(), leaning.OfAnswers(), theory.KernelTheory(), theory.Additive(),
    inside.Probes(), inside.GatesUsed(), inside.Carriers(),
)  # fmt: skip
"""What is looked at where a task and a model have it."""


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
                    probes=(Probe(Breakdown()), *self._looks(name)),
                    keep_weights=False,
                ),
                range(seeds),
            )
            for name, model in self.models.items()
        }

    def finished(self, name: str) -> bool:
        """Whether a model is one network, trained elsewhere and judged as it is."""
        model = self.models[name]
        return isinstance(model, Own) and bool(model.weights) and not self.recipes[name].steps

    def _tested(self, name: str) -> int | None:
        """Of a finished network, on how many examples of a split it is judged; else none."""
        return self.recipes[name].evaluation_examples if self.finished(name) else None

    def _looked(self, name: str) -> Looked:
        return Looked(self.task, self.models[name], self.recipes[name].evaluation_steps)

    def _looks(self, name: str) -> tuple[Probe, ...]:
        return tuple(probe for view in VIEWS for probe in view.probes(self._looked(name)))

    def _views(self, results: Results) -> Iterator[tuple[View, dict[str, Seeds]]]:
        """The views that apply, each with the models that it applies to."""
        for view in VIEWS:
            names = [name for name in self.models if view.probes(self._looked(name))]
            if names:
                yield view, {name: results[name] for name in names}

    def claims(self) -> tuple[Claim, ...]:
        """What is asked of each model."""
        reading = Reading(self.task)
        asked: list[tuple[str, str, str]] = []
        for name in self.models:
            asked += _asked(name, reading, leanings=self._leanings())
        if len(self.models) == 2:
            first, second = self.models
            rule = "difference of accuracies, paired by seed: wholly above 0; no, if below"
            asked += [
                (f"better-{split}", f"{first} is better than {second} on {split}", rule)
                for split in reading.held_out
            ]
        return tuple(_claim(*each) for each in asked)

    def _leanings(self) -> bool:
        redundant = any(len(o.factors) < len(self.task.factors) for o in self.task.outputs)
        return redundant and not isinstance(self.task, SequenceTask)

    def judges(self) -> Mapping[str, Judge]:
        reading, made = Reading(self.task), dict[str, Judge]()
        for name in self.models:
            n = self._tested(name)
            made[f"learns-{name}"] = partial(_learns, reading, name, n)
            for split in reading.held_out:
                made[f"composes-{name}-{split}"] = partial(_composes, reading, name, split, n)
            if self._leanings():
                made[f"leans-{name}"] = partial(_leans, reading, name, n and Dependence().examples)
        if len(self.models) == 2:
            for split in reading.held_out:
                made[f"better-{split}"] = partial(_better, reading, tuple(self.models), split)
        return made

    def tables(self, results: Results) -> tuple[Table, ...]:
        reading = Reading(self.task)
        made = [tables.accuracies(reading, results), tables.selection(reading, results)]
        made += [tables.by_factor(reading, results), tables.combinations(reading, results)]
        made += tables.kinds(reading, results)
        if len(self.models) == 2:
            made.append(tables.item_by_item(reading, results))
        for view, cells in self._views(results):
            made += view.tables(reading, cells)
        return (*made, *audited.tables(self.task), tables.seeds_needed(reading, results))

    def figures(self, results: Results) -> tuple[Figure, ...]:
        reading = Reading(self.task)
        made = [figures.along_training(reading, results), figures.by_factor(reading, results)]
        for view, cells in self._views(results):
            made += view.figures(reading, cells)
        return tuple(made)


def _asked(name: str, reading: Reading, *, leanings: bool) -> list[tuple[str, str, str]]:
    """What is asked of one model: id, statement and rule of each claim."""
    reference = reading.reference
    asked = [
        (
            f"learns-{name}",
            f"{name} learns the combinations it is trained on",
            f"accuracy on {reference}: wholly above {LEARNED}; no, if wholly below",
        )
    ]
    asked += [
        (
            f"composes-{name}-{split}",
            f"{name} is as right on new combinations ({split}) as on trained ones",
            f"accuracy on {reference} minus accuracy on {split}, seed by seed: "
            f"wholly below {GAP}; no, if wholly above",
        )
        for split in reading.held_out
    ]
    if leanings:
        rule = (
            "largest share of predictions that flip when a factor that should not matter is "
            f"changed: wholly below {LEAN}; no, if wholly above"
        )
        asked.append((f"leans-{name}", f"{name} reads only the factors it should", rule))
    return asked


def _learns(reading: Reading, name: str, n: int | None, results: Results, level: float) -> Verdict:
    lost = np.isnan(results[name].scalar(f"loss/{reading.reference}"))
    if lost.any():
        raise ValueError(
            f"the loss of {name} is not a number (NaN) in {lost.sum()} of {len(lost)} seeds: look "
            "for a division or logarithm in its forward, or lower --set recipe.optimizer.rate"
        )
    right = reading.accuracy(results[name], reading.reference)
    return stats.above(over(right, n, level), LEARNED)


def _composes(
    reading: Reading, name: str, split: str, n: int | None, results: Results, level: float
) -> Verdict:
    cell = results[name]
    if n is None:
        return stats.below(stats.mean(reading.gap(cell, split), level=level), GAP)
    known, new = (over(reading.accuracy(cell, s), n, level) for s in (reading.reference, split))
    return stats.below(difference(known, new), GAP)


def _leans(reading: Reading, name: str, n: int | None, results: Results, level: float) -> Verdict:
    return stats.below(over(reading.leaning(results[name]), n, level), LEAN)


def _better(
    reading: Reading, names: tuple[str, ...], split: str, results: Results, level: float
) -> Verdict:
    first, second = (reading.accuracy(results[name], split) for name in names)
    n = min(len(first), len(second))
    return stats.above(stats.mean(first[:n] - second[:n], level=level), 0.0)


def _claim(name: str, statement: str, rule: str) -> Claim:
    return Claim(
        id=name,
        part=Card.name,
        statement=f"{statement}.",
        where="asked by recombine",
        published="nothing: this is your model",
        rule=rule,
    )
