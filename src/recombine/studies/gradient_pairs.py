"""Part `gradient/pairs`: pairs of handwritten digits, name the first (experiment 1).

In setting A the second digit follows the first in training, in setting B it is independent; both
are tested where it misleads whoever leans on it. Beyond the paper: the dependence matrix along
training, a third split that tells new images from new combinations, and three digits at once, all
of which are to be named, where the matrix is 3 × 3.

Profiles: `as-printed` evaluates on 10,000 pairs, `as-run` on 100 fixed ones as the original did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.analyses.dependence import Dependence
from recombine.models.convnet import ConvNet
from recombine.stats import Verdict
from recombine.studies import gradient_pairs_figures as drawn
from recombine.studies import gradient_pairs_tables as tabulated
from recombine.studies.figure import Figure
from recombine.studies.gradient_pairs_tables import gap, redundant
from recombine.studies.results import Results, Seeds
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table
from recombine.tasks.digit_pairs import DigitPairs
from recombine.training.optimizers import Adam
from recombine.training.recipe import Recipe
from recombine.training.trial import Probe, Trial

AT = (0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200)
"""Steps at which every split is evaluated, closer where training is fast."""
QUICK_AT = (0, 5, 10, 20, 30, 40, 60, 80, 100)
LOOKED = (0, 5, 10, 20, 40, 60, 100, 150, 200)
"""Steps at which the dependence matrix is measured."""
MUCH, LEANS = 0.10, 0.10
"""The lines of claims A2 and A3, as their rules state them."""
PAIRS = {"as-printed": {"quick": 300, "paper": 10_000}, "as-run": {"quick": 100, "paper": 100}}
"""Pairs a split is evaluated on."""


@dataclass(frozen=True)
class PairsPart(Part):
    """Experiment 1."""

    name: ClassVar[str] = "pairs"
    title: ClassVar[str] = "Two digits side by side, and the first to be named"
    profiles: ClassVar[tuple[str, ...]] = ("as-printed", "as-run")
    seeds: ClassVar[Mapping[str, int]] = {"quick": 6, "paper": 20}
    smallest: ClassVar[tuple[str, ...]] = (
        "recipe.steps=2",
        "recipe.batch=8",
        "recipe.evaluation_examples=20",
        "model.channels=4,4",
    )

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        needs = {}
        for setting in ("A", "B"):
            main = _main(setting, scale, PAIRS[profile][scale])
            needs[setting] = Need(main, range(seeds))
            few = range(min(seeds, 1 if scale == "quick" else 5))
            needs[f"three-{setting}"] = Need(_three(main, _task(setting, scale)), few)
        return needs

    def judges(self) -> Mapping[str, Judge]:
        return {"A1": rises_faster, "A2": falls_short, "A3": leans_on_the_second}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            tabulated.accuracy(results),
            tabulated.rise(results),
            tabulated.dependence(results),
            tabulated.three(results),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (
            drawn.examples(results),
            drawn.training(results),
            drawn.gaps(results),
            drawn.splits(results),
            drawn.dependence(results),
            drawn.matrices(results),
        )


def _main(setting: str, scale: str, pairs: int) -> Trial:
    """The paper's network and recipe on MNIST; at quick scale half the channels, fewer images."""
    quick = scale == "quick"
    recipe = Recipe(
        steps=100 if quick else 200,
        batch=64,
        loss="categorical-hinge",
        optimizer=Adam(),
        evaluate_at=QUICK_AT if quick else AT,
        evaluation_examples=pairs,
        lanes="looped",
    )
    look = Dependence(
        400 if quick else 2000, gradient_examples=50 if quick else 100, information="predictive"
    )
    return Trial(
        _task(setting, scale),
        ConvNet(channels=(16, 32)) if quick else ConvNet(),
        recipe,
        (Probe(look, (0, 20, 50, 100) if quick else LOOKED),),
    )


def _task(setting: str, scale: str) -> DigitPairs:
    return DigitPairs(
        "A" if setting == "A" else "B", images="mnist-5k" if scale == "quick" else "mnist"
    )


def _three(main: Trial, task: DigitPairs) -> Trial:
    """Three digits, all to be named; measured before and after training only.

    Learned by cross entropy: the hinge is slow when there are three answers to get right.
    """
    recipe = replace(main.recipe, evaluate_at=(0,), loss="cross-entropy")
    probe = replace(main.probes[0], at=(0, recipe.steps))
    more = replace(task, digits=3, asked=3)
    return Trial(more, main.model, recipe, (probe,))


def area(cell: Seeds) -> Float[np.ndarray, " seed"]:
    """The mean training accuracy over all steps: the area under the curve, by trapezoids."""
    steps = cell.steps("accuracy/train")
    curve = cell.array("accuracy/train")
    return np.asarray(np.trapezoid(curve, steps, axis=1) / max(int(steps[-1]), 1))


def rises_faster(results: Results, level: float) -> Verdict:
    """A1: over the steps of training, more is right in training in A than in B."""
    found = stats.paired(area(results["A"]), area(results["B"]), level=level)
    return stats.above(found.difference, 0.0)


def falls_short(results: Results, level: float) -> Verdict:
    """A2: the gap between training and test at the end is much larger in A."""
    found = stats.paired(gap(results["A"])[:, -1], gap(results["B"])[:, -1], level=level)
    return stats.above(found.difference, MUCH)


def leans_on_the_second(results: Results, level: float) -> Verdict:
    """A3: moving the second digit flips many predictions in A and few in B."""
    a, b = (stats.mean(redundant(results[setting], "flip")[:, -1], level=level) for setting in "AB")
    in_a, in_b = stats.above(a, LEANS), stats.below(b, LEANS)
    words = f"in A {in_a.reason.rstrip('.')}; in B {in_b.reason}"
    outcomes = {in_a.outcome, in_b.outcome}
    if "contradicted" in outcomes:
        return replace(in_a, outcome="contradicted", reason=words)
    if "inconclusive" in outcomes:
        return replace(in_a, outcome="inconclusive", reason=words)
    return replace(in_a, reason=words)
