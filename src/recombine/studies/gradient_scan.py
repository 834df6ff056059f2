"""Part `gradient/scan`: SCAN with the primitive `jump` added (experiment 2).

Setting A trains on the official split: `jump` by itself, everything else without it. Setting B
replaces the acting words of training lines at random, so that the word tells nothing about its
frame. B thereby trains on the test commands: its test accuracy is a control, no generalisation.

The network is the original's (its early code is public): Luong attention with input feeding, the
loss summed over an answer's words. Profiles: `as-run` has 32 units a direction and feeds back
actions embedded in 8 dimensions; `as-printed` has 16 a direction, brought to the decoder's 64 by a
linear map, and embeds actions as it does words, in 32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.analyses.verb_dependence import VerbDependence
from recombine.models.attentive import Attentive
from recombine.stats import Verdict
from recombine.studies import gradient_scan_figures as drawn
from recombine.studies import gradient_scan_tables as tabulated
from recombine.studies.figure import Figure
from recombine.studies.gradient_scan_tables import gap, own_task
from recombine.studies.results import Results, Seeds
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table
from recombine.training.optimizers import Adam
from recombine.training.recipe import Recipe
from recombine.training.schedules import Exponential
from recombine.training.translation import Translation
from recombine.training.trial import Probe

EARLY = (10, 25)
"""The steps in which the paper sees training accuracy rise faster in A."""
MUCH = 0.50
"""How much larger the gap of A must be for `much larger`."""
MARKS = (
    0, 5, 10, 15, 20, 25, 30, 35, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500,
)  # fmt: skip
"""Steps at which accuracy is measured; the last always is."""


@dataclass(frozen=True)
class ScanPart(Part):
    """Experiment 2."""

    name: ClassVar[str] = "scan"
    title: ClassVar[str] = "SCAN: a new verb in old frames"
    profiles: ClassVar[tuple[str, ...]] = ("as-run", "as-printed")
    seeds: ClassVar[Mapping[str, int]] = {"quick": 4, "paper": 5}
    smallest: ClassVar[tuple[str, ...]] = (
        "recipe.steps=30",
        "recipe.batch=16",
        "recipe.evaluation_examples=20",
        "model.encoder=2",
        "model.decoder=4",
    )

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        return {
            "A": Need(self._cell("A", scale, profile), range(seeds)),
            "B": Need(self._cell("B", scale, profile), range(seeds)),
        }

    def _cell(self, setting: str, scale: str, profile: str) -> Translation:
        quick = scale == "quick"
        model = Attentive() if profile == "as-run" else Attentive(encoder=16, output_embedding=32)
        recipe = Recipe(
            steps=250 if quick else 2000,
            batch=64 if quick else 256,
            loss="sequence-cross-entropy",
            optimizer=Adam(rate=0.01),
            schedule=Exponential(decay=0.96, every=100, stairs=True),
            clip=1.0,
            evaluate_at=MARKS,
            evaluation_examples=300 if quick else 1000,
            lanes="looped",
        )
        watched = (25, 100, 250) if quick else (25, 100, 250, 500, 1000, 2000)
        return Translation(
            own_task(scale, setting), model, recipe, (Probe(VerbDependence(), watched),)
        )

    def judges(self) -> Mapping[str, Judge]:
        return {"B1": rises_faster, "B2": gap_is_larger}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            tabulated.accuracy(results),
            tabulated.early(results),
            tabulated.kinds(results),
            tabulated.breakdown(results),
            tabulated.dependence(results),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return drawn.curves(results), drawn.kinds(results), drawn.dependence(results)


def early_accuracy(cell: Seeds) -> Float[np.ndarray, " seed"]:
    """Training accuracy of each seed, averaged over the marks from step 10 to step 25."""
    steps = cell.steps("accuracy/train")
    window = (steps >= EARLY[0]) & (steps <= EARLY[1])
    return np.asarray(cell.array("accuracy/train")[:, window].mean(1))


def rises_faster(results: Results, level: float) -> Verdict:
    """B1: training accuracy in steps 10-25 is higher in A than in B, seed by seed."""
    a, b = (early_accuracy(results[setting]) for setting in "AB")
    return stats.above(stats.paired(a, b, level=level).difference, 0.0)


def gap_is_larger(results: Results, level: float) -> Verdict:
    """B2: the gap between training and test accuracy at the end is much larger in A."""
    a, b = (gap(results[setting]) for setting in "AB")
    return stats.above(stats.paired(a, b, level=level).difference, MUCH)
