"""What answers lean on: the dependence matrix over training, of classes and of whole sentences."""

from __future__ import annotations

import numpy as np

from recombine import stats
from recombine.analyses.answers import AnswerDependence
from recombine.analyses.dependence import Dependence
from recombine.diagnosis.marks import COLOURS, SHOWN, band, bars
from recombine.diagnosis.reading import Reading
from recombine.diagnosis.view import Cells, Looked, View, by_output_and_factor
from recombine.studies.figure import Axis, Figure, Mark, Panel, Rule
from recombine.studies.table import Table, Value
from recombine.tasks.sequence import SequenceTask
from recombine.training import Probe

ALONG = Axis("update", scale="symlog")
FLIPS = Axis("flip rate", limits=(0, 1))
CHANGED, SHOULD, FOLLOWS = (f"answer-dependence/{x}" for x in ("changed", "should", "follows"))


class OfClasses(View):
    """How often each output flips with each factor, over training."""

    def probes(self, looked: Looked) -> tuple[Probe, ...]:
        if isinstance(looked.task, SequenceTask):
            return ()
        return (Probe(Dependence(), looked.steps),)

    def tables(self, reading: Reading, cells: Cells) -> tuple[Table, ...]:
        table = by_output_and_factor(
            reading,
            cells,
            "dependence/flip",
            name="dependence",
            title="What each output leans on, at the end",
            column="flip rate",
            note="Share of predictions that change when that factor alone is moved.",
        )
        return (table,)

    def figures(self, reading: Reading, cells: Cells) -> tuple[Figure, ...]:
        panels = []
        for name, cell in cells.items():
            flips, steps = cell.array("dependence/flip"), cell.steps("dependence/flip")
            for i, output in enumerate(reading.task.outputs):
                marks: list[Mark] = []
                factors = enumerate(reading.task.factors)
                for colour, (j, factor) in zip(COLOURS, factors, strict=False):
                    own = j in output.factors
                    label = factor.name if own else f"{factor.name} (redundant)"
                    marks.append(band(steps, flips[:, :, i, j], label, colour, dashed=not own))
                marks.append(Rule(0.0, "y"))
                panels.append(Panel(ALONG, FLIPS, tuple(marks), f"{name}: {output.name}"))
        return (
            Figure(
                id="dependence",
                title="What each output leans on",
                caption="Share of predictions that change when one factor is moved and the rest "
                "is held. An output that composes flips with its own factors (solid) and with no "
                "other (dashed).",
                panels=tuple(panels[:SHOWN]),
                columns=2,
            ),
        )


class OfAnswers(View):
    """How often whole answers change with each factor, over training."""

    def probes(self, looked: Looked) -> tuple[Probe, ...]:
        if not isinstance(looked.task, SequenceTask):
            return ()
        return (Probe(AnswerDependence(), looked.steps),)

    def tables(self, reading: Reading, cells: Cells) -> tuple[Table, ...]:
        rows: list[tuple[Value, ...]] = []
        for name, cell in cells.items():
            changed, should, follows = (cell.array(n)[:, -1] for n in (CHANGED, SHOULD, FOLLOWS))
            for j, factor in enumerate(reading.task.factors):
                if np.isnan(should[:, j]).any():
                    continue  # no item of training has another value to go to
                kept = follows[:, j][~np.isnan(follows[:, j])]
                rows.append(
                    (
                        name,
                        factor.name,
                        float(should[0, j]),
                        stats.mean(changed[:, j]),
                        stats.mean(kept) if len(kept) else "nothing was right",
                    )
                )
        return (
            Table(
                id="answer-dependence",
                title="What answers lean on, at the end",
                columns=("model", "factor moved", "should change", "changes", "stays right"),
                rows=tuple(rows),
                note="One factor of a training item is moved, to where training may never have "
                "been. Stays right: of the items that were right before.",
            ),
        )

    def figures(self, reading: Reading, cells: Cells) -> tuple[Figure, ...]:
        panels: list[Panel] = []
        for name, cell in cells.items():
            follows = cell.array(FOLLOWS)[:, -1]
            # a seed may have had nothing right to lose
            judged = [j for j, each in enumerate(follows.T) if np.isfinite(each).all()]
            if not judged:
                continue
            kept = bars({reading.task.factors[j].name: follows[:, j] for j in judged})
            up = Axis("stays right", limits=(0, 1))
            panels.append(Panel(Axis("factor moved"), up, (kept,), name))
        if not panels:
            return ()
        return (
            Figure(
                id="answer-dependence",
                title="What a known answer survives",
                caption="One factor of a training item is moved. Of the items that were answered "
                "rightly, the share still answered rightly after the move. A network that composes "
                "loses nothing; one that knows items by heart loses them.",
                panels=tuple(panels),
                columns=2,
            ),
        )
