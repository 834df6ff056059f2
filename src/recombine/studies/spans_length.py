"""Part `spans/length`: Figure 1, how many examples a rule needs, by the length of its conduit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Figure, Panel, Rule
from recombine.studies.results import Results
from recombine.studies.reuse_judging import all_of
from recombine.studies.spans_cells import SpansRun
from recombine.studies.spans_reading import COLOURS, final, line, ran
from recombine.studies.spans_settings import (
    EXAMPLES,
    LENGTHS,
    PROFILES,
    ROOMY,
    SMALLEST,
    setting,
)
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table, Value

LOW = 0.05
"""The line of C2 and C3, as their rules state it."""
EPOCHS = {"quick": ROOMY.reading.epochs, "paper": 40}


def cell(conduit: int, rules: int) -> str:
    """What a cell is called."""
    return f"k{conduit}-n{rules}"


@dataclass(frozen=True)
class LengthPart(Part):
    """Models of corpora that differ in the conduit's length and in how often the rule stands."""

    name: ClassVar[str] = "length"
    title: ClassVar[str] = "Longer conduits need more examples"
    profiles: ClassVar[tuple[str, ...]] = PROFILES
    seeds: ClassVar[Mapping[str, int]] = {"quick": 3, "paper": 3}
    smallest: ClassVar[tuple[str, ...]] = SMALLEST

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        def run(k: int, n: int) -> SpansRun:
            return setting(scale, conduit=k, rules=n, epochs=EPOCHS[scale], quick=ROOMY)

        return {
            cell(k, n): Need(run(k, n), range(seeds))
            for k in LENGTHS[scale]
            for n in EXAMPLES[scale]
        }

    def judges(self) -> Mapping[str, Judge]:
        return {
            "C1": needs_more,
            "C2": conduit_is_nothing,
            "C2-declines": conduit_declines,
            "C3": rare_is_flat,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (probabilities(results),)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (by_length(results),)


def _opened(results: Results, k: int, n: int) -> np.ndarray:
    """P(ω | α) of each seed."""
    return final(results[cell(k, n)], results)[:, 0]


def _conduit(results: Results, k: int, n: int) -> np.ndarray:
    """P(ω | conduit) of each seed."""
    return final(results[cell(k, n)], results)[:, -1]


def needs_more(results: Results, level: float) -> Verdict:
    """C1: the area under P(ω | α) over numbers of examples falls from shortest to longest."""
    lengths, examples = LENGTHS[results.scale], EXAMPLES[results.scale]
    areas = [np.mean([_opened(results, k, n) for n in examples], axis=0) for k in lengths]
    return stats.above(stats.mean(areas[0] - areas[-1], level=level), 0.0)


def conduit_is_nothing(results: Results, level: float) -> Verdict:
    """C2: P(ω | conduit) is below the line at every length."""
    lengths, most = LENGTHS[results.scale], EXAMPLES[results.scale][-1]
    found = {k: stats.mean(_conduit(results, k, most), level=level) for k in lengths}
    return all_of([(f"k = {k}", stats.below(p, LOW)) for k, p in found.items()])


def conduit_declines(results: Results, level: float) -> Verdict:
    """C2: and falls from shortest to longest, in powers of ten."""
    lengths, most = LENGTHS[results.scale], EXAMPLES[results.scale][-1]
    short, long = (np.log10(_conduit(results, k, most)) for k in (lengths[0], lengths[-1]))
    return stats.above(stats.mean(short - long, level=level), 0.0)


def rare_is_flat(results: Results, level: float) -> Verdict:
    """C3: with the fewest examples P(ω | α) does not differ between lengths."""
    lengths, fewest = LENGTHS[results.scale], EXAMPLES[results.scale][0]
    fall = _opened(results, lengths[0], fewest) - _opened(results, lengths[-1], fewest)
    return stats.equal_within(stats.mean(fall, level=level), 0.0, LOW)


def probabilities(results: Results) -> Table:
    """Figure 1 as numbers, with the share of filler and the agreement with interventions."""
    rows: list[tuple[Value, ...]] = []
    for k in LENGTHS[results.scale]:
        for n in EXAMPLES[results.scale]:
            found, task = results[cell(k, n)], ran(results, cell(k, n)).task
            whole = found.array("final/whole/fresh")[:, 0]
            rows.append((
                task.conduit, task.rules, task.filler_share,
                stats.mean(_opened(results, k, n)), stats.mean(_conduit(results, k, n)),
                stats.mean(whole), _mean(found.scalar("agreement/all")),
            ))  # fmt: skip
    return Table(
        id="probabilities",
        title="What gives ω its probability",
        columns=(
            "k", "examples", "share of filler", "P(ω | α)", "P(ω | conduit)", "P(ω), the model's",
            "correlation with interventions",
        ),
        rows=tuple(rows),
        where="Figure 1",
        note="Means over seeds with 95% intervals, on conduits that were not trained on. Chance is "
        "one over the number of words. The last column compares what decomposition credits phrases "
        "with and how far ω's logit falls when other words stand in their place.",
    )  # fmt: skip


def _mean(values: np.ndarray) -> Value:
    """Over seeds in which it is defined."""
    values = values[~np.isnan(values)]
    return stats.mean(values) if len(values) else None


def by_length(results: Results) -> Figure:
    """Figure 1."""
    lengths, examples = LENGTHS[results.scale], EXAMPLES[results.scale]
    tasks = {(k, n): ran(results, cell(k, n)).task for k in lengths for n in examples}
    chance = Rule(1 / tasks[lengths[0], examples[0]].words, "y", "chance")
    conduits = [tasks[k, examples[0]].conduit for k in lengths]
    across = Axis("length of the conduit, k", ticks=tuple(map(float, conduits)))
    titles = {"the open symbol": (_opened, "P(ω | α)"), "the conduit": (_conduit, "P(ω | conduit)")}
    panels = []
    for title, (read, label) in titles.items():
        marks = tuple(
            line(
                conduits, np.stack([read(results, k, n) for k in lengths], 1),
                label=f"{tasks[lengths[0], n].rules:,} examples", colour=COLOURS[i],
            )
            for i, n in enumerate(examples)
        )  # fmt: skip
        panels.append(Panel(across, Axis(label), (*marks, chance), title=title))
    return Figure(
        id="by-length",
        title="The probability of ω, from the open symbol alone and from the conduit alone",
        caption="By contextual decomposition, in the state "
        + ("after" if results.profile == "as-run" else "before")
        + " ω is read; means over seeds with 95% intervals, conduits not trained on.",
        where="Figure 1",
        panels=tuple(panels),
        columns=2,
    )
