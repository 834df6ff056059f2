"""Tables and figures of `kernel/dense`: networks beside what theory predicts for them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recombine import stats
from recombine.analyses.additivity import rows as combinations
from recombine.studies.figure import Axis, Bars, Colour, Figure, Line, Mark, Panel, Points, Rule
from recombine.studies.kernel_reading import (
    answers,
    by_split,
    conjunction_shares,
    last,
    lazy_leak,
    lazy_margin,
    relative_margin,
    shrinkage,
)
from recombine.studies.results import Results
from recombine.studies.table import Table, Value
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.relations import Equivalence
from recombine.theory.network_kernels import biased_input, network_salience

ADDITION = ("extrapolation", "interpolation", "both", "asymmetric")
PUBLISHED_LAZY = {"extrapolation": "≈ .73", "both": "≈ .85"}
"""Item 4 is read as about 2.9 (extrapolation) and 3.4 (both) of 4 in the authors' figure."""
EQUIVALENCE: dict[Literal["squared", "logistic-sign"], str] = {
    "squared": "equivalence",
    "logistic-sign": "equivalence logistic-sign",
}
"""What cells of equivalence are called, by loss; at quick scale only the first are run."""
ADDS_UP, ASYMMETRIC_RICH = "≈ 1", ".855 ± .05"
"""Published additivity: lazy and rich, and rich on the asymmetric set."""


def scales(results: Results, prefix: str) -> list[str]:
    """The σ for which there are cells of that name, largest first."""
    found = {name.rsplit(" ", 1)[1] for name in results.cells if name.startswith(prefix)}
    return sorted(found, key=float, reverse=True)


def addition_table(results: Results) -> Table:
    """Slopes, constants and additivity."""
    rows: list[tuple[Value, ...]] = []
    for name in ADDITION:
        task = Addition(trained_items=SETS[name])
        sigmas = scales(results, name)
        rich = ASYMMETRIC_RICH if name == "asymmetric" else ADDS_UP
        adds_up = {sigmas[-1]: rich} | {"1": ADDS_UP}
        for sigma in sigmas:
            cell = results[f"{name} {sigma}"]
            slope, constant = shrinkage(cell, task)
            held_out, trained = (last(cell, f"additivity/{split}") for split in ("test", "train"))
            rows.append(
                (
                    name,
                    sigma,
                    PUBLISHED_LAZY.get(name) if sigma == "1" else None,
                    lazy_leak(task).slopes[0] if sigma == "1" else None,
                    stats.mean(slope),
                    stats.mean(constant),
                    adds_up.get(sigma),
                    stats.mean(held_out),
                    stats.mean((held_out + trained) / 2),
                )
            )
    return Table(
        id="addition",
        title="Addition: answers on held-out pairs are m (v_i + v_j) + constant",
        columns=(
            "trained set",
            "σ",
            "published m",
            "theory m",
            "our m",
            "our constant",
            "published R²",
            "R², held out",
            "R², mean of trained and held out",
        ),
        rows=tuple(rows),
        where="Figure: addition, lazy and rich",
        note="σ = 1 is lazy. Theory: NNGP kernel of a hidden ReLU layer with the authors' biases. "
        "R² is the additivity of answers. The paper does not say of which pairs; on MNIST its "
        "numbers are those of held-out ones, so the last column explains nothing by itself.",
    )


def context_table(results: Results) -> Table:
    """Margins and accuracies of context dependence."""
    rows: list[tuple[Value, ...]] = []
    for left_out in (3, 2, 1):
        task = ContextDependence(left_out=left_out)
        for loss in ("squared", "logistic-sign"):
            for sigma in scales(results, f"CD-{left_out} {loss}"):
                cell = results[f"CD-{left_out} {loss} {sigma}"]
                rows.append(
                    (
                        f"CD-{left_out}",
                        loss,
                        sigma,
                        lazy_margin(left_out, loss) if sigma == "1" else None,
                        stats.mean(relative_margin(cell, task)),
                        stats.mean(by_split(cell, task, "answers/accuracy", trained=False)),
                        stats.mean(last(cell, "additivity/test")),
                    )
                )
    return Table(
        id="context",
        title="Context dependence: margin on held-out cells",
        columns=("task", "loss", "σ", "theory", "our relative margin", "accuracy", "additivity R²"),
        rows=tuple(rows),
        where="Section on shortcut bias; Figure: phase diagram",
        note="Relative margin: mean on held-out cells over mean on trained ones. Theory: "
        "regression for the squared loss, the largest-margin machine for cross-entropy.",
    )


