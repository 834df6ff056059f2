"""Tables and figures of the parts of `kernel` with images, published numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.analyses.additivity import rows as combinations
from recombine.models.deep_conv import DeepConv
from recombine.studies.figure import Axis, Bars, Colour, Figure, Line, Mark, Panel, Points, Rule
from recombine.studies.kernel_cells import Assigned
from recombine.studies.kernel_images_printed import (
    FAR,
    KINDS,
    SHARES,
    of_cell,
    on_mnist,
)
from recombine.studies.kernel_reading import (
    answers,
    by_split,
    conjunction_shares,
    last,
    outermost_slope,
    shrinkage,
)
from recombine.studies.results import Results
from recombine.studies.table import Table, Value
from recombine.tasks.addition import Addition
from recombine.tasks.items import ItemTask
from recombine.theory.leak import slope

Wanted = Sequence[tuple[str, ItemTask, bool]]
Measure = Literal["loss", "accuracy"]
MEASURES: dict[Measure, str] = {"loss": "MSE", "accuracy": "accuracy"}
COLOURS: tuple[Colour, ...] = ("first", "second", "third", "fourth")


def addition_table(results: Results, wanted: Wanted) -> Table:
    """Slope, errors, additivity and salience, a row each, published beside ours."""
    rows: list[tuple[Value, ...]] = []
    for name, task, _ in wanted:
        assert isinstance(task, Addition)
        cell = results[name]
        salience = cell.array("salience")[:, 0, 0]
        said = _slopes(salience, len(task.trained_items))
        printed = of_cell(name)
        measured: tuple[tuple[str, float | str | None, np.ndarray], ...] = (
            ("slope, outermost items", printed.score, outermost_slope(answers(cell), task)),
            ("slope m, all held-out pairs", None, shrinkage(cell, task)[0]),
            ("m of the untrained kernel", None, said),
            ("untrained S(1;2)", None, salience),
            (
                "MSE, held-out pairs",
                printed.error,
                by_split(cell, task, "answers/error", trained=False),
            ),
            (
                "MSE, trained pairs",
                printed.trained,
                by_split(cell, task, "answers/error", trained=True),
            ),
            ("MSE, trained pairs, training images", None, last(cell, "loss/train")),
            ("additivity R²", printed.additivity, last(cell, "additivity/test")),
        )
        rows += [(name, what, paper, stats.mean(ours)) for what, paper, ours in measured]
    return Table(
        id="addition",
        title="Addition on images",
        columns=("cell", "measured", "published (MNIST)", "ours"),
        rows=tuple(rows),
        where="Figure: addition with a ConvNet on MNIST",
        note="On unseen images unless said; training images are paired anew. Outermost items: the "
        "held-out ones of largest and smallest value; the paper has item +4 for extrapolation, "
        "items ±3 for interpolation. The untrained kernel is that of the last convolution; "
        f"networks that learn features need not follow it.{halves_named(results, wanted)}",
    )


def halves_named(results: Results, wanted: Wanted) -> str:
    """The cells that were trained in half precision, as a sentence of a note; nothing if none."""
    specs = ((name, results.specs.get(name)) for name, _, _ in wanted)
    models = [(name, spec.trial.model) for name, spec in specs if isinstance(spec, Assigned)]
    halves = [n for n, m in models if isinstance(m, DeepConv) and m.precision == "half"]
    return f" In half precision: {', '.join(halves)}." if halves else ""


def in_single(name: str) -> str:
    """The name of the cell that is trained in single precision beside one in halves."""
    return f"{name}, single"


def precision_table(results: Results, name: str, *, measure: Measure) -> Table:
    """A cell trained in half precision and in single: the same seeds after as many updates."""
    half, single = results.shared(name, in_single(name))
    what = MEASURES[measure]
    rows: list[tuple[Value, ...]] = []
    for split, label in (("test", "held-out combinations"), ("train", "trained combinations")):
        updates = int(single.steps(f"{measure}/{split}")[-1])
        at = half.steps(f"{measure}/{split}").tolist().index(updates)
        ours, theirs = half.array(f"{measure}/{split}")[:, at], last(single, f"{measure}/{split}")
        shifted = stats.mean(ours - theirs) if half.n > 1 else None
        rows.append((label, updates, stats.mean(theirs), stats.mean(ours), shifted))
    return Table(
        id="precision",
        title=f"{name}: {what} in single and in half precision",
        columns=(what, "updates", "single", "half", "half − single, by seed"),
        rows=tuple(rows),
        note="The same seeds, networks, images and batches; rounding alone differs. Held-out "
        "combinations are shown by unseen images, trained ones by training images.",
    )


def course_table(
    results: Results,
    wanted: Wanted,
    *,
    measure: Measure,
    whole: str = "On MNIST the paper has 15,600 updates for addition, 23,400 for the others.",
) -> Table:
    """A measure in the course of training: whether more updates would have changed it."""
    what = MEASURES[measure]
    rows: list[tuple[Value, ...]] = []
    for name, _, _ in wanted:
        cell = results[name]
        held_out, trained = cell.array(f"{measure}/test"), cell.array(f"{measure}/train")
        for at, updates in enumerate(cell.steps(f"{measure}/test")):
            now = held_out[:, at]
            left = stats.mean(held_out[:, -1] - now) if at < held_out.shape[1] - 1 else None
            rows.append((name, int(updates), stats.mean(now), left, stats.mean(trained[:, at])))
    return Table(
        id=f"course-{measure}",
        title=f"The course of training: {what}",
        columns=(
            "cell",
            "updates",
            f"{what}, held-out combinations",
            "change from here to the end",
            f"{what}, trained combinations, training images",
        ),
        rows=tuple(rows),
        note="Held-out combinations are a sample, shown by unseen images; changes are paired by "
        f"seed. {whole}",
    )


def addition_figure(results: Results, wanted: Wanted) -> Figure:
    """Answers against right answers."""
    panels = []
    for name, task, _ in wanted:
        assert isinstance(task, Addition)
        z, train = combinations(task)
        right, mean = task.values[z].sum(axis=1), answers(results[name]).mean(axis=0)
        fitted, constant = (float(x.mean()) for x in shrinkage(results[name], task))
        line = np.array([-8.0, 8.0])
        marks: list[Mark] = [
            Points(right[~train], mean[~train], "held-out pairs", "first"),
            Points(right[train], mean[train], "trained pairs", "muted", hollow=True),
            Line(line, fitted * line + constant, label=f"slope {fitted:.2f}", dashed=True),
            Line(line, line, label="right", colour="muted"),
        ]
        if results.scale == "paper":
            outer = of_cell(name).score
            assert outer is not None
            marks.append(Line(line, outer * line, label=f"published {outer:.2f}", colour="second"))
        panels.append(Panel(Axis("sum"), Axis("answer"), tuple(marks), title=name))
    return Figure(
        id="addition",
        title="Answers on unseen images: a shrunken copy of the sum",
        caption="Mean answer by combination. Held-out pairs lie on a line that is too flat, as the "
        "memorization leak says; it is steeper with images farther apart and more trained items.",
        where="Figure: addition with a ConvNet on MNIST",
        panels=tuple(panels),
        columns=3,
    )


def accuracy_table(results: Results, wanted: Wanted) -> Table:
    """Accuracy in distribution and on held-out combinations."""
    rows: list[tuple[Value, ...]] = []
    for name, task, _ in wanted:
        cell = results[name]
        rows.append(
            (
                name,
                of_cell(name).score,
                stats.mean(by_split(cell, task, "answers/accuracy", trained=False)),
                of_cell(name).trained,
                stats.mean(by_split(cell, task, "answers/accuracy", trained=True)),
                stats.mean(cell.array("salience")[:, 0, 0]),
                stats.mean(last(cell, "loss/train")),
            )
        )
    return Table(
        id="accuracy",
        title="Accuracy on unseen images",
        columns=(
            "cell",
            "published (MNIST)",
            "held-out combinations",
            "published (MNIST), trained",
            "trained combinations",
            "untrained S(1;C)",
            "loss, training images",
        ),
        rows=tuple(rows),
        where="Figures: context dependence and equivalence with a ConvNet on MNIST",
        note="Published: compositional accuracy of ten seeds at d = 0 (near) and d = 20 (far). "
        f"The loss is on training images, combined anew.{halves_named(results, wanted)}",
    )


def accuracy_figure(results: Results, wanted: Wanted, *, line: str = "any kernel model") -> Figure:
    """Held-out and trained accuracy side by side."""
    names = tuple(name for name, _, _ in wanted)
    marks: list[Mark] = []
    for trained, label, colour in (
        (False, "held-out combinations", "first"),
        (True, "trained combinations", "muted"),
    ):
        spans = [
            stats.mean(by_split(results[name], task, "answers/accuracy", trained=trained))
            for name, task, _ in wanted
        ]
        shown: Colour = "first" if colour == "first" else "muted"
        marks.append(Bars.of(names, spans, label, shown))
    marks.append(Rule(0.5, "y", line))
    return Figure(
        id="accuracy",
        title="Accuracy on unseen images",
        caption="With 95% intervals over seeds. A kernel model answers held-out pairs by chance.",
        where="Figure: equivalence with a ConvNet on MNIST",
        panels=(Panel(Axis("cell"), Axis("accuracy", limits=(0.0, 1.05)), tuple(marks)),),
        columns=1,
    )


def shares_figure(results: Results, wanted: Wanted) -> Figure:
    """Which conjunctions carry the answers, beside accuracy."""
    accuracy = accuracy_figure(results, wanted, line="guessing").panels[0]
    marks: list[Mark] = []
    for (name, task, _), colour in zip(wanted, COLOURS, strict=False):
        found = conjunction_shares(results[name], task)
        spans = [stats.mean(values) for values in found.values()]
        marks.append(Bars.of(found, spans, name, colour))
    return Figure(
        id="shares",
        title="Context dependence on images: accuracy, and the conjunctions behind it",
        caption="Right: mean |value| by kind of conjunction, scaled to sum to 1.",
        where="Figure: relative magnitudes of conjunctions",
        panels=(accuracy, Panel(Axis("conjunction"), Axis("share"), tuple(marks))),
        columns=2,
    )


def shares_table(results: Results, wanted: Wanted) -> Table:
    """Relative magnitudes of the kinds of conjunctions, published beside ours."""
    rows: list[tuple[Value, ...]] = []
    for name, task, far in wanted:
        found = conjunction_shares(results[name], task)
        printed = SHARES[name.split()[0]] if far else (None,) * len(KINDS)
        rows += [
            (name, kind, paper, stats.mean(found[kind]))
            for kind, paper in zip(KINDS, printed, strict=True)
        ]
    return Table(
        id="shares",
        title="The conjunctions behind the answers",
        columns=("cell", "conjunction", "published (MNIST)", "ours"),
        rows=tuple(rows),
        where="Figure: relative magnitudes of conjunctions",
        note=f"Mean |value| by kind, scaled to sum to 1; published at d = {FAR} only, after 100 "
        "epochs. Right: the context with the feature that counts in it; wrong: with the other; "
        "sensory: features without the context.",
    )


def untrained_salience(results: Results, distance: int) -> Float[np.ndarray, " seed"]:
    """S(1;2) after the last convolution, before training."""
    return np.asarray(results[f"d={distance}"].array("salience")[:, 0, 0])


def salience_table(results: Results, distances: Sequence[int]) -> Table:
    """Salience over distance, and the slopes that a kernel model with it would have."""
    rows: list[tuple[Value, ...]] = []
    for d in distances:
        salience = untrained_salience(results, d)
        one, two = (stats.mean(_slopes(salience, trained)) for trained in (1, 2))
        printed = on_mnist("extrapolation", d).score if results.scale == "paper" else None
        rows.append((d, stats.mean(salience), one, printed, two))
    return Table(
        id="salience",
        title="Salience of single items before training",
        columns=(
            "d",
            "S(1;2)",
            "m of that kernel, one trained item",
            "published slope of trained networks",
            "m of that kernel, two trained items",
        ),
        rows=tuple(rows),
        where="Figure: salience over distance",
        note="After the last convolution and its ReLU. The paper draws S(1;2) over d without "
        "numbers; its slopes are of the value given to item +4, extrapolation.",
    )


def salience_figure(results: Results, distances: Sequence[int]) -> Figure:
    """Salience over distance, and the slope it predicts beside that of trained networks."""
    d = np.array(distances)
    found = [untrained_salience(results, int(x)) for x in d]
    salience = Line.through(d, [stats.mean(s) for s in found], "untrained network")
    said = Line.through(d, [stats.mean(_slopes(s, 1)) for s in found], "m of the untrained kernel")
    marks: list[Mark] = [said]
    if results.scale == "paper":
        printed = np.array([on_mnist("extrapolation", int(x)).score for x in d], dtype=float)
        marks.append(Line(d, printed, label="published, trained networks", colour="second"))
    apart = Axis("distance d")
    return Figure(
        id="salience",
        title="Images farther apart: items are more salient, and sums leak less",
        caption="With 95% intervals over seeds; a purely additive code has S(1;2) = ½ and m = 1. "
        "Right: one trained item (extrapolation).",
        where="Figure: salience over distance",
        panels=(
            Panel(apart, Axis("S(1;2)"), (salience,), title="salience"),
            Panel(apart, Axis("slope"), tuple(marks), title="slope on held-out sums"),
        ),
        columns=2,
    )


def _slopes(salience: Float[np.ndarray, " seed"], trained: int) -> Float[np.ndarray, " seed"]:
    """The slope of a kernel model with each salience; NaN where none was measured."""
    return np.array(
        [slope(trained, float(np.clip(s, 0.0, 0.5))) if s == s else np.nan for s in salience]
    )
