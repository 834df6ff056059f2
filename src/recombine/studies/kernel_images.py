"""Parts `kernel/images-…`: convolutional networks on images of items, each factor in its channels.

At quick scale: scikit-learn's digits of 8 × 8 and a small network. At paper scale: MNIST and the
published network, whose runs take hours each; the parts are small so that each can be finished, and
within a part the most telling cells come first. Every seed has its own assignment of classes and
training images to items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.analyses.additivity import Additivity
from recombine.analyses.salience import Salience
from recombine.models.deep_conv import DeepConv, Precision
from recombine.stats import Verdict
from recombine.studies import kernel_images_shown as shown
from recombine.studies.figure import Figure
from recombine.studies.kernel_cells import Assigned
from recombine.studies.kernel_reading import by_split, last, shrinkage
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part, Runs
from recombine.studies.table import Table
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.items import ItemTask
from recombine.tasks.pictures import Images
from recombine.tasks.relations import Equivalence
from recombine.training.optimizers import SGD
from recombine.training.recipe import Recipe
from recombine.training.trial import Probe, Trial

FAR = {"quick": 8, "paper": 20}
"""Pixels by which the images of two factors are apart where they are far; near is 0."""
DISTANCES = {"quick": (0, 4, 8), "paper": (0, 20, 5, 10, 15)}
"""All distances of the paper, in the order in which they are run: the ends first."""
QUARTER = 4
"""The part of the published training that is also done in single precision."""
ADDITIVE, PASSES, CHANCE = 0.9, 0.75, 0.5
"""The lines of claims B3, D2, and of D1 and F4."""
LINKED = Equivalence(classes_of=(5, 5), linking=(4, 4))
SMALL = DeepConv(channels=(16, 32), kernel=3, dense=(64,))
"""The network of quick scale."""


def cell(
    task: ItemTask, *, scale: str, shift: int, part: int = 1, precision: Precision = "single"
) -> Assigned:
    """A convolutional network on a task as images, trained for one part of so many of its time."""
    adds = isinstance(task, Addition)
    if scale == "quick":
        source, batch = Images("digits", shift=shift, per_class=100), 64
        model = replace(SMALL, precision=precision)
        examples, epochs, rate, shown_each = 2000, 15, 1e-3 if adds else 1e-2, 10
    else:
        source, batch = Images("mnist", shift=shift, per_class=200), 128
        model = DeepConv(precision=precision)
        examples = 30_000 if isinstance(task, ContextDependence) else 20_000
        epochs, rate, shown_each = 150 if isinstance(task, Equivalence) else 100, 1e-4, 100
    steps = epochs * (examples // batch) // part
    recipe = Recipe(
        steps=steps,
        batch=batch,
        sampling="without-replacement",
        examples=examples,
        loss="squared" if adds else "logistic-sign",
        optimizer=SGD(rate=rate, momentum=0.9),
        evaluate_at=(0, steps // 4, steps // 2),
        evaluation_examples=300 if scale == "quick" else 1000,
        lanes="looped",
    )
    site = f"conv.{len(model.channels) - 1}"
    salience = Salience(site, repeats=1 if scale == "quick" else 3)
    probes = Probe(Additivity(examples=shown_each)), Probe(salience, (0, steps))
    return Assigned(Trial(replace(task, inputs=source), model, recipe, probes))


@dataclass(frozen=True)
class ShowsImages(Part):
    """What every part has that shows items as images."""

    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    smallest: ClassVar[tuple[str, ...]] = (
        "trial.recipe.steps=2",
        "trial.recipe.examples=128",
        "trial.recipe.evaluation_examples=20",
    )


@dataclass(frozen=True)
class ImagePart(ShowsImages):
    """What the three parts of the study have in common."""

    seeds: ClassVar[Mapping[str, int]] = {"quick": 4, "paper": 3}
    runs: ClassVar[Runs] = "with its study"
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]]
    """Name, task, and whether the images are far apart, the most telling first."""
    paper_only: ClassVar[tuple[str, ...]] = ()
    """Cells that no claim rests on: not run at quick scale."""
    shortened: ClassVar[int] = 1
    """At paper scale the published epochs are divided by this."""
    in_halves: ClassVar[tuple[str, ...]] = ()
    """Cells that hold halves at paper scale (`models/halves.py`)."""

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        part = self.shortened if scale == "paper" else 1
        found = {}
        for name, task, far in self.wanted_at(scale):
            halves = scale == "paper" and name in self.in_halves
            precision: Precision = "half" if halves else "single"
            shift = FAR[scale] if far else 0
            one = cell(task, scale=scale, shift=shift, part=part, precision=precision)
            found[name] = Need(one, range(seeds))
        return found

    @classmethod
    def wanted_at(cls, scale: str) -> tuple[tuple[str, ItemTask, bool], ...]:
        """The cells of a scale."""
        return tuple(w for w in cls.wanted if scale == "paper" or w[0] not in cls.paper_only)

    @classmethod
    def task(cls, name: str) -> ItemTask:
        """The task of a cell."""
        return {key: task for key, task, _ in cls.wanted}[name]


@dataclass(frozen=True)
class HalfPart(ImagePart):
    """A part with a profile in which the cells far apart are trained in half precision.

    These are the runs that take longest. Beside them stands the first of them in single precision,
    for a quarter of its epochs: whether it had learned the same by then.
    """

    profiles: ClassVar[tuple[str, ...]] = ("as-run", "half")

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        single = super().cells(scale=scale, profile=profile, seeds=seeds)
        if profile != "half":
            return single
        far = {
            name: Need(cell(task, scale=scale, shift=FAR[scale], precision="half"), range(seeds))
            for name, task, far in self.wanted_at(scale)
            if far
        }
        name, task, _ = self.wanted[0]
        part = QUARTER if scale == "paper" else 1
        beside = cell(task, scale=scale, shift=FAR[scale], part=part)
        return {**single, **far, shown.in_single(name): Need(beside, range(seeds))}

    def precision_tables(self, results: Results, measure: shown.Measure) -> tuple[Table, ...]:
        """What half precision changed, in the profile that has it."""
        if results.profile != "half":
            return ()
        return (shown.precision_table(results, self.wanted[0][0], measure=measure),)


@dataclass(frozen=True)
class AddsImages(ImagePart):
    """What the parts have in common in which digits are added that are shown, not named."""

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            shown.addition_table(results, self.wanted),
            shown.course_table(results, self.wanted, measure="loss"),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (shown.addition_figure(results, self.wanted),)


@dataclass(frozen=True)
class ImagesAddition(AddsImages, HalfPart):
    """Images far apart and side by side."""

    name: ClassVar[str] = "images-addition"
    title: ClassVar[str] = "Adding images: the leak in convolutional networks"
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("extrapolation far", Addition(trained_items=SETS["extrapolation"]), True),
        ("extrapolation near", Addition(trained_items=SETS["extrapolation"]), False),
        ("interpolation far", Addition(trained_items=SETS["interpolation"]), True),
    )

    def tables(self, results: Results) -> tuple[Table, ...]:
        return *super().tables(results), *self.precision_tables(results, "loss")

    def judges(self) -> Mapping[str, Judge]:
        return {
            "B1": distance_helps,
            "B2": partial(more_trained_items_help, where="far"),
            "B3": partial(answers_add_up, part=ImagesAddition),
            "B4": distance_is_salience,
        }


def slopes(results: Results, *names: str) -> list[np.ndarray]:
    """The slope m over all held-out pairs, of the seeds that all these cells have."""
    tasks = (Addition(trained_items=SETS[name.split()[0]]) for name in names)
    cells = results.shared(*names)
    return [shrinkage(cell, task)[0] for cell, task in zip(cells, tasks, strict=True)]


def distance_helps(results: Results, level: float) -> Verdict:
    """B1: the slope is larger where the images are far apart."""
    far, near = slopes(results, "extrapolation far", "extrapolation near")
    return stats.above(stats.paired(far, near, level=level).difference, 0.0)


def more_trained_items_help(results: Results, level: float, *, where: str) -> Verdict:
    """B2 and B5: the slope is larger with two trained items than with one."""
    two, one = slopes(results, f"interpolation {where}", f"extrapolation {where}")
    return stats.above(stats.paired(two, one, level=level).difference, 0.0)


def answers_add_up(results: Results, level: float, *, part: type[ImagePart]) -> Verdict:
    """B3 and B6: answers to held-out pairs are nearly a sum over items."""
    cells = results.shared(*(name for name, _, _ in part.wanted))
    shares = [last(cell, "additivity/test") for cell in cells]
    return stats.above(stats.mean(np.mean(shares, axis=0), level=level), ADDITIVE)


def distance_is_salience(results: Results, level: float) -> Verdict:
    """B4: S(1;2) of the untrained network is larger where the images are far apart."""
    cells = results.shared("extrapolation far", "extrapolation near")
    far, near = (cell.array("salience")[:, 0, 0] for cell in cells)
    return stats.above(stats.paired(far, near, level=level).difference, 0.0)


@dataclass(frozen=True)
class ImagesContext(HalfPart):
    """Context dependence with images."""

    name: ClassVar[str] = "images-context"
    title: ClassVar[str] = "Context dependence on images: the shortcut in convolutional networks"
    paper_only: ClassVar[tuple[str, ...]] = ("CD-1 near",)
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("CD-3 far", ContextDependence(left_out=3), True),
        ("CD-1 far", ContextDependence(left_out=1), True),
        ("CD-3 near", ContextDependence(left_out=3), False),
        ("CD-1 near", ContextDependence(left_out=1), False),
    )

    def judges(self) -> Mapping[str, Judge]:
        return {
            "D1": partial(takes_the_shortcut, part=ImagesContext),
            "D2": partial(learns_with_few_left_out, part=ImagesContext),
            "D3": partial(distance_hurts, part=ImagesContext),
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        wanted = self.wanted_at(results.scale)
        return (
            shown.accuracy_table(results, wanted),
            shown.shares_table(results, wanted),
            *self.precision_tables(results, "accuracy"),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (shown.shares_figure(results, self.wanted_at(results.scale)),)


def accuracies(results: Results, part: type[ImagePart], *names: str) -> list[np.ndarray]:
    """On held-out combinations and unseen images, of the seeds that all these cells have."""
    pairs = zip(results.shared(*names), names, strict=True)
    return [by_split(cell, part.task(n), "answers/accuracy", trained=False) for cell, n in pairs]


def new_combinations_are_harder(
    results: Results, level: float, *, name: str, task: ItemTask
) -> Verdict:
    """D5, F6 and E1: unseen images are harder in held-out combinations than in trained ones."""
    held_out, trained = (
        by_split(results[name], task, "answers/accuracy", trained=trained)
        for trained in (False, True)
    )
    return stats.below(stats.paired(held_out, trained, level=level).difference, 0.0)


def takes_the_shortcut(results: Results, level: float, *, part: type[ImagePart]) -> Verdict:
    """D1 and D6: CD-3 is answered worse than by guessing where the images are far apart."""
    (accuracy,) = accuracies(results, part, "CD-3 far")
    return stats.below(stats.mean(accuracy, level=level), CHANCE)


def learns_with_few_left_out(results: Results, level: float, *, part: type[ImagePart]) -> Verdict:
    """D2 and D9: CD-1 is answered well where the images are far apart."""
    (accuracy,) = accuracies(results, part, "CD-1 far")
    return stats.above(stats.mean(accuracy, level=level), PASSES)


def distance_hurts(results: Results, level: float, *, part: type[ImagePart]) -> Verdict:
    """D3 and D7: CD-3 is answered worse the farther the images are apart."""
    far, near = accuracies(results, part, "CD-3 far", "CD-3 near")
    return stats.below(stats.paired(far, near, level=level).difference, 0.0)


@dataclass(frozen=True)
class ImagesEquivalence(ImagePart):
    """Equivalence with images, four of five items of each class linking."""

    name: ClassVar[str] = "images-equivalence"
    title: ClassVar[str] = "Equivalence on images: beyond any kernel model"
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("equivalence far", LINKED, True),
        ("equivalence near", LINKED, False),
    )

    def judges(self) -> Mapping[str, Judge]:
        return {"F4": transfers, "F5": distance_helps_transfer}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (shown.accuracy_table(results, self.wanted),)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (shown.accuracy_figure(results, self.wanted),)


def transfers(results: Results, level: float) -> Verdict:
    """F4: held-out pairs are answered better than by any kernel model."""
    (accuracy,) = accuracies(results, ImagesEquivalence, "equivalence far")
    return stats.above(stats.mean(accuracy, level=level), CHANCE)


def distance_helps_transfer(results: Results, level: float) -> Verdict:
    """F5: and better the farther the images are apart."""
    far, near = accuracies(results, ImagesEquivalence, "equivalence far", "equivalence near")
    return stats.above(stats.paired(far, near, level=level).difference, 0.0)
