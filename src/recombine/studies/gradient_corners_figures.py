"""Figures of `gradient/corners`: the paper's 4, 5 and 6, and what goes beyond them."""

from __future__ import annotations

from typing import cast

import numpy as np

from recombine import stats
from recombine.analyses.boundary import MOST
from recombine.seeds import stream
from recombine.studies.figure import (
    Axis,
    Colour,
    Contours,
    Figure,
    Histogram,
    Line,
    Map,
    Mark,
    Panel,
    Points,
    Rule,
)
from recombine.studies.gradient_corners_tables import last, step_unit
from recombine.studies.results import Results, Seeds
from recombine.tasks.corners import Corners
from recombine.training.trial import Trial


def _task(results: Results) -> Corners:
    cell = results.specs["main"]
    assert isinstance(cell, Trial) and isinstance(cell.task, Corners), cell
    return cell.task


def _plane(results: Results) -> tuple[Axis, Axis]:
    reach = _task(results).extent
    limits, ticks = (-reach, reach), (float(-round(reach)), 0.0, float(round(reach)))
    return Axis("X1", limits=limits, ticks=ticks), Axis("X2", limits=limits, ticks=ticks)


def _square(results: Results) -> tuple[float, float, float, float]:
    reach = _task(results).extent
    return -reach, reach, -reach, reach


def data(results: Results) -> Figure:
    """Figure 4: what is trained on and what is asked."""
    task = _task(results)
    seen = task.sample("train", 180, stream(0, "figure", "train"))
    unseen = task.sample("corner", 60, stream(0, "figure", "corner"))
    marks = []
    for value, colour in ((0, "first"), (1, "second")):
        x = seen.inputs[seen.targets[:, 0] == value].astype(float)
        marks.append(Points(x[:, 0], x[:, 1], f"trained, Y1 = {value}", cast(Colour, colour)))
    x = unseen.inputs.astype(float)
    marks.append(Points(x[:, 0], x[:, 1], "unseen, Y1 = 1", "second", hollow=True))
    across, up = _plane(results)
    return Figure(
        id="data",
        title="Three corners are trained on, the fourth is asked",
        caption="Y1 is the sign of X1. X2 helps to guess it in training (points above the X1 axis "
        "are all Y1 = 0) and misleads in the unseen corner.",
        where="Figure 4",
        panels=(Panel(across, up, tuple(marks), square=True),),
    )


def along_training(results: Results) -> Figure:
    """Figure 5: one seed's boundary as training goes on."""
    cell, unit = results["portrait"], step_unit(results)
    maps = cell.array("boundary/map")[0] / MOST
    across, up = _plane(results)
    panels = tuple(
        Panel(
            across,
            up,
            (Map(m, _square(results), "P(Y1 = 1)"), Contours(m[None], _square(results))),
            title=f"step {step // unit:,}",
            square=True,
        )
        for m, step in zip(maps, cell.steps("boundary/map"), strict=True)
    )
    return Figure(
        id="along-training",
        title="The boundary of one seed along training",
        caption="P(Y1 = 1) over the plane and the line where it is one half, seed 0. The boundary "
        "that composes is the vertical axis; the unseen corner is the upper right.",
        where="Figure 5",
        panels=panels,
    )


def many_boundaries(results: Results) -> Figure:
    """Figure 6: the boundaries of many seeds."""
    maps = results["main"].array("boundary/map")[:, -1] / MOST
    across, up = _plane(results)
    few = min(len(maps), 9)
    first = Contours(maps[:few], _square(results), label="one line a seed")
    every = Contours(maps[:300], _square(results), label="one line a seed")
    shares = (maps > 0.5).mean(0)
    return Figure(
        id="many-boundaries",
        title="The boundaries of many seeds at the end of training",
        caption=f"Left: {few}, the paper shows nine. Middle: {min(len(maps), 300)} seeds. "
        f"Right: share of all {len(maps)} seeds that answer Y1 = 1. The right boundary is the "
        "vertical axis.",
        where="Figure 6",
        panels=(
            Panel(across, up, (first,), title=f"{few} seeds", square=True),
            Panel(across, up, (every,), title="many seeds", square=True),
            Panel(
                across,
                up,
                (Map(shares, _square(results), "share of seeds with Y1 = 1"),),
                title="all seeds",
                square=True,
            ),
        ),
        columns=3,
    )


