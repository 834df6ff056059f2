"""The figures of a report card."""

from __future__ import annotations

from recombine.diagnosis.marks import COLOURS, SHOWN, band, bars
from recombine.diagnosis.reading import Reading
from recombine.studies.figure import Axis, Figure, Mark, Panel
from recombine.studies.results import Results


def along_training(reading: Reading, results: Results) -> Figure:
    """Accuracy on every split over training, a panel a model."""
    panels = []
    for name, cell in results.cells.items():
        marks: list[Mark] = []
        for colour, split in zip(COLOURS, _few(reading), strict=False):
            values, steps = cell.array(f"accuracy/{split}"), cell.steps(f"accuracy/{split}")
            trained = split not in reading.held_out
            marks.append(band(steps, values, split, colour, dashed=trained))
        across = Axis("update", scale="symlog")
        panels.append(Panel(across, Axis("accuracy", limits=(0, 1)), tuple(marks), name))
    return Figure(
        id="training",
        title="Accuracy along training",
        caption="Mean over seeds with 95% intervals. Dashed: trained combinations; solid: new.",
        panels=tuple(panels),
        columns=2,
    )


def _few(reading: Reading) -> list[str]:
    """The reference first, then the splits of new combinations."""
    return [reading.reference, *reading.held_out][: len(COLOURS)]


def by_factor(reading: Reading, results: Results) -> Figure:
    """Accuracy on new combinations by the values of each factor, a panel a factor."""
    split = reading.held_out[0]
    panels: list[Panel] = []
    for j, factor in enumerate(reading.task.factors):
        marks: list[Mark] = []
        for colour, (name, cell) in zip(COLOURS, results.cells.items(), strict=False):
            values = reading.by_value(cell, split, j)
            if len(values) > 1:
                marks.append(bars(values, name, colour))
        if marks and len(panels) < SHOWN:
            scale = Axis("accuracy", limits=(0, 1))
            panels.append(Panel(Axis(factor.name), scale, tuple(marks), f"by {factor.name}"))
    return Figure(
        id="by-factor",
        title=f"Where it fails: {split}",
        caption="Accuracy on new combinations by the value of each factor, with 95% intervals.",
        panels=tuple(panels),
        columns=2,
    )
