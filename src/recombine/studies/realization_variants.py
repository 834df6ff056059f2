"""Part `realization/variants`: guided LSTMs (footnote 1), and a batch of eight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from recombine import stats
from recombine.stats import Verdict
from recombine.studies import realization_accuracy_shown as shown
from recombine.studies.figure import Figure
from recombine.studies.realization_accuracy_shown import SETS, at
from recombine.studies.realization_cells import PROFILES, SELECTION, training
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part, Runs
from recombine.studies.table import Table

SIMILAR = 0.10
"""How far apart guided LSTMs and GRUs may be for claim C8."""
LEARNED = 0.95
"""The mean training accuracy below which a kind of network is not compared: it is not done."""


@dataclass(frozen=True)
class VariantsPart(Part):
    """The guided networks of `accuracy`, with another cell and with another batch."""

    name: ClassVar[str] = "variants"
    title: ClassVar[str] = "Guided networks with another cell, and with another batch"
    profiles: ClassVar[tuple[str, ...]] = PROFILES
    seeds: ClassVar[Mapping[str, int]] = {"quick": 3, "paper": 5}
    runs: ClassVar[Runs] = "with its study"
    smallest: ClassVar[tuple[str, ...]] = (
        "recipe.steps=29", "model.hidden=16", "model.output_embedding=16",
    )  # fmt: skip

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        trials = {
            "guided": training(scale, profile, "guided"),
            "lstm": training(scale, profile, "guided", kind="lstm"),
            "batch": training(scale, profile, "guided", batch=8),
        }
        return {name: Need(trial, range(seeds)) for name, trial in trials.items()}

    def judges(self) -> Mapping[str, Judge]:
        return {"C8": lstm_is_similar}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return shown.variants(results), shown.selections(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (shown.along_training(results),)


def lstm_is_similar(results: Results, level: float) -> Verdict:
    """C8: guided LSTMs are like guided GRUs on every set; judged by where they differ most."""
    verdicts, selection = [], SELECTION[results.profile]
    # `accuracy` has more seeds of the same guided networks
    lstm, gru = results.shared("lstm", "guided")
    for name, split in SETS.items():
        two = at(lstm, split, selection), at(gru, split, selection)
        gap = stats.paired(*two, level=level).difference
        verdicts.append((name, stats.equal_within(gap, 0.0, SIMILAR)))
    both = {"guided": gru, "lstm": lstm}
    learned = {arm: float(at(cell, "train", selection).mean()) for arm, cell in both.items()}
    words = "; ".join(f"{name}: {verdict.reason.rstrip('.')}" for name, verdict in verdicts)
    outcomes = {verdict.outcome for _, verdict in verdicts}
    # a set that contradicts is shown before one that is farther off but open
    apart = [v for _, v in verdicts if v.outcome == "contradicted"] or [v for _, v in verdicts]
    furthest = max(apart, key=lambda verdict: abs(verdict.effect))
    if min(learned.values()) < LEARNED:
        told = " and ".join(f"{arm} {share:.2f}" for arm, share in learned.items())
        reason = f"not trained to the end: right on {told} of the training set; {words}"
        return replace(furthest, outcome="inconclusive", reason=reason)
    if "contradicted" in outcomes:
        return replace(furthest, outcome="contradicted", reason=words)
    every = outcomes == {"reproduced"}
    return replace(furthest, outcome="reproduced" if every else "inconclusive", reason=words)
