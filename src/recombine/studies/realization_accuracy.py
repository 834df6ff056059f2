"""Part `realization/accuracy`: what guidance does for generalization (Tables 5 and 6).

Five networks of each kind (eight at quick scale) are trained on lookup tables, and tested on
held-out inputs (HI), held-out compositions (HC), compositions with a held-out table (HT) and of
held-out tables only (NC). Beyond the paper: three ways of choosing the epoch side by side, and
longer chains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from recombine import stats
from recombine.stats import Verdict
from recombine.studies import realization_accuracy_shown as shown
from recombine.studies.figure import Figure
from recombine.studies.realization_accuracy_shown import SETS, chosen
from recombine.studies.realization_cells import PROFILES, SELECTION, training
from recombine.studies.realization_chains import Chains
from recombine.studies.results import Results
from recombine.studies.reuse_judging import all_of
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table

SOLVED, UNSOLVED = 0.95, 0.35
"""The lines of claim C1, as the paper's tables suggest them."""
FAR = 0.25
"""By how much guided networks must lead for claim C2."""


@dataclass(frozen=True)
class AccuracyPart(Part):
    """Tables 5 and 6."""

    name: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "What being told where to look does for generalization"
    profiles: ClassVar[tuple[str, ...]] = PROFILES
    seeds: ClassVar[Mapping[str, int]] = {"quick": 8, "paper": 5}
    smallest: ClassVar[tuple[str, ...]] = tuple(
        f"{prefix}{setting}"
        for prefix in ("", "trained.")
        for setting in ("recipe.steps=29", "model.hidden=16", "model.output_embedding=16")
    )

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        baseline = training(scale, profile, "baseline")
        guided = training(scale, profile, "guided")
        every = range(seeds)
        longest = 5 if scale == "quick" else 10
        chains = Chains(guided, SELECTION[profile], longest)
        return {
            "baseline": Need(baseline, every),
            "guided": Need(guided, every),
            "chains-baseline": Need(replace(chains, trained=baseline), every),
            "chains-guided": Need(chains, every),
        }

    def judges(self) -> Mapping[str, Judge]:
        return {"C1": solves_what_the_baseline_does_not, "C2": leads_far}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            shown.runs(results),
            shown.selections(results),
            shown.chains(results),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (shown.every_run(results), shown.along_training(results), shown.by_length(results))


def solves_what_the_baseline_does_not(results: Results, level: float) -> Verdict:
    """C1: on HC and HI guided networks reach .95, the baseline stays under .35."""
    verdicts, means = [], {}
    for name in ("HC", "HI"):
        guided, baseline = (chosen(results, arm, SETS[name]) for arm in ("guided", "baseline"))
        gap = stats.paired(guided, baseline, level=level).difference
        verdicts.append((f"{name}, guided minus baseline", stats.above(gap, SOLVED - UNSOLVED)))
        means[name] = float(guided.mean()), float(baseline.mean())
    verdict = all_of(verdicts)
    words = ", ".join(f"{n} {g:.2f} against {b:.2f}" for n, (g, b) in means.items())
    met = all(g >= SOLVED and b <= UNSOLVED for g, b in means.values())
    if verdict.outcome == "reproduced" and not met:
        verdict = replace(verdict, outcome="inconclusive")
    return replace(verdict, reason=f"means {words}; {verdict.reason}")


def leads_far(results: Results, level: float) -> Verdict:
    """C2: on HT and NC guided networks are far above the baseline."""
    gaps = []
    for name in ("HT", "NC"):
        guided, baseline = (chosen(results, arm, SETS[name]) for arm in ("guided", "baseline"))
        gap = stats.paired(guided, baseline, level=level).difference
        gaps.append((f"{name}, guided minus baseline", stats.above(gap, FAR)))
    return all_of(gaps)
