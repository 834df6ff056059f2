"""Inside a recurrent network: what its states tell, how few units tell it, what its gates do."""

from __future__ import annotations

from recombine import stats
from recombine.analyses.contribution import Contribution
from recombine.analyses.diagnostics import Diagnostics
from recombine.analyses.gates import MEANINGS, Gates, meaning
from recombine.diagnosis.marks import SHOWN, bars
from recombine.diagnosis.reading import Reading
from recombine.diagnosis.view import Cells, Looked, View, by_output_and_factor
from recombine.models.language_model import StackedLanguageModel
from recombine.studies.figure import Axis, Figure, Panel
from recombine.studies.results import Seeds
from recombine.studies.table import Table, Value
from recombine.tasks.sequence import SequenceTask
from recombine.training import Probe

SENTENCES = 200
"""Sentences whose states are read."""
READINGS = (
    Diagnostics("encoder", "state", "word", sentences=SENTENCES),
    Diagnostics("encoder", "state", "time", sentences=SENTENCES),
    Diagnostics("decoder", "state", "time", sentences=SENTENCES),
)
WHAT = {"word": "the word being read", "time": "the time step"}


class Probes(View):
    """Diagnostic classifiers, and the functional groups they find."""

    def probes(self, looked: Looked) -> tuple[Probe, ...]:
        if not isinstance(looked.task, SequenceTask):
            return ()
        return tuple(Probe(each) for each in READINGS if looked.has(each.part, each.what))

    def tables(self, reading: Reading, cells: Cells) -> tuple[Table, ...]:
        rows: list[tuple[Value, ...]] = []
        for name, cell in cells.items():
            for each in READINGS:
                if not _measured(cell, f"{each.called}/accuracy"):
                    continue
                got = {
                    what: cell.scalar(f"{each.called}/{what}")
                    for what in ("accuracy", "control", "chance", "units")
                }
                of = cell.array(f"{each.called}/group").shape[-1]
                rows.append(
                    (
                        name, f"{each.part} states", WHAT[each.reads], stats.mean(got["accuracy"]),
                        stats.mean(got["control"]), float(got["chance"].mean()),
                        stats.mean(got["units"]), of,
                    )
                )  # fmt: skip
        columns = (
            "model", "where", "what is read off", "probe", "control", "chance", "units needed",
            "of units",
        )  # fmt: skip
        return (
            Table(
                id="probes",
                title="Inside: what states tell, and how few units tell it",
                columns=columns,
                rows=tuple(rows),
                note="Balanced accuracy of a linear probe on states it was not fitted to. Control: "
                "the same probe on random labels. Units needed: the functional group, the fewest "
                "that reach 95% of the probe.",
            ),
        )

    def figures(self, reading: Reading, cells: Cells) -> tuple[Figure, ...]:
        return ()


class GatesUsed(View):
    """Whether gates open for some inputs and shut for others."""

    def probes(self, looked: Looked) -> tuple[Probe, ...]:
        if not isinstance(looked.task, SequenceTask):
            return ()
        return tuple(
            Probe(Gates(part, gate, sentences=SENTENCES))
            for part in ("encoder", "decoder")
            for gate in MEANINGS
            if looked.has(part, gate)
        )

    def tables(self, reading: Reading, cells: Cells) -> tuple[Table, ...]:
        rows: list[tuple[Value, ...]] = []
        for name, cell in cells.items():
            for part in ("encoder", "decoder"):
                for gate in MEANINGS:
                    called = f"gates/{part}.{gate}"
                    if not _measured(cell, f"{called}/saturated"):
                        continue
                    high, low = meaning(gate)
                    ends = [
                        f"{word}: {cell.array(f'{called}/{word}').mean():.0%}"
                        for word in (high, low)
                    ]
                    saturated, switching = (
                        stats.mean(cell.scalar(f"{called}/{what}"))
                        for what in ("saturated", "switching")
                    )
                    rows.append((name, part, gate, saturated, ", ".join(ends), switching))
        columns = ("model", "part", "gate", "saturated", "at which end", "switching units")
        return (
            Table(
                id="gates",
                title="Inside: what gates do",
                columns=columns,
                rows=tuple(rows),
                note="Saturated: below 0.1 or above 0.9. Switching: at each end in at least a "
                "tenth of the states, that is, used for some inputs and not for others.",
            ),
        )

    def figures(self, reading: Reading, cells: Cells) -> tuple[Figure, ...]:
        return ()


class Carriers(View):
    """Which factor carries the right answer's score, by contextual decomposition."""

    def probes(self, looked: Looked) -> tuple[Probe, ...]:
        rows = len(looked.task.input_shape) == 2  # words, each a row
        if not rows or not isinstance(looked.stack, StackedLanguageModel):
            return ()
        return (Probe(Contribution()),)

    def tables(self, reading: Reading, cells: Cells) -> tuple[Table, ...]:
        table = by_output_and_factor(
            reading,
            cells,
            "contribution/score",
            name="contribution",
            title="Inside: which words carry the answer",
            column="score",
            note="Contextual decomposition: the part of the right answer's score that the words of "
            "a factor give, relative to the mean over answers.",
        )
        return (table,)

    def figures(self, reading: Reading, cells: Cells) -> tuple[Figure, ...]:
        panels = []
        for name, cell in cells.items():
            scores = cell.array("contribution/score")[:, -1]
            for i, output in enumerate(reading.task.outputs):
                given = {f.name: scores[:, i, j] for j, f in enumerate(reading.task.factors)}
                across, up = Axis("words of the factor"), Axis("score given")
                mark = bars(given, share=False)
                panels.append(Panel(across, up, (mark,), f"{name}: {output.name}"))
        return (
            Figure(
                id="contribution",
                title="Which words carry the answer",
                caption="Contextual decomposition: what each factor's words give to the right "
                "answer's score.",
                panels=tuple(panels[:SHOWN]),
                columns=2,
            ),
        )


def _measured(cell: Seeds, name: str) -> bool:
    """Whether every seed has that measurement."""
    return all(name in outcome.arrays for outcome in cell.outcomes.values())
