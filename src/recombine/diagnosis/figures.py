"""The figures of a report card."""

from __future__ import annotations

import numpy as np

from recombine import stats
from recombine.diagnosis.reading import Reading
from recombine.studies.figure import Axis, Bars, Colour, Figure, Line, Mark, Panel, Rule
from recombine.studies.results import Results

COLOURS: tuple[Colour, ...] = ("first", "second", "third", "fourth", "muted")
SHOWN = 6
"""Panels or bars at most, where a task has many."""


def along_training(reading: Reading, results: Results) -> Figure:
    """Accuracy on every split over training, a panel a model."""
    panels = []
    for name, cell in results.cells.items():
        marks: list[Mark] = []
        for colour, split in zip(COLOURS, _few(reading), strict=False):
            values = cell.array(f"accuracy/{split}")
            steps = cell.steps(f"accuracy/{split}")
            each = [stats.mean(values[:, i]) for i in range(len(steps))]
            marks.append(
                Line(
                    steps,
                    np.array([e.estimate for e in each]),
                    np.clip([e.low for e in each], 0, 1),
                    np.clip([e.high for e in each], 0, 1),
                    label=split,
                    colour=colour,
                    dashed=split not in reading.held_out,
                )
            )
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
            each = [stats.mean(right) for right in values.values()]
            if len(values) > 1:
                marks.append(
                    Bars(
                        tuple(values),
                        np.array([e.estimate for e in each]),
                        np.clip([e.low for e in each], 0, 1),
                        np.clip([e.high for e in each], 0, 1),
                        label=name,
                        colour=colour,
                    )
                )
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


def dependence(reading: Reading, results: Results) -> Figure:
    """How often each output flips with each factor, over training, a panel a model and output."""
    panels = []
    for name, cell in results.cells.items():
        flips, steps = cell.array("dependence/flip"), cell.steps("dependence/flip")
        for i, output in enumerate(reading.task.outputs):
            marks: list[Mark] = []
            for colour, (j, factor) in zip(COLOURS, enumerate(reading.task.factors), strict=False):
                each = [stats.mean(flips[:, t, i, j]) for t in range(len(steps))]
                marks.append(
                    Line(
                        steps,
                        np.array([e.estimate for e in each]),
                        np.clip([e.low for e in each], 0, 1),
                        np.clip([e.high for e in each], 0, 1),
                        label=factor.name if j in output.factors else f"{factor.name} (redundant)",
                        colour=colour,
                        dashed=j not in output.factors,
                    )
                )
            marks.append(Rule(0.0, "y"))
            across = Axis("update", scale="symlog")
            title = f"{name}: {output.name}"
            panels.append(Panel(across, Axis("flip rate", limits=(0, 1)), tuple(marks), title))
    return Figure(
        id="dependence",
        title="What each output leans on",
        caption="Share of predictions that change when one factor is moved and the rest is held. "
        "An output that composes flips with its own factors (solid) and with no other (dashed).",
        panels=tuple(panels[:SHOWN]),
        columns=2,
    )
