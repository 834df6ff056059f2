"""Parts `kernel/residual-…`: the residual network on photographs, for a quarter of the epochs.

The whole training (`kernel/architectures`) takes three hours of a core a run; these two fit a
morning at paper scale, each complete in itself. At quick scale training is whole: a tiny network on
digits, to see that everything runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies import kernel_images_shown as shown
from recombine.studies.figure import Axis, Figure, Line, Mark, Panel, Points
from recombine.studies.kernel_architectures import TASKS, coloured
from recombine.studies.kernel_images import ADDITIVE, ShowsImages, new_combinations_are_harder
from recombine.studies.kernel_images_printed import CIFAR, ITEMS, RESNET_ADDS, RESNET_KNOWS
from recombine.studies.kernel_reading import (
    answers,
    by_split,
    conjunction_shares,
    inferred_values,
    last,
    outermost_slope,
    shrinkage,
)
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Runs
from recombine.studies.table import Table
from recombine.tasks.addition import Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.items import ItemTask

SHORTENED = 4
"""At paper scale the published epochs are divided by this."""
WHOLE = "On CIFAR-10 the paper has 31,200 updates."
GIVEN = dict(zip((8, 0), ITEMS["resnet extrapolation"], strict=True))
"""Published: the values that items +4 and −4 are given, after all epochs."""
WHERE = "Figure: CIFAR-10"
Measured = tuple[str, float | str | None, np.ndarray]
"""What was measured, what is published for it, and ours by seed."""


@dataclass(frozen=True)
class ResidualPart(ShowsImages):
    """What both parts have in common: one network, one task."""

    profiles: ClassVar[tuple[str, ...]] = ("short",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 2, "paper": 3}
    runs: ClassVar[Runs] = "by name"
    asked: ClassVar[str]
    """The task, by its name in TASKS; also the name of the cell."""

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        part = SHORTENED if scale == "paper" else 1
        cell = coloured("resnet", TASKS[self.asked], scale=scale, part=part)
        return {self.asked: Need(cell, range(seeds))}

    @property
    def wanted(self) -> tuple[tuple[str, ItemTask, bool], ...]:
        """The cell as tables and figures of images want it: name, task, images are not apart."""
        return ((self.asked, TASKS[self.asked], False),)


def _table(name: str, title: str, rows: Sequence[Measured]) -> Table:
    return Table(
        id=name,
        title=title,
        columns=("measured", "published (CIFAR-10)", "ours"),
        rows=tuple((what, printed, stats.mean(ours)) for what, printed, ours in rows),
        where=WHERE,
        note="On unseen images unless said. Published after 100 epochs, ours after a quarter.",
    )


@dataclass(frozen=True)
class ResidualAddition(ResidualPart):
    """Sums of photographs, one trained item."""

    name: ClassVar[str] = "residual-addition"
    title: ClassVar[str] = "Adding photographs: the leak in a residual network"
    asked: ClassVar[str] = "extrapolation"
    task: ClassVar[Addition] = Addition()

    def judges(self) -> Mapping[str, Judge]:
        return {"C3": leaks, "C4": adds_up}

    def tables(self, results: Results) -> tuple[Table, ...]:
        cell, task = results[self.asked], self.task
        values, paper = inferred_values(answers(cell), task), results.scale == "paper"
        rows: list[Measured] = [
            (
                f"value given to item {task.values[i]:+.0f}",
                GIVEN[i] if paper else None,
                values[:, i],
            )
            for i in GIVEN
        ]
        rows += [
            (
                "slope, outermost items",
                CIFAR["resnet extrapolation"].score if paper else None,
                outermost_slope(answers(cell), task),
            ),
            ("slope m, all held-out pairs", None, shrinkage(cell, task)[0]),
            ("MSE, held-out pairs", None, by_split(cell, task, "answers/error", trained=False)),
            ("MSE, trained pairs", None, by_split(cell, task, "answers/error", trained=True)),
            ("MSE, trained pairs, training images", None, last(cell, "loss/train")),
            ("additivity R²", RESNET_ADDS if paper else None, last(cell, "additivity/test")),
        ]
        table = _table("addition", "Addition on photographs", rows)
        return table, shown.course_table(results, self.wanted, measure="loss", whole=WHOLE)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        task = self.task
        inferred = inferred_values(answers(results[self.asked]), task)
        spans = [stats.mean(inferred[:, i]) for i in range(task.items)]
        marks: list[Mark] = [
            Line.through(task.values, spans, "ours"),
            Line(task.values, task.values, label="right", colour="muted", dashed=True),
        ]
        if results.scale == "paper":
            items = np.array(list(GIVEN))
            marks.append(
                Points(task.values[items], np.array(list(GIVEN.values())), "published", "second")
            )
        panel = Panel(Axis("value of the item"), Axis("value it was given"), tuple(marks))
        caption = "Inferred from answers to unseen images of held-out pairs; 95% intervals."
        return (Figure("values", self.title, caption, (panel,), columns=1, where=WHERE),)


def leaks(results: Results, level: float) -> Verdict:
    """C3: held-out sums are answered with a slope below 1."""
    slopes = outermost_slope(answers(results["extrapolation"]), ResidualAddition.task)
    return stats.below(stats.mean(slopes, level=level), 1.0)


def adds_up(results: Results, level: float) -> Verdict:
    """C4: answers are nearly sums over seen conjunctions."""
    shares = last(results["extrapolation"], "additivity/test")
    return stats.above(stats.mean(shares, level=level), ADDITIVE)


@dataclass(frozen=True)
class ResidualContext(ResidualPart):
    """Context dependence with photographs, CD-3."""

    name: ClassVar[str] = "residual-context"
    title: ClassVar[str] = "Context dependence on photographs: a residual network"
    asked: ClassVar[str] = "CD-3"
    task: ClassVar[ContextDependence] = ContextDependence(left_out=3)

    def judges(self) -> Mapping[str, Judge]:
        judge = partial(new_combinations_are_harder, name=self.asked, task=self.task)
        return {"E1": judge}

    def tables(self, results: Results) -> tuple[Table, ...]:
        cell, task, paper = results[self.asked], self.task, results.scale == "paper"
        right = {t: by_split(cell, task, "answers/accuracy", trained=t) for t in (False, True)}
        rows: list[Measured] = [
            (
                "accuracy, held-out combinations",
                CIFAR["resnet CD-3"].score if paper else None,
                right[False],
            ),
            ("accuracy, trained combinations", RESNET_KNOWS if paper else None, right[True]),
            ("loss, training images", None, last(cell, "loss/train")),
            ("additivity R²", None, last(cell, "additivity/test")),
        ]
        shares = conjunction_shares(cell, task).items()
        rows += [(f"share of conjunctions: {kind}", None, values) for kind, values in shares]
        table = _table("accuracy", "CD-3 on photographs", rows)
        return table, shown.course_table(results, self.wanted, measure="accuracy", whole=WHOLE)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (shown.shares_figure(results, self.wanted),)
