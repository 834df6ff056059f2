"""Figures of `kernel/theory`: salience over depth, the leak, the phase diagram, ordering."""

from __future__ import annotations

import functools

import numpy as np

from recombine import stats
from recombine.studies.figure import Axis, Colour, Figure, Line, Mark, Panel, Points
from recombine.studies.kernel_cells import Dispersed
from recombine.studies.results import Results
from recombine.theory import relations, shortcut
from recombine.theory.leak import slope
from recombine.theory.network_kernels import network_salience

DEPTHS = (0, 1, 2, 3, 4, 5, 7, 10, 14, 20)
ACTIVATIONS: tuple[tuple[str, str, Colour], ...] = (
    ("relu", "ReLU", "first"),
    ("rectified-quadratic", "rectified quadratic", "second"),
    ("step", "step", "third"),
    ("gaussian", "Gaussian", "fourth"),
)
GRID = 20
"""Points a side of the phase diagram."""
COLOURS: tuple[Colour, ...] = ("first", "second", "third", "fourth")


def salience_over_depth() -> Figure:
    """H: how a random network's representation turns into a lookup table."""
    depth = Axis("layers")
    panels = []
    for factors, order, title in (
        (2, 0, "S(1;2)"),
        (2, 1, "S(2;2)"),
        (3, 0, "S(1;3)"),
        (3, 1, "S(2;3)"),
        (3, 2, "S(3;3)"),
    ):
        marks: list[Mark] = []
        for name, words, colour in ACTIVATIONS:
            y = [network_salience(factors, activation=name, depth=d)[order] for d in DEPTHS]
            marks.append(Line(np.array(DEPTHS), np.array(y), label=words, colour=colour))
        panels.append(Panel(depth, Axis(title), tuple(marks), title=f"{factors} factors: {title}"))
    return Figure(
        id="salience-over-depth",
        title="Salience of a wide random network over depth",
        caption="Exact kernels of infinite width on one-hot inputs. With ReLU, step and rectified "
        "quadratic units the full conjunction takes over; with Gaussian units a mixture stays.",
        where="Figure: salience over depth and nonlinearity",
        panels=tuple(panels),
        columns=3,
    )


def leak_over_salience() -> Figure:
    """Proposition 5.1: the slope on held-out sums."""
    s = np.linspace(0, 0.5, 51)
    lines: list[Mark] = [
        Line(s, np.array([slope(p, float(x)) for x in s]), label=f"p = {p}", colour=COLOURS[p - 1])
        for p in (1, 2, 3, 4)
    ]
    depths = (1, 2, 5, 10, 20)
    at = [float(network_salience(2, depth=d)[0]) for d in depths]
    lines.append(
        Points(np.array(at), np.array([slope(1, x) for x in at]), "ReLU, 20 … 1 layers", "muted")
    )
    return Figure(
        id="leak",
        title="Memorization leak: the answer to an unseen sum is too small",
        caption="Slope m of the answers on held-out pairs against S(1;2), for p trained items. "
        "Which items they are does not matter. 1 is reached only by a purely additive code.",
        where="Proposition 5.1",
        panels=(Panel(Axis("S(1;2)"), Axis("slope m", limits=(0.0, 1.05)), tuple(lines)),),
        columns=1,
    )


@functools.cache
def phase_diagram() -> Figure:
    """G: where context dependence is generalised, for three splits and two losses."""
    panels = []
    edge = np.linspace(0.002, 1 / 3 - 0.002, GRID)
    methods: tuple[tuple[shortcut.Method, str], ...] = (
        ("svm", "largest margin"),
        ("regression", "regression"),
    )
    for method, words in methods:
        for left_out in (3, 2, 1):
            margins = shortcut.phase_diagram(edge, edge, left_out=left_out, method=method)
            s1, s2 = np.meshgrid(edge, edge)
            good, bad = margins > 0, margins <= 0
            marks: list[Mark] = [
                Points(s1[good], s2[good], "all held-out cells right", "first"),
                Points(s1[bad], s2[bad], "all wrong", "second", hollow=True),
            ]
            if left_out == 3:
                marks.append(_edge(method))
            marks += _paths()
            panels.append(
                Panel(
                    Axis("S(1;3)", limits=(0.0, 0.34)),
                    Axis("S(2;3)", limits=(0.0, 0.34)),
                    tuple(marks),
                    title=f"CD-{left_out}, {words}",
                )
            )
    return Figure(
        id="phase-diagram",
        title="Shortcut bias: which representations generalise context dependence",
        caption="Each point is a kernel. Its held-out cells are all right or all wrong. Grey: the "
        "closed-form boundary of CD-3. Lines: random ReLU (dashed) and rectified quadratic nets, "
        "from one layer (right) to twenty.",
        where="Figure: phase diagram of context dependence",
        panels=tuple(panels),
        columns=3,
    )


def _edge(method: shortcut.Method) -> Line:
    s1 = np.linspace(0, 1 / 3, 34)[:-1]
    s2 = np.array([shortcut.boundary(float(x), method=method) for x in s1])
    inside = np.isfinite(s2) & (s2 <= 1 / 3 - s1)
    return Line(s1[inside], s2[inside], label="closed form", colour="muted")


def _paths() -> list[Mark]:
    found: list[Mark] = []
    for name, words, dashed in (
        ("relu", "ReLU nets", True),
        ("rectified-quadratic", "quadratic", False),
    ):
        path = np.array([network_salience(3, activation=name, depth=d) for d in range(1, 21)])
        found.append(Line(path[:, 0], path[:, 1], label=words, colour="third", dashed=dashed))
    return found


def ordering() -> Figure:
    """Transitive ordering: the margin grows with distance at any salience."""
    distance = np.arange(1, 7)
    marks: list[Mark] = []
    for s, colour in zip((0.1, 0.3, 0.45, 0.5), COLOURS, strict=True):
        table = relations.ordering_table(s)
        marks.append(Line(distance, table[0, 1:], label=f"S(1;2) = {s}", colour=colour))
    return Figure(
        id="ordering",
        title="Ordering is always transferred",
        caption="Answer to the pair (first item, item at that distance), seven items, trained on "
        "neighbours. Positive everywhere: every held-out pair is right. At distance 1 the value of "
        "single items alone is shown.",
        where="Appendix: transitive ordering",
        panels=(Panel(Axis("distance"), Axis("answer u_0 − u_j"), tuple(marks)),),
        columns=1,
    )


def dispersed(results: Results) -> Figure:
    """I: addition with two random partners for each item."""
    cell, s = results["dispersed"], np.array(Dispersed().saliences)
    panels = []
    for name, label in (("error", "mean squared error"), ("slope", "slope of the answers")):
        values = cell.array(name)
        spans = [stats.mean(values[:, i]) for i in range(len(s))]
        line = Line.through(s, spans, f"{cell.n} random sets of pairs")
        panels.append(Panel(Axis("S(1;2)"), Axis(label), (line,), title=label))
    return Figure(
        id="dispersed",
        title="Addition with two random partners for each item",
        caption="The same leak where no item is trained with all others: held-out error falls from "
        "about 13 to 0 as the code becomes additive. Bands are 95% intervals over sets.",
        where="Figure: dispersed kernels",
        panels=tuple(panels),
        columns=2,
    )