def distributions(results: Results) -> Figure:
    """Accuracy on the unseen corner and the boundary's angle, over all seeds."""
    main, control = results["main"], results["control"]
    shares = Axis("share of seeds")

    def panel(title: str, x: str, values: tuple[np.ndarray, np.ndarray], right: float) -> Panel:
        bins = np.linspace(0, right, 41)
        marks: tuple[Mark, ...] = (
            Histogram(values[0], bins, f"three corners ({main.n} seeds)"),
            Rule(float(values[1].mean()), "x", "control"),
        )
        return Panel(Axis(x, limits=(0.0, right)), shares, marks, title=title)

    accuracy = 1 - last(main, "boundary/error"), 1 - last(control, "boundary/error")
    angle = last(main, "boundary/angle"), last(control, "boundary/angle")
    return Figure(
        id="distributions",
        title="How badly, and for how many seeds",
        caption="Accuracy on the unseen corner and the angle at which the boundary leaves the "
        "origin into it (90° composes, 45° halves the corner), over all seeds. The dashed line is "
        f"the mean of the control, {control.n} seeds trained on all four corners.",
        panels=(
            panel("accuracy", "accuracy on the unseen corner", accuracy, 1.0),
            panel("angle", "angle of the boundary (degrees)", angle, 90.0),
        ),
        columns=2,
    )


def _curve(
    cell: Seeds, name: str, factor: int, unit: int, *, label: str, colour: Colour, dashed: bool
) -> Line:
    """The mean over seeds at each step, with the band of its interval."""
    values = cell.array(name)[:, :, 0, factor]
    spans = [stats.mean(values[:, t]) for t in range(values.shape[1])]
    return Line.through(cell.steps(name) / unit, spans, label, colour, dashed=dashed)


def dependence(results: Results) -> Figure:
    """The dependence on both factors, over training, by each estimator."""
    unit = step_unit(results)
    last = results["main"].steps("dependence/flip").max() / unit
    steps = Axis("step", scale="symlog", limits=(0.0, float(last)))
    names = {
        "flip": ("intervention: predictions that flip", "share"),
        "variation": ("intervention: total variation", "distance"),
        "gradient": ("gradient", "‖∂p/∂x‖"),
        "information": ("information", "bits"),
    }
    panels = []
    for name, (title, label) in names.items():
        lines: tuple[tuple[str, int, str, Colour], ...] = (
            ("main", 0, "on Y1, its own factor", "first"),
            ("main", 1, "on Y2, redundant", "second"),
            ("control", 1, "on Y2, control", "muted"),
        )
        marks = tuple(
            _curve(
                results[cell], f"dependence/{name}", factor, unit,
                label=words, colour=colour, dashed=cell == "control",
            )
            for cell, factor, words, colour in lines
        )  # fmt: skip
        panels.append(Panel(steps, Axis(label), marks, title=title))
    return Figure(
        id="dependence",
        title="How much the prediction of Y1 leans on each factor, over training",
        caption="Mean over seeds with 95% intervals. A prediction that composes leans on Y1 alone. "
        "Control: trained on all four corners, where X2 tells nothing about Y1.",
        panels=tuple(panels),
        columns=2,
    )


def propositions(results: Results) -> Figure:
    """Information and slope in the redundant input after the first updates."""
    updates = Axis(
        "update",
        scale="symlog",
        limits=(0.0, 64.0),
        ticks=(0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0),
    )
    rows = {"information": "I(Y2; score) in bits", "slope": "mean ∂score/∂X2"}
    panels = []
    for depth in ("linear", "deep"):
        for name, label in rows.items():
            cases: tuple[tuple[str, Colour], ...] = (
                ("redundant", "second"),
                ("independent", "muted"),
            )
            marks = tuple(
                _curve(
                    results[f"{depth}-{case}"], f"redundancy/{name}", 1, 1,
                    label=f"X2 {case}", colour=colour, dashed=case == "independent",
                )
                for case, colour in cases
            )  # fmt: skip
            panels.append(Panel(updates, Axis(label), marks, title=f"{depth} network: {name}"))
    return Figure(
        id="propositions",
        title="The propositions on the first updates",
        caption="Networks that start from an output of zero. With X2 redundant, the score carries "
        "Y2 and leans against X2 from the first update on. With X2 independent, a linear network "
        "does neither beyond the chance of a batch of ten; a deep one mixes X2 in at first, with "
        "no slope on average.",
        where="Theory, Propositions 1-5",
        panels=tuple(panels),
        columns=2,
    )
