"""Parts of `kernel` with images that two cores can finish at paper scale.

`images-near`: the published training of the convolutional network, with images side by side.
`images-beside`: the same for context dependence (CD-3, CD-1) and equivalence.
`images-short`: a quarter of it, also with images far apart, and on context dependence.
`images-apart`: a quarter of it on context dependence, side by side and far apart.
`images-few`: the same on CD-1, where few combinations are left out, beside CD-3.
`images-salience`: the network before training, at every distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from recombine import stats
from recombine.stats import Verdict
from recombine.studies import kernel_images_shown as shown
from recombine.studies.figure import Figure
from recombine.studies.kernel_cells import Assigned
from recombine.studies.kernel_images import (
    DISTANCES,
    LINKED,
    AddsImages,
    ImagePart,
    ShowsImages,
    accuracies,
    answers_add_up,
    cell,
    distance_helps,
    distance_hurts,
    learns_with_few_left_out,
    more_trained_items_help,
    new_combinations_are_harder,
    takes_the_shortcut,
)
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Runs
from recombine.studies.table import Table
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.items import ItemTask
from recombine.training.trial import Probe

EXTRAPOLATION = Addition(trained_items=SETS["extrapolation"])


@dataclass(frozen=True)
class ImagesNear(AddsImages):
    """Images side by side only: the whole training that takes least, four core hours."""

    name: ClassVar[str] = "images-near"
    title: ClassVar[str] = "Adding images side by side: the leak with one and two trained items"
    runs: ClassVar[Runs] = "by name"
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("extrapolation near", EXTRAPOLATION, False),
        ("interpolation near", Addition(trained_items=SETS["interpolation"]), False),
    )

    def judges(self) -> Mapping[str, Judge]:
        return {
            "B5": partial(more_trained_items_help, where="near"),
            "B6": partial(answers_add_up, part=ImagesNear),
        }


@dataclass(frozen=True)
class ImagesBeside(ImagePart):
    """Context dependence and equivalence with images side by side: an hour of a core a run."""

    name: ClassVar[str] = "images-beside"
    title: ClassVar[str] = "Context dependence and equivalence on images side by side"
    runs: ClassVar[Runs] = "by name"
    depends: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("CD-3 near", ContextDependence(left_out=3), False),
        ("CD-1 near", ContextDependence(left_out=1), False),
    )
    relates: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("equivalence near", LINKED, False),
    )
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = depends + relates

    def judges(self) -> Mapping[str, Judge]:
        return {
            "D5": partial(
                new_combinations_are_harder, name="CD-3 near", task=ContextDependence(left_out=3)
            ),
            "F6": partial(new_combinations_are_harder, name="equivalence near", task=LINKED),
            "D8": partial(more_left_out_hurts, part=ImagesBeside),
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            shown.accuracy_table(results, self.wanted),
            shown.shares_table(results, self.depends),
            shown.course_table(results, self.wanted, measure="accuracy"),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (
            shown.shares_figure(results, self.depends),
            shown.accuracy_figure(results, self.relates),
        )


@dataclass(frozen=True)
class ImagesShort(ImagePart):
    """Training for a quarter of the published epochs; at quick scale training is whole."""

    name: ClassVar[str] = "images-short"
    title: ClassVar[str] = "Adding images and context dependence, a quarter of the epochs"
    profiles: ClassVar[tuple[str, ...]] = ("short",)
    shortened: ClassVar[int] = 4
    runs: ClassVar[Runs] = "by name"
    adds: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("extrapolation far", EXTRAPOLATION, True),
        ("extrapolation near", EXTRAPOLATION, False),
    )
    depends: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("CD-3 near", ContextDependence(left_out=3), False),
        ("CD-1 near", ContextDependence(left_out=1), False),
    )
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = adds + depends

    def judges(self) -> Mapping[str, Judge]:
        return {"B7": distance_helps, "D4": partial(more_left_out_hurts, part=ImagesShort)}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            shown.addition_table(results, self.adds),
            shown.accuracy_table(results, self.depends),
            shown.shares_table(results, self.depends),
            shown.course_table(results, self.adds, measure="loss"),
            shown.course_table(results, self.depends, measure="accuracy"),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (
            shown.addition_figure(results, self.adds),
            shown.shares_figure(results, self.depends),
        )


def more_left_out_hurts(
    results: Results, level: float, *, part: type[ImagePart], where: str = "near"
) -> Verdict:
    """D4, D8 and D10: CD-3 is answered worse than CD-1."""
    three, one = accuracies(results, part, f"CD-3 {where}", f"CD-1 {where}")
    return stats.below(stats.paired(three, one, level=level).difference, 0.0)


@dataclass(frozen=True)
class ShortContext(ImagePart):
    """Context dependence for a quarter of the published epochs; all of them at quick scale."""

    profiles: ClassVar[tuple[str, ...]] = ("short",)
    shortened: ClassVar[int] = 4
    runs: ClassVar[Runs] = "by name"

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            shown.accuracy_table(results, self.wanted),
            shown.shares_table(results, self.wanted),
            shown.course_table(results, self.wanted, measure="accuracy"),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (shown.shares_figure(results, self.wanted),)


@dataclass(frozen=True)
class ImagesApart(ShortContext):
    """CD-3 over distance, for a quarter of the published epochs; all of them at quick scale."""

    name: ClassVar[str] = "images-apart"
    title: ClassVar[str] = "Context dependence over distance, a quarter of the epochs"
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("CD-3 far", ContextDependence(left_out=3), True),
        ("CD-3 near", ContextDependence(left_out=3), False),
    )

    def judges(self) -> Mapping[str, Judge]:
        return {
            "D6": partial(takes_the_shortcut, part=ImagesApart),
            "D7": partial(distance_hurts, part=ImagesApart),
        }


@dataclass(frozen=True)
class ImagesFew(ShortContext):
    """CD-1 and CD-3 far apart, for a quarter of the published epochs; all of them at quick scale.

    CD-1 in half precision at paper scale, where a run in single precision takes an hour of a core.
    """

    name: ClassVar[str] = "images-few"
    title: ClassVar[str] = (
        "Context dependence far apart: few left out or many, a quarter of the epochs"
    )
    in_halves: ClassVar[tuple[str, ...]] = ("CD-1 far",)
    wanted: ClassVar[tuple[tuple[str, ItemTask, bool], ...]] = (
        ("CD-1 far", ContextDependence(left_out=1), True),
        ("CD-3 far", ContextDependence(left_out=3), True),
    )

    def judges(self) -> Mapping[str, Judge]:
        return {
            "D9": partial(learns_with_few_left_out, part=ImagesFew),
            "D10": partial(more_left_out_hurts, part=ImagesFew, where="far"),
        }


@dataclass(frozen=True)
class ImagesSalience(ShowsImages):
    """Untrained networks, which take seconds."""

    name: ClassVar[str] = "images-salience"
    title: ClassVar[str] = "Salience of items in the untrained network, over distance"
    seeds: ClassVar[Mapping[str, int]] = {"quick": 10, "paper": 10}
    runs: ClassVar[Runs] = "with its study"
    smallest: ClassVar[tuple[str, ...]] = ("trial.recipe.evaluation_examples=20",)

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        return {f"d={d}": Need(untrained(scale, d), range(seeds)) for d in DISTANCES[scale]}

    def judges(self) -> Mapping[str, Judge]:
        return {"B8": salience_rises}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (shown.salience_table(results, sorted(DISTANCES[results.scale])),)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (shown.salience_figure(results, sorted(DISTANCES[results.scale])),)


def untrained(scale: str, shift: int) -> Assigned:
    """The network as it is drawn, on images of two factors."""
    whole = cell(EXTRAPOLATION, scale=scale, shift=shift)
    salience = whole.trial.probes[1].analysis
    recipe = replace(whole.trial.recipe, steps=0, evaluate_at=(), evaluation_examples=100)
    return replace(whole, trial=replace(whole.trial, recipe=recipe, probes=(Probe(salience),)))


def salience_rises(results: Results, level: float) -> Verdict:
    """B8: S(1;2) is larger at the largest distance than at none."""
    near, far = (
        shown.untrained_salience(results, end(DISTANCES[results.scale])) for end in (min, max)
    )
    return stats.above(stats.paired(far, near, level=level).difference, 0.0)