def equivalence_table(results: Results) -> Table:
    """Accuracy and mechanism of equivalence over σ."""
    task = Equivalence()
    rows: list[tuple[Value, ...]] = []
    sigmas = scales(results, "equivalence")
    printed = {sigmas[-1]: "1"} | {"1": "train 1, test ≈ .42-.5"}
    asked = [(loss, name, sigma) for loss, name in EQUIVALENCE.items() for sigma in sigmas]
    for loss, name, sigma in asked:
        if f"{name} {sigma}" not in results.cells:
            continue
        cell = results[f"{name} {sigma}"]
        rows.append(
            (
                loss,
                sigma,
                printed.get(sigma),
                stats.mean(by_split(cell, task, "answers/accuracy", trained=True)),
                stats.mean(by_split(cell, task, "answers/accuracy", trained=False)),
                stats.mean(relative_margin(cell, task)),
                stats.mean(last(cell, "alignment/same")),
                stats.mean(last(cell, "alignment/different")),
                stats.mean(last(cell, "alignment/rule")),
            )
        )
    return Table(
        id="equivalence",
        title="Equivalence: only networks that learn features transfer it, and how",
        columns=(
            "loss",
            "σ",
            "published",
            "train accuracy",
            "test accuracy",
            "relative margin",
            "same-class correlation",
            "different-class",
            "sign rule",
        ),
        rows=tuple(rows),
        where="Section on transitive equivalence",
        note="Theory for any kernel: 0 on every held-out pair. Correlations over units of (input "
        "weight × readout weight) of items; sign rule: share of active units with a positive "
        "readout that like the same class in both places, or a negative one and different classes.",
    )


def salience_table(results: Results) -> Table:
    """Salience of the hidden layer, untrained and trained."""
    rows: list[tuple[Value, ...]] = []
    for name, factors, dimension in (("extrapolation", 2, 18), ("CD-3 squared", 3, 14)):
        theory = network_salience(biased_input(factors, dimension))
        for sigma in scales(results, name):
            measured = results[f"{name} {sigma}"].array("salience")
            for order in range(factors):
                rows.append(
                    (
                        name,
                        sigma,
                        f"S({order + 1};{factors})",
                        float(theory[order]),
                        stats.mean(measured[:, 0, order]),
                        stats.mean(measured[:, -1, order]),
                    )
                )
    return Table(
        id="measured-salience",
        title="Salience of the hidden layer before and after training",
        columns=("task", "σ", "salience", "theory, untrained", "untrained", "trained"),
        rows=tuple(rows),
        note="Theory: one hidden layer of infinite width with the authors' biases.",
    )


def addition_figure(results: Results) -> Figure:
    """Answers against right answers, lazy and rich, beside the theory's line."""
    panels = []
    for name in ADDITION:
        task = Addition(trained_items=SETS[name])
        z, train = combinations(task)
        wanted = task.values[z].sum(axis=1)
        marks: list[Mark] = []
        line = np.array([-8.0, 8.0])
        kinds: tuple[tuple[str, Colour, str], ...] = (
            ("1", "first", "lazy"),
            ("1e-3", "second", "rich"),
        )
        for sigma, colour, words in kinds:
            mean = answers(results[f"{name} {sigma}"]).mean(axis=0)
            marks.append(Points(wanted[~train], mean[~train], f"{words} (σ = {sigma})", colour))
        said = lazy_leak(task)
        theory = said.slopes[0] * line + said.offset
        marks.append(Line(line, theory, label="theory, lazy", colour="first", dashed=True))
        marks.append(Line(line, line, label="right", colour="muted"))
        panels.append(Panel(Axis("sum"), Axis("answer"), tuple(marks), title=name))
    return Figure(
        id="addition",
        title="Addition: answers to held-out pairs",
        caption="Mean over seeds. Lazy nets lie on the line that theory predicts from the salience "
        "of a random layer. Rich nets do "
        "better where sums lie between trained ones, worse on the asymmetric set.",
        where="Figure: addition, lazy and rich",
        panels=tuple(panels),
        columns=2,
    )


