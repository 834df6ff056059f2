"""Part `realization/inside`: what guidance changes inside the network (Tables 2-3, Figures 1-4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies import realization_inside_figures, realization_inside_tables
from recombine.studies.figure import Figure
from recombine.studies.realization_inside_tables import UNTRAINED, WORDS
from recombine.studies.realization_looking import GATES, ROWS
from recombine.studies.realization_reading import all_of, both, interval
from recombine.studies.realization_surgery_cells import Inside
from recombine.studies.realization_trained import CHOSEN, KINDS, PROFILES, network, smallest
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part, Runs
from recombine.studies.table import Table

FOLDS = {"quick": 3, "paper": 5}


@dataclass(frozen=True)
class InsidePart(Part):
    """Probes, gates, activations and weights of baseline and guided networks."""

    name: ClassVar[str] = "inside"
    title: ClassVar[str] = "What guidance changes inside the network"
    profiles: ClassVar[tuple[str, ...]] = PROFILES
    seeds: ClassVar[Mapping[str, int]] = {"quick": 3, "paper": 5}
    runs: ClassVar[Runs] = "with its study"
    smallest: ClassVar[tuple[str, ...]] = (*smallest("", "trial."), "folds=3")

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        trials = {kind: network(kind, scale=scale, profile=profile) for kind in KINDS}
        needs = {f"{kind} network": Need(trial, range(seeds)) for kind, trial in trials.items()}
        for kind, trial in trials.items():
            needs[kind] = Need(Inside(trial, CHOSEN[profile], FOLDS[scale]), range(seeds))
        if scale == "paper":
            start = trials["baseline"]
            drawn = replace(start, recipe=replace(start.recipe, steps=0, evaluate_at=(0,)))
            needs[UNTRAINED] = Need(Inside(drawn, "last", FOLDS[scale]), range(seeds))
        return needs

    def judges(self) -> Mapping[str, Judge]:
        return {
            "C3": partial(groups_are_smaller, variant="honest"),
            "C3-as-run": partial(groups_are_smaller, variant="as-run"),
            "C4": gates_are_saturated,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return realization_inside_tables.tables(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return realization_inside_figures.figures(results)


def groups_are_smaller(results: Results, level: float, *, variant: str) -> Verdict:
    """C3: in every row, baseline's group minus guided's, paired by seed."""
    verdicts = []
    for row in ROWS:
        name = f"diagnostics/{row.name}.{variant}/units"
        baseline, guided = both(results, "baseline", "guided", name)
        fewer = interval(baseline - guided, level)
        verdicts.append((WORDS[row.name], stats.above(fewer, 0.0)))
    return all_of(verdicts)


def gates_are_saturated(results: Results, level: float) -> Verdict:
    """C4: share of saturated samples, the mean of four gates, guided minus baseline."""
    more = []
    for part, gate in GATES:
        baseline, guided = both(results, "baseline", "guided", f"gates/{part}.{gate}/saturated")
        more.append(guided - baseline)
    return stats.above(interval(np.mean(more, axis=0), level), 0.0)
