"""Part `gradient/corners`: the two-dimensional problem (experiment 3) and the propositions.

The model sees three corners of a square and is asked about the fourth. Beyond the paper's three
pictures: the distribution over up to 1,000 seeds, the dependence on the redundant input X2 over
training, a control that trains on all four corners, and the propositions checked on the first
updates of a linear and a deep network that both start from an output of zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, cast, get_args

from recombine import stats
from recombine.analyses.boundary import Boundary
from recombine.analyses.dependence import Dependence
from recombine.analyses.redundancy import Redundancy
from recombine.models.mlp import MLP
from recombine.stats import Verdict
from recombine.studies import gradient_corners_figures as drawn
from recombine.studies import gradient_corners_tables as tabulated
from recombine.studies.figure import Figure
from recombine.studies.gradient_corners_tables import EPOCH
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table
from recombine.tasks.corners import Corners, Profile
from recombine.training.recipe import Recipe
from recombine.training.trial import Probe, Trial

MARKS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Printed steps at which everything is measured."""
FIRST = (*range(9), 16, 32, 64)
"""Updates at which the propositions are checked."""
LARGE, CUT, NEARLY_ALL = 0.20, 0.05, 0.90
"""The lines of claims D1 and D2, as their rules state them."""


@dataclass(frozen=True)
class CornersPart(Part):
    """Experiment 3."""

    name: ClassVar[str] = "corners"
    title: ClassVar[str] = "Three corners of a square, and the fourth"
    profiles: ClassVar[tuple[str, ...]] = ("as-run", "as-printed")
    seeds: ClassVar[Mapping[str, int]] = {"quick": 100, "paper": 1000}
    smallest: ClassVar[tuple[str, ...]] = ("recipe.steps=36",)

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        assert profile in get_args(Profile)
        task = Corners(profile=cast(Profile, profile))
        main = self._main(task, epochs=256 if scale == "quick" else 1024)
        portrait = replace(main, probes=(self._portrait(task),))
        control = replace(main, task=replace(task, train_on="four"))
        few = min(seeds, 200)
        needs = {
            "main": Need(main, range(seeds)),
            "portrait": Need(portrait, range(min(seeds, 9))),
            "control": Need(control, range(few)),
        }
        for depth, widths in {"linear": (), "deep": main_widths(main)}.items():
            for case, shown in {"redundant": task, "independent": control.task}.items():
                cell = self._first_updates(replace(main, task=shown), widths)
                needs[f"{depth}-{case}"] = Need(cell, range(few))
        return needs

    def judges(self) -> Mapping[str, Judge]:
        return {"D1": errs_widely, "D2": errs_nearly_always, "T1": leans_at_once, "T2": leans_not}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            tabulated.unseen_corner(results),
            tabulated.dependence(results),
            tabulated.propositions(results),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (
            drawn.data(results),
            drawn.along_training(results),
            drawn.many_boundaries(results),
            drawn.distributions(results),
            drawn.dependence(results),
            drawn.propositions(results),
        )

    def _main(self, task: Corners, *, epochs: int) -> Trial:
        """MLP 2-8-8-8, batch 10, rate .1: the text's 1,024 steps, or the playground's epochs."""
        if task.profile == "as-printed":
            model, recipe = MLP(), Recipe(evaluation_examples=500)
        else:
            model = MLP(init="playground", readout="sign")
            recipe = Recipe(
                steps=EPOCH * epochs,
                sampling="in-order",
                examples=180,
                loss="squared-sign",
                evaluation_examples=500,
                evaluate_at=tuple(EPOCH * mark for mark in MARKS),
            )
        probes = (Probe(Dependence(), recipe.evaluate_at), Probe(Boundary()))
        return Trial(task, model, recipe, probes)

    def _portrait(self, task: Corners) -> Probe:
        unit = 1 if task.profile == "as-printed" else EPOCH
        return Probe(Boundary(resolution=65), tuple(unit * m for m in (0, 1, 4, 16, 64, 256, 1024)))

    def _first_updates(self, main: Trial, widths: tuple[int, ...]) -> Trial:
        model = replace(cast(MLP, main.model), widths=widths, init="glorot-zero-output")
        recipe = replace(main.recipe, steps=max(FIRST), evaluate_at=FIRST)
        return Trial(main.task, model, recipe, (Probe(Redundancy(), FIRST),))


def main_widths(main: Trial) -> tuple[int, ...]:
    """The hidden layers of the main cell's network."""
    return cast(MLP, main.model).widths


def errs_widely(results: Results, level: float) -> Verdict:
    """D1: the mean error on the unseen corner is large."""
    error = results["main"].array("boundary/error")[:, -1]
    return stats.above(stats.mean(error, level=level), LARGE)


def errs_nearly_always(results: Results, level: float) -> Verdict:
    """D2: nearly every seed errs on some of it."""
    error = results["main"].array("boundary/error")[:, -1]
    return stats.above(stats.share(int((error > CUT).sum()), len(error), level=level), NEARLY_ALL)


def leans_at_once(results: Results, level: float) -> Verdict:
    """T1: after one update, more information about Y2 than chance gives, and a slope in X2."""
    redundant, independent = results["linear-redundant"], results["linear-independent"]
    information = "redundancy/information"
    excess = stats.paired(
        redundant.array(information)[:, 1, 0, 1],
        independent.array(information)[:, 1, 0, 1],
        level=level,
    )
    slope = stats.mean(redundant.array("redundancy/slope")[:, 1, 0, 1], level=level)
    verdict = stats.above(excess.difference, 0.0)
    words = f"{verdict.reason.rstrip('.')}; the mean slope in X2 is {slope:.4f}"
    if verdict.outcome == "reproduced" and slope.contains(0.0):
        return replace(verdict, outcome="inconclusive", reason=f"{words}, which may be zero")
    return replace(verdict, reason=words)


def leans_not(results: Results, level: float) -> Verdict:
    """T2: where X2 tells nothing, the slope in it stays within a quarter of what it is in T1."""
    last = "redundancy/slope"
    redundant = float(results["linear-redundant"].array(last)[:, -1, 0, 1].mean())
    slope = stats.mean(results["linear-independent"].array(last)[:, -1, 0, 1], level=level)
    return stats.equal_within(slope, 0.0, abs(redundant) / 4)