def context_figure(results: Results) -> Figure:
    """Relative margins of lazy nets beside the theory's, over splits and losses."""
    panels = []
    for loss in ("squared", "logistic-sign"):
        names, spans, said = [], [], []
        for left_out in (3, 2, 1):
            task = ContextDependence(left_out=left_out)
            names.append(f"CD-{left_out}")
            spans.append(stats.mean(relative_margin(results[f"CD-{left_out} {loss} 1"], task)))
            said.append(lazy_margin(left_out, loss))
        zero = np.array(said)
        marks: tuple[Mark, ...] = (
            Bars.of(names, spans, "lazy networks"),
            Bars(tuple(names), zero, zero, zero, "theory", "muted"),
            Rule(0.0, "y", "chance"),
        )
        panels.append(Panel(Axis("task"), Axis("margin"), marks, title=f"loss: {loss}"))
    return Figure(
        id="context",
        title="Context dependence: the same nets, right with one loss, wrong with the other",
        caption="Margin on held-out cells of lazy networks (relative to trained cells, 95% "
        "intervals) beside theory. Below 0 every held-out cell is answered wrong.",
        where="Section on shortcut bias",
        panels=tuple(panels),
        columns=2,
    )


def equivalence_figure(results: Results) -> Figure:
    """Accuracy and alignment over σ."""
    sigmas = scales(results, "equivalence")
    x = np.array([float(s) for s in sigmas])
    across = Axis("initial scale σ (rich to lazy)", scale="log")

    def line(name: str, label: str, colour: Colour) -> Line:
        if name == "accuracy":
            task, name = Equivalence(), "answers/accuracy"
            values = [
                by_split(results[f"equivalence {s}"], task, name, trained=False) for s in sigmas
            ]
        else:
            values = [last(results[f"equivalence {s}"], name) for s in sigmas]
        spans = [stats.mean(v) for v in values]
        return Line.through(x, spans, label, colour)

    return Figure(
        id="equivalence",
        title="Equivalence from lazy to rich",
        caption="Left: accuracy on held-out pairs; a kernel model is at chance. Right: correlation "
        "over units of the weights of two items, of one class and of two: as they go to +1 and −1 "
        "the network comes to treat a class as one thing.",
        where="Section on transitive equivalence",
        panels=(
            Panel(
                across,
                Axis("test accuracy", limits=(0.0, 1.05)),
                (line("accuracy", "networks", "first"), Rule(0.5, "y", "any kernel model")),
                title="transfer",
            ),
            Panel(
                across,
                Axis("correlation of weights", limits=(-1.05, 1.05)),
                (
                    line("alignment/same", "one class", "first"),
                    line("alignment/different", "two classes", "second"),
                ),
                title="mechanism",
            ),
        ),
        columns=2,
    )


def shares_figure(results: Results) -> Figure:
    """Which conjunctions lazy nets use in context dependence."""
    colours: tuple[Colour, ...] = ("first", "second", "third")
    marks: list[Mark] = []
    for left_out, colour in zip((3, 2, 1), colours, strict=True):
        task = ContextDependence(left_out=left_out)
        found = conjunction_shares(results[f"CD-{left_out} logistic-sign 1"], task)
        spans = [stats.mean(values) for values in found.values()]
        marks.append(Bars.of(found, spans, f"CD-{left_out}", colour))
    return Figure(
        id="shares",
        title="Where the answers come from: relative magnitudes",
        caption="Mean |value| by kind of conjunction, scaled to sum to 1; lazy nets, logistic. "
        "In CD-3 weight moves from the right conjunctions to the context alone: the shortcut.",
        where="Figure: relative magnitudes of conjunctions",
        panels=(Panel(Axis("conjunction"), Axis("share"), tuple(marks)),),
        columns=1,
    )
