"""Figures of `gradient/pairs`: the paper's 3a and 3b, and the dependence matrix along training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from recombine import data, stats
from recombine.seeds import stream
from recombine.studies.figure import Axis, Colour, Figure, Heat, Line, Map, Mark, Panel
from recombine.studies.gradient_pairs_tables import SPLITS, evaluated_on, gap, ran, redundant
from recombine.studies.results import Results, Seeds
from recombine.tasks.digit_pairs import DigitPairs

STEPS = Axis("step")
SHOWN = ((3, 4), (7, 7), (3, 8), (7, 2))
"""Labels of the examples."""
CELL = 50
"""Points a side that a cell of a matrix is drawn with: enough that it is not smoothed."""


def examples(results: Results) -> Figure:
    """What an input looks like."""
    task, panels = ran(results).task, []
    assert isinstance(task, DigitPairs), task
    if data.state(data.find(task.images)) != "ready":  # runs may come from another computer
        task = replace(task, images=DigitPairs().images)
    shifts = {shift % task.sizes[0] for shift in task.shifts}
    told = ", ".join(str(shift) for shift in sorted(shifts))
    for n, (one, two) in enumerate(SHOWN):
        labels = [one, *[two] * (task.digits - 1)]
        known = (two - one) % task.sizes[0] in shifts
        words = "A and B train" if known else "B trains, test"
        noise = task.draw_noise(1, stream(n, "figure"))
        picture = task.render(np.array([labels]), noise)[0].astype(float)
        shown = Heat(picture, 0.0, 1.0, "ink")
        across = up = Axis("", ticks=())
        title = f"{words}: {one}, {two}"
        panels.append(Panel(across, up, (shown,), title=title, square=True))
    return Figure(
        id="examples",
        title="Two digits side by side; the first is to be named",
        caption="In setting A the second digit is the first plus one of "
        f"{told} (mod {task.sizes[0]}), so that it tells about the first; in setting B it is any "
        "digit. Both are tested where it is none of these.",
        panels=tuple(panels),
    )


def curve(
    steps: Int[np.ndarray, " step"],
    values: Float[np.ndarray, "seed step"],
    label: str,
    colour: Colour,
    *,
    dashed: bool = False,
) -> Line:
    """The mean over seeds at each step, with the band of its interval."""
    spans = [stats.mean(values[:, t]) for t in range(values.shape[1])]
    return Line.through(steps, spans, label, colour, dashed=dashed)


def training(results: Results) -> Figure:
    """Figure 3a: training accuracy of both settings."""
    marks = tuple(
        curve(cell.steps("accuracy/train"), cell.array("accuracy/train"), words, colour)
        for cell, words, colour in _settings(results)
    )
    return Figure(
        id="training",
        title="Training accuracy",
        caption=f"Accuracy on training combinations with training images; {evaluated_on(results)}. "
        "Mean over seeds with 95% intervals.",
        where="Figure 3a",
        panels=(Panel(STEPS, Axis("training accuracy", limits=(0.0, 1.0)), marks),),
        columns=1,
    )


def gaps(results: Results) -> Figure:
    """Figure 3b: the gap between training and test."""
    marks = tuple(
        curve(cell.steps("accuracy/train"), gap(cell), words, colour)
        for cell, words, colour in _settings(results)
    )
    return Figure(
        id="gap",
        title="The gap between training and test",
        caption="Training accuracy less accuracy on test combinations with test images. Mean over "
        "seeds with 95% intervals.",
        where="Figure 3b",
        panels=(Panel(STEPS, Axis("training less test accuracy"), marks),),
        columns=1,
    )


def _settings(results: Results) -> tuple[tuple[Seeds, str, Colour], ...]:
    return (
        (results["A"], "setting A: redundant", "second"),
        (results["B"], "setting B: independent", "first"),
    )


def splits(results: Results) -> Figure:
    """Accuracy on all three splits, for each setting."""
    colours: tuple[Colour, ...] = ("first", "third", "second")
    panels = []
    for cell, words, _ in _settings(results):
        marks = tuple(
            curve(
                cell.steps(f"accuracy/{split}"), cell.array(f"accuracy/{split}"), title, colour,
                dashed=split == "seen",
            )
            for (split, title), colour in zip(SPLITS.items(), colours, strict=True)
        )  # fmt: skip
        panels.append(Panel(STEPS, Axis("accuracy", limits=(0.0, 1.0)), marks, title=words))
    return Figure(
        id="splits",
        title="New images and new combinations",
        caption="From the first curve to the dashed one images are new, from there to the last one "
        "combinations are. "
        "Mean over seeds with 95% intervals.",
        panels=tuple(panels),
        columns=2,
    )


def dependence(results: Results) -> Figure:
    """How much the prediction leans on each digit, over training, by each estimator."""
    names = {
        "flip": ("intervention: predictions that flip", "share"),
        "variation": ("intervention: total variation", "distance"),
        "gradient": ("gradient", "‖∂p/∂x‖"),
        "information": ("information (a lower bound)", "bits"),
    }
    panels = []
    for name, (title, label) in names.items():
        a, b = results["A"], results["B"]
        steps = a.steps(f"dependence/{name}")
        own = a.array(f"dependence/{name}")[:, :, 0, 0].astype(float)
        marks: tuple[Mark, ...] = (
            curve(steps, own, "A: on Y1, its own factor", "muted"),
            curve(steps, redundant(a, name), "A: on Y2, redundant", "second"),
            curve(steps, redundant(b, name), "B: on Y2, independent", "first", dashed=True),
        )
        panels.append(Panel(STEPS, Axis(label), marks, title=title))
    return Figure(
        id="dependence",
        title="How much the prediction of Y1 leans on each digit, over training",
        caption="Row Y1 of the dependence matrix, mean over seeds with 95% intervals. A prediction "
        "that composes leans on Y1 alone.",
        panels=tuple(panels),
        columns=2,
    )


def matrices(results: Results) -> Figure:
    """The dependence matrix of three digits as a heat map, before and after training."""
    panels = []
    for setting in "AB":
        cell = results[f"three-{setting}"]
        flips = cell.array("dependence/flip").astype(float).mean(0)
        for at, words in ((0, "before training"), (-1, "after training")):
            panels.append(_matrix(flips[at], f"{setting}, {words}"))
    return Figure(
        id="matrices",
        title="The dependence matrix of three digits, all to be named",
        caption="Row: the digit that is named, the first on top. Column: the digit that is moved "
        "to another value. Colour: share of predictions that flip, mean over seeds "
        f"(n = {results['three-A'].n}). A model that composes has a diagonal and nothing else.",
        panels=tuple(panels),
    )


def _matrix(values: Float[np.ndarray, "output factor"], title: str) -> Panel:
    rows, columns = values.shape
    # The first row of a map is at the bottom, that of a matrix on top.
    cells = np.kron(values[::-1], np.ones((CELL, CELL)))
    shown = Map(cells, (0.5, columns + 0.5, 0.5, rows + 0.5), "share that flips")
    ticks = tuple(float(c + 1) for c in range(columns))
    across = Axis("digit moved", limits=(0.5, columns + 0.5), ticks=ticks)
    up = Axis("digit named (first on top)", limits=(0.5, rows + 0.5), ticks=())
    return Panel(across, up, (shown,), title=title, square=True)
