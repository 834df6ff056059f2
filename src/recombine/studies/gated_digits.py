"""Part `gated/digits`: gated networks on images of digits, and the machines that predict them.

Quick scale has scikit-learn's digits of 8 × 8 pixels; paper scale has all of MNIST's training
images, 0–4 against 5–9, with the published numbers of points and units. Claims rest on gates with
one hyperplane at the median; gates at random thresholds and with two hyperplanes stand beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.models.gated import Gated
from recombine.stats import Verdict
from recombine.studies.figure import Figure
from recombine.studies.gated_cells import GatedTable
from recombine.studies.gated_digits_shown import (
    PLANES,
    SIZES,
    UNITS,
    VARIANTS,
    VARIED,
    entry,
    errors,
    inconsistencies,
    other_gates,
    shallow,
    two_layers,
)
from recombine.studies.gated_reading import interval, pooled
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table
from recombine.training.normalised import Descent
from recombine.training.optimizers import SGD

TRACKS, FAR = 0.02, 0.05
"""The lines of claims D1 and D3, as their rules state them."""
FEW = 3
"""The most seeds of what no claim rests on, as many as the paper's."""
BATCH, EPOCHS_AT = 128, 2000
"""Paper scale: batches of 128, and 200 epochs of 2,000 points whatever the number of points."""


@dataclass(frozen=True)
class DigitsPart(Part):
    """The tables of the paper."""

    name: ClassVar[str] = "digits"
    title: ClassVar[str] = "Digits: low against high"
    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 4, "paper": 5}
    smallest: ClassVar[tuple[str, ...]] = ("training.steps=20", "n=40")

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        needs = {}
        for n in SIZES[scale]:
            cell = self._cell(scale, n)
            for units in UNITS[scale]:
                needs[f"two-{n}-{units}"] = replace(cell, model=Gated(widths=(units,)))
            for planes in PLANES[scale]:
                model = Gated(widths=(), planes=planes)
                needs[f"shallow-{n}-{planes}"] = replace(cell, model=model)
        found = {name: Need(cell, range(seeds)) for name, cell in needs.items()}
        return found | self._varied(scale, min(seeds, FEW))

    def _varied(self, scale: str, seeds: int) -> dict[str, Need]:
        """The same with other gates."""
        needs = {}
        for name, (_, cut, planes) in VARIANTS.items():
            for n in VARIED[scale]:
                for units in UNITS[scale]:
                    model = Gated(widths=(units,), planes=planes)
                    cell = replace(self._cell(scale, n), cut=cut, model=model)
                    needs[f"{name}-{n}-{units}"] = Need(cell, range(seeds))
        return needs

    def judges(self) -> Mapping[str, Judge]:
        return {
            "D1": tracks_descent,
            "D2": agrees_more,
            "D3": control_is_far_worse,
            "D4": gap_closes,
            "D5": two_layers_win,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return *two_layers(results), other_gates(results), shallow(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return errors(results), inconsistencies(results)

    def _cell(self, scale: str, n: int) -> GatedTable:
        if scale == "quick":
            return GatedTable(n=n)
        steps = 200 * EPOCHS_AT // n * (n // BATCH)
        training = Descent(steps=steps, batch=BATCH, optimizer=SGD(rate=0.04))
        return GatedTable(source="mnist-60k", n=n, training=training, together=1)


def _entries(results: Results, a: str, b: str) -> Float[np.ndarray, " seed"]:
    """The mean over table entries of a − b, a number a seed."""
    entries = [(n, units) for n in SIZES[results.scale] for units in UNITS[results.scale]]
    return pooled(entry(results, *e, a) - entry(results, *e, b) for e in entries)


def _excess(results: Results, units: int) -> Float[np.ndarray, " seed"]:
    """How much worse the l2 control is at so many units, the mean over numbers of points."""
    return pooled(
        entry(results, n, units, "error/l2") - entry(results, n, units, "error/svm")
        for n in SIZES[results.scale]
    )


def tracks_descent(results: Results, level: float) -> Verdict:
    """D1: the error of SVM-GLN is that of descent."""
    return stats.equal_within(
        interval(_entries(results, "error/svm", "error/gd"), level), 0.0, TRACKS
    )


def agrees_more(results: Results, level: float) -> Verdict:
    """D2: SVM-GLN disagrees with descent less than SVM-L2 does."""
    return stats.above(
        interval(_entries(results, "inconsistency/l2", "inconsistency/svm"), level), 0.0
    )


def control_is_far_worse(results: Results, level: float) -> Verdict:
    """D3: the excess error of SVM-L2 at the fewest units."""
    return stats.above(interval(_excess(results, UNITS[results.scale][0]), level), FAR)


def gap_closes(results: Results, level: float) -> Verdict:
    """D4: the excess is larger at the fewest units than at the most."""
    few, many = UNITS[results.scale][0], UNITS[results.scale][-1]
    return stats.above(interval(_excess(results, few) - _excess(results, many), level), 0.0)


def two_layers_win(results: Results, level: float) -> Verdict:
    """D5: the best shallow network against two layers with most units, both by descent."""
    most, better = UNITS[results.scale][-1], []
    for n in SIZES[results.scale]:
        one = [
            results[f"shallow-{n}-{planes}"].scalar("error/gd") for planes in PLANES[results.scale]
        ]
        best = min(one, key=lambda errors: float(errors.mean()))
        better.append(best - entry(results, n, most, "error/gd"))
    return stats.above(interval(pooled(better), level), 0.0)
