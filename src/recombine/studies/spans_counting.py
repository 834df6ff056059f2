"""Part `spans/counting`: Figure 2, the identity, and which words carry the prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies.carriers import carriers_figure
from recombine.studies.figure import Axis, Colour, Figure, Panel
from recombine.studies.results import Results
from recombine.studies.reuse_judging import all_of
from recombine.studies.spans_cells import SpansRun
from recombine.studies.spans_reading import acquired, final, line, over_epochs, ran
from recombine.studies.spans_settings import PROFILES, SMALLEST, setting
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table, Value

CONDUIT = 8
EXAMPLES = {"quick": 2000, "paper": 10_000}
EPOCHS = {"quick": 12, "paper": 50}
TRAINING = {"main": "at the published rate", "learned": "at five times the rate"}
TESTS: tuple[tuple[str, str, Colour], ...] = (
    ("fresh", "new conduits", "first"),
    ("trained", "trained conduits", "second"),
)
SINGLE, DOUBLE = 1e-5, 1e-12
"""The lines of C7."""


@dataclass(frozen=True)
class CountingPart(Part):
    """One corpus with conduits of eight symbols.

    At quick scale the published learning rate only begins to learn the rule; `learned` is the same
    corpus at the five times higher rate of `spans/length`, which learns it.
    """

    name: ClassVar[str] = "counting"
    title: ClassVar[str] = "Does the model count its way to ω?"
    profiles: ClassVar[tuple[str, ...]] = PROFILES
    seeds: ClassVar[Mapping[str, int]] = {"quick": 6, "paper": 3}
    smallest: ClassVar[tuple[str, ...]] = SMALLEST

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        def cell(*, slow: bool) -> SpansRun:
            n, epochs = EXAMPLES[scale], EPOCHS[scale]
            return setting(scale, conduit=CONDUIT, rules=n, epochs=epochs, slow=slow)

        main = {"main": Need(cell(slow=True), range(seeds))}
        if scale == "paper":
            return main
        return {**main, "learned": Need(cell(slow=False), range(min(seeds, 3)))}

    def judges(self) -> Mapping[str, Judge]:
        return {"C4": counts, "C7": sums}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return constituents(results), quality(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return prefixes(results), acquisition(results), carriers(results)


def _best(results: Results) -> str:
    """The cell that learned the rule best."""
    return "learned" if "learned" in results.cells else "main"


def counts(results: Results, level: float) -> Verdict:
    """C4: the whole conduit with α gives more than α alone."""
    p = final(results["main"], results)[:, :-1]
    return stats.above(stats.mean(p[:, -1] - p[:, 0], level=level), 0.0)


def sums(results: Results, level: float) -> Verdict:
    """C7: the identity, in both precisions."""
    cell = results["main"]
    lines = {"float32": SINGLE, "float64": DOUBLE}
    return all_of([
        (name, stats.below(stats.mean(cell.scalar(f"identity/{name}"), level=level), most))
        for name, most in lines.items()
    ])  # fmt: skip


def constituents(results: Results) -> Table:
    """Figure 2 as numbers, and when each constituent was acquired."""
    rows: list[tuple[Value, ...]] = []
    for name, cell in results.cells.items():
        p, trained = final(cell, results), final(cell, results, test="trained")
        epochs = acquired(over_epochs(cell, results))
        k = ran(results, name).task.conduit
        for i in range(k + 2):
            when = epochs[:, i][~np.isnan(epochs[:, i])]
            rows.append((
                TRAINING[name], _phrase(i, k), stats.mean(p[:, i]), stats.mean(trained[:, i]),
                stats.mean(when) if len(when) else None, f"{len(when)} of {cell.n}",
            ))  # fmt: skip
    task = ran(results, "main").task
    return Table(
        id="constituents",
        title="P(ω | constituent), and the epoch at which it came half the way to its end",
        columns=(
            "training", "phrase", "P(ω), new conduits", "P(ω), trained conduits", "epoch",
            "seeds in which it rose",
        ),
        rows=tuple(rows),
        where="Figure 2; the epochs go beyond the paper",
        note=f"k = {task.conduit}, {task.rules:,} examples, {task.filler_share:.0%} of the corpus "
        "is filler.",
    )  # fmt: skip


def _phrase(i: int, k: int) -> str:
    """The phrases in the order in which cells have them."""
    if i == k + 1:
        return "the conduit alone"
    return f"α and {i} symbols" if i else "α alone"


def quality(results: Results) -> Table:
    """What the identity cannot say: does decomposition agree with interventions?"""
    cell = results[_best(results)]
    names = {
        "agreement/all": "correlation with interventions, all phrases",
        "agreement/open": "… among α's of different blocks",
        "agreement/conduit": "… among conduits of different blocks",
        "identity/float32": "largest |r + q − h| in float32",
        "identity/float64": "largest |r + q − h| in float64",
    }
    rows: list[tuple[Value, ...]] = []
    for name, words in names.items():
        values = cell.scalar(name)
        values = values[~np.isnan(values)]
        if not len(values):
            rows.append((words, None))
        elif name.startswith("identity"):
            rows.append((words, f"{values.max():.1e}"))
        else:
            rows.append((words, stats.mean(values)))
    return Table(
        id="quality",
        title="Does the decomposition mean anything?",
        columns=("quantity", "ours"),
        rows=tuple(rows),
        where="goes beyond the paper",
        note="Interventions: the phrase is replaced by random words, and the fall of ω's logit "
        "(relative to the mean over words) is compared with the part decomposition credits the "
        "phrase with. The identity holds whatever the parts mean.",
    )


def prefixes(results: Results) -> Figure:
    """Figure 2."""
    panels = []
    for name, cell in results.cells.items():
        read = np.arange(ran(results, name).task.conduit + 1)
        marks = tuple(
            line(
                read, final(cell, results, test=test)[:, :-1], label=label, colour=colour,
                dashed=test == "trained",
            )
            for test, label, colour in TESTS
        )  # fmt: skip
        across = Axis("symbols of the conduit in the phrase, i")
        panels.append(Panel(across, Axis("P(ω | phrase)"), marks, title=TRAINING[name]))
    return Figure(
        id="prefixes",
        title="ω from the open symbol and the first i symbols of the conduit",
        caption="P(ω | α and the first i symbols of the conduit); means over seeds with 95% "
        "intervals.",
        where="Figure 2",
        panels=tuple(panels),
        columns=2,
    )


def acquisition(results: Results) -> Figure:
    """When each constituent was learned, in the cell that learns it best."""
    name = _best(results)
    cell, k = results[name], ran(results, name).task.conduit
    shown: dict[int, Colour] = {0: "first", k // 2: "second", k: "third", k + 1: "muted"}
    curve, epochs = over_epochs(cell, results), cell.steps("p/fresh")
    marks = tuple(
        line(epochs, curve[:, :, i], label=_phrase(i, k), colour=colour)
        for i, colour in shown.items()
    )
    when = acquired(curve)[:, : k + 1]
    risen = [i for i in range(k + 1) if not np.isnan(when[:, i]).all()]
    steps = (line(np.array(risen) + 1, when[:, risen], label="half the way", colour="first"),)
    return Figure(
        id="acquisition",
        title="When each constituent is acquired",
        caption="Left: P(ω | phrase) over training. Right: the first epoch at which P(ω | α and i "
        "symbols) has come half the way to its final value, by the length of the constituent; "
        "means over seeds with 95% intervals.",
        panels=(
            Panel(Axis("epoch"), Axis("P(ω | phrase)"), marks, title="over training"),
            Panel(
                Axis("words of the constituent"), Axis("epoch"), steps if risen else (),
                title="acquired",
            ),
        ),
        columns=2,
    )  # fmt: skip


def carriers(results: Results) -> Figure:
    """Which words of test sentences carry ω."""
    name = _best(results)
    cell, k = results[name], ran(results, name).task.conduit
    outcome = cell.outcomes[min(cell.outcomes)]
    text, credit = outcome.arrays["carriers/text"], outcome.arrays["carriers/credit"]
    alpha, omega = int(text.max()) - 1, int(text.max())
    sentences = []
    for words, given in zip(text.tolist(), credit, strict=True):
        at = words.index(omega)
        begin = max(0, at - k - 4)
        names = ["α" if w == alpha else str(w) for w in words[begin:at]]
        sentences.append((tuple(names), given[begin:at]))
    return carriers_figure(sentences, "ω", name="carriers", where="goes beyond the paper")
