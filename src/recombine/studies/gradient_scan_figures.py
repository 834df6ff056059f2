"""Figures of `gradient/scan`: accuracy along training, kinds of answer, dependence on a verb."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from recombine import stats
from recombine.studies.figure import Axis, Bars, Colour, Figure, Line, Panel, Rule
from recombine.studies.gradient_scan_tables import (
    CONTROL,
    SETTINGS,
    kinds_of_answers,
    on_longer_lines,
)
from recombine.studies.results import Results
from recombine.tasks.scan_errors import KINDS

COLOURS: dict[str, Colour] = {"A": "second", "B": "first"}
EARLY = 50
"""The last step of the early panel."""


def _line(
    steps: Int[np.ndarray, " step"],
    values: Float[np.ndarray, "seed step"],
    label: str,
    colour: Colour,
    *,
    dashed: bool = False,
) -> Line:
    """The mean over seeds at each step, with the band of its interval."""
    spans = [stats.mean(values[:, t]) for t in range(values.shape[1])]
    return Line.through(steps, spans, label, colour, dashed=dashed, share=True)


def curves(results: Results) -> Figure:
    """Figure 3b: training accuracy early and late, test accuracy late."""
    steps = results["A"].steps("accuracy/train")
    first = steps <= EARLY
    share = Axis("sentences right", limits=(0.0, 1.0))
    early, longer, late = [], [], []
    for name, colour in COLOURS.items():
        cell = results[name]
        train, test = cell.array("accuracy/train"), cell.array("accuracy/test")
        early.append(_line(steps[first], train[:, first], f"{name}, training", colour))
        lines = on_longer_lines(results, name)
        longer.append(_line(steps[first], lines[:, first], f"{name}, training", colour))
        late.append(_line(steps, train, f"{name}, training", colour))
        late.append(_line(steps, test, f"{name}, test", colour, dashed=True))
    top = max(0.1, *(float(np.nanmax(line.y)) for line in early + longer)) * 1.2
    soon = Axis("sentences right", limits=(0.0, min(1.0, top)))
    near = Axis("step", limits=(0.0, float(EARLY)))
    far = Axis("step", scale="symlog", limits=(0.0, float(steps.max())))
    return Figure(
        id="curves",
        title="Accuracy along training",
        caption="Left: training accuracy in the first steps. Middle: the same without lines of "
        "one word, a tenth of all lines. Right: the whole of training, with test accuracy. Mean "
        f"over seeds with 95% intervals; free-running. {CONTROL}",
        where="Figure 3",
        panels=(
            Panel(near, soon, tuple(early), title="early, all lines"),
            Panel(near, soon, tuple(longer), title="early, two words or more"),
            Panel(far, share, tuple(late), title="early to late"),
        ),
        columns=3,
    )


def kinds(results: Results) -> Figure:
    """What the answers to test commands are."""
    panels = []
    for name, colour in COLOURS.items():
        found = kinds_of_answers(results, name)
        spans = [stats.mean((found == at).mean(1)) for at in range(len(KINDS))]
        bars = Bars.of(KINDS, spans, SETTINGS[name], colour, share=True)
        share = Axis("share of test answers", limits=(0.0, 1.0))
        panels.append(Panel(Axis("kind of answer"), share, (bars,), title=SETTINGS[name]))
    return Figure(
        id="kinds",
        title="What the answers to the test commands are",
        caption="The oracle says what is wrong: the first kind that fits. Mean over seeds with "
        f"95% intervals. {CONTROL}",
        panels=tuple(panels),
        columns=2,
    )


def dependence(results: Results) -> Figure:
    """The dependence on the verbs, over training."""
    panels = []
    steps = results["A"].steps("verb-dependence")
    across = Axis("step", scale="log", limits=(float(steps.min()), float(steps.max())))
    share = Axis("share of commands", limits=(0.0, 1.05))
    rows: tuple[tuple[str, Colour], ...] = (
        ("its own acts", "first"), ("the other phrase's acts", "second"), ("the frame", "third"),
    )  # fmt: skip
    for name in COLOURS:
        for m, move in enumerate(("moved among walk, look, run", "moved to jump")):
            table = results[name].array("verb-dependence")[:, :, m]
            own = (table[:, :, 0, 0] + table[:, :, 1, 1]) / 2
            other = (table[:, :, 1, 0] + table[:, :, 0, 1]) / 2
            frame = table[:, :, 2].mean(-1)
            lines = tuple(
                _line(steps, values, words, colour)
                for values, (words, colour) in zip((own, other, frame), rows, strict=True)
            )
            panels.append(Panel(across, share, (*lines, Rule(1.0, "y")), title=f"{name}: {move}"))
    return Figure(
        id="dependence",
        title="What changes in an answer when one verb is moved",
        caption="Share of commands of two phrases whose answer changes in the moved verb's own "
        "acts, in the other phrase's acts, and in the frame (turns and end). A network that "
        "composes has 1, 0 and 0. Mean over both verbs and over seeds, with 95% intervals.",
        panels=tuple(panels),
        columns=2,
    )
