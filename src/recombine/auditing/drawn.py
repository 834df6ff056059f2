"""The figures of an audit, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.auditing.prediction import Predicted
from recombine.studies.figure import Axis, Bars, Colour, Figure, Line, Mark, Panel, Points, Rule

if TYPE_CHECKING:
    from recombine.auditing.audit import Audit

COLOURS: tuple[Colour, ...] = ("first", "second", "third", "fourth")
MOST_VALUES = 40
"""Values of a factor up to which the grid of two factors is drawn."""
LOWEST = -1.0
"""R² below this is drawn here."""


def figures(audit: Audit) -> tuple[Figure, ...]:
    """Whatever there is to see."""
    made = [grid(audit), coverage(audit), shortcuts(audit), prediction(audit)]
    return tuple(figure for figure in made if figure is not None)


def grid(audit: Audit) -> Figure | None:
    """The split itself, if two factors make it a table."""
    table, laid = audit.table, audit.combinations
    if len(table.factors) != 2 or max(table.sizes) > MOST_VALUES or len(table.classes) > 4:
        return None
    marks: list[Mark] = []
    for held in (False, True):
        there = laid.held_out if held else laid.trained
        y = laid.test.y if held else laid.train.y
        word = "held out" if held else "training"
        for code, name in enumerate(table.classes or ("",)):
            chosen = there & (y == code) if table.classes else there
            if chosen.any():
                x, up = laid.z[chosen].T.astype(float)
                label = f"{name}, {word}" if name else word
                marks.append(Points(x, up, label, COLOURS[code], hollow=held))
    axes = [
        Axis(name, limits=(-0.5, size - 0.5), ticks=tuple(range(size)) if size <= 10 else None)
        for name, size in zip(table.factors, table.sizes, strict=True)
    ]
    caption = "Filled: combinations that training shows. Outlined: held out. Values in order."
    panel = Panel(axes[0], axes[1], tuple(marks), square=True)
    return Figure("grid", "The split", caption, (panel,), columns=1)


def coverage(audit: Audit) -> Figure:
    """How much of the test rows training has seen, by order."""
    orders = audit.coverage.orders
    seen = np.array([order.seen for order in orders])
    names = tuple(
        {1: "values", 2: "pairs", 3: "triples"}.get(o.order, f"sets of {o.order}") for o in orders
    )
    panel = Panel(
        Axis("conjunctions"),
        Axis("share seen", limits=(0.0, 1.0)),
        (Bars(names, seen, seen, seen),),
    )
    caption = "Share of the conjunctions of test rows that training shows, by order."
    return Figure("coverage", "Coverage by order", caption, (panel,), columns=1)


def shortcuts(audit: Audit) -> Figure | None:
    """Each factor and pair as a rule: in training, and in the test."""
    marks: list[Mark] = []
    for size, (label, colour) in enumerate((("factor", COLOURS[0]), ("pair", COLOURS[1])), start=1):
        rules = [
            rule
            for rule in audit.rules
            if len(rule.factors) == size and not np.isnan(rule.test_gain)
        ]
        if rules:
            x = np.array([rule.train_gain for rule in rules])
            y = np.array([max(rule.test_gain, LOWEST) for rule in rules])
            marks.append(Points(np.maximum(x, LOWEST), y, label, colour))
    if not marks:
        return None
    marks.append(Rule(0.5, "x", "shortcut beyond"))
    caption = (
        "Each point is a rule that sees one factor, or one pair. Right of the dotted line and low: "
        "it serves in training and not in the test. Gains below −1 are drawn at −1."
    )
    axes = [Axis(f"gain in {side}", limits=(-1.05, 1.05)) for side in ("training", "the test")]
    panel = Panel(axes[0], axes[1], tuple(marks))
    return Figure("shortcuts", "Shortcuts", caption, (panel,), columns=1)


def prediction(audit: Audit) -> Figure | None:
    """Accuracy and shrinkage over salience, with networks as points."""
    if audit.prediction is None:
        return None
    fits = sorted({each.fit for each in audit.prediction.predicted}, reverse=False)
    panels = []
    classes = bool(audit.table.classes)
    for fit in sorted(fits, reverse=True):
        made = [each for each in audit.prediction.predicted if each.fit == fit]
        what = "share right" if classes else "R²"
        panels.append(_panel(made, what, "right", f"{fit}: {what}"))
        panels.append(_panel(made, "shrinkage", "shrinkage", f"{fit}: shrinkage"))
    caption = (
        "Exact fits on the combinations. From left to right the code has less of single factors "
        "and more of conjunctions; the dashed road has nothing between single factors and whole "
        "combinations. Points: wide ReLU networks with 1 to 4 hidden layers, from left to right."
    )
    title = "Predicted on held-out combinations"
    return Figure("prediction", title, caption, tuple(panels), columns=2)


def _panel(made: list[Predicted], label: str, field: str, title: str) -> Panel:
    marks: list[Mark] = []
    for road, colour, dashed in (
        ("through all orders", COLOURS[0], False),
        ("past the middle", COLOURS[1], True),
    ):
        ordered = sorted((p for p in made if p.code.road == road), key=lambda p: -p.code.additive)
        if ordered:
            x = np.array([1 - p.code.additive for p in ordered])
            y = np.array([max(getattr(p, field), LOWEST) for p in ordered])
            marks.append(Line(x, y, label=road, colour=colour, dashed=dashed))
    nets = [p for p in made if p.code.road == "network"]
    x = np.array([1 - p.code.additive for p in nets])
    y = np.array([max(getattr(p, field), LOWEST) for p in nets])
    marks.append(Points(x, y, "ReLU networks", COLOURS[2]))
    drawn = np.concatenate([np.asarray(m.y) for m in marks])  # type: ignore[union-attr]
    low = float(np.min(drawn[np.isfinite(drawn)], initial=0.0))  # one number has no R²
    across = Axis("share of the code beyond single factors", limits=(0.0, 1.0))
    return Panel(across, Axis(label, limits=(low - 0.05, 1.05)), tuple(marks), title=title)
