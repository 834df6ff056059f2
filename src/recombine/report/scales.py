"""Sets the scale, limits and ticks of a panel's axes: the fewest ticks that serve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as Drawn
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullLocator,
    SymmetricalLogLocator,
)

from recombine.report.lettering import broken, number, width
from recombine.studies.figure import Axis, Bars, Line, Panel, Points, Rule

GAP = 7.0
"""Pixels between the words of two ticks."""


def apply(axes: Axes, panel: Panel) -> None:
    """Linear, logarithmic, or logarithmic on both sides of a linear stretch about zero."""
    for name, axis in (("x", panel.x), ("y", panel.y)):
        choose = axes.set_xscale if name == "x" else axes.set_yscale
        if axis.scale == "symlog":
            choose("symlog", linthresh=_least(panel, name), linscale=0.6)
        elif axis.scale == "log":
            # A bar stands on zero, which is below any picture; a line breaks there.
            stands = any(isinstance(mark, Bars) for mark in panel.marks)
            choose("log", nonpositive="clip" if stands else "mask")


def _least(panel: Panel, name: str) -> float:
    """The smallest size above zero on an axis: below it, a symlog scale is linear."""
    sizes = [
        np.abs(np.asarray(getattr(mark, name), dtype=float))
        for mark in panel.marks
        if isinstance(mark, Points | Line | Bars) and hasattr(mark, name)
    ]
    sizes += [np.abs([m.at]) for m in panel.marks if isinstance(m, Rule) and m.along == name]
    found = np.concatenate([[], *sizes])
    found = found[np.isfinite(found) & (found > 0)]
    return float(found.min()) if found.size else 1.0


def limit(axes: Axes, panel: Panel) -> None:
    """The limits a study asks for; otherwise those of the data, widened to hold every rule."""
    for name, axis, get, put in (
        ("x", panel.x, axes.get_xlim, axes.set_xlim),
        ("y", panel.y, axes.get_ylim, axes.set_ylim),
    ):
        low, high = get()
        # A logarithmic axis cannot reach zero.
        rules = [m.at for m in panel.marks if isinstance(m, Rule) and m.along == name]
        reach = [at for at in rules if axis.scale != "log" or at > 0]
        if axis.limits is None:
            put(min([low, *reach]), max([high, *reach]))
        elif axis.limits[0] != axis.limits[1]:
            asked = axis.limits[0]
            put(asked if axis.scale != "log" or asked > 0 else low, axis.limits[1])


def tick(
    axes: Axes, panel: Panel, names: tuple[str, ...], *, wide: float, tall: float, size: float
) -> None:
    """Ticks on both axes: numbers, or the names of bars, with words that do not meet."""
    for drawn, axis in ((axes.xaxis, panel.x), (axes.yaxis, panel.y)):
        drawn.set_major_locator(_locator(axis, drawn))
        drawn.set_minor_locator(NullLocator())
        drawn.set_major_formatter(FuncFormatter(lambda value, _: number(float(value))))
        drawn.set_tick_params(labelsize=size)
    _thin(axes, axes.yaxis, room=lambda _: size, length=tall)
    if names:
        _name(axes, names, room=wide / len(names) - GAP, size=size)
    else:
        _thin(axes, axes.xaxis, room=lambda words: width(words, size) + GAP, length=wide)


def _locator(axis: Axis, drawn: Drawn) -> Locator:
    if axis.ticks is not None:
        return FixedLocator(axis.ticks)
    if axis.scale == "log":
        low, high = sorted(drawn.get_view_interval())
        # Powers of ten alone would leave a short axis with one tick or none.
        return LogLocator(subs=(1.0,) if high / low >= 100 else (1.0, 2.0, 5.0), numticks=5)
    if axis.scale == "symlog":
        located = SymmetricalLogLocator(transform=drawn.get_transform())
        located.set_params(numticks=5)
        return located
    return MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10])


def _thin(axes: Axes, drawn: Drawn, *, room: Callable[[str], float], length: float) -> None:
    """Leave out ticks whose number would run into the one before; zero and ends come first."""
    across = drawn is axes.xaxis
    low, high = sorted(drawn.get_view_interval())
    inside = [float(v) for v in drawn.get_majorticklocs() if low <= v <= high]
    kept: list[tuple[float, float, float]] = []
    for value in sorted(inside, key=lambda v: (v != 0, v not in (inside[0], inside[-1]))):
        point = axes.transScale.transform((value, 1) if across else (1, value))
        at = float(axes.transLimits.transform(point)[0 if across else 1]) * length
        half = room(number(value)) / 2
        if all(abs(at - other) >= half + taken for _, other, taken in kept):
            kept.append((value, at, half))
    drawn.set_major_locator(FixedLocator(sorted(value for value, _, _ in kept)))


def _name(axes: Axes, names: tuple[str, ...], *, room: float, size: float) -> None:
    """Names under bars: level and broken into lines if they fit so, otherwise aslant."""
    lines = [broken(name, size, room) for name in names]
    level = all(width(line, size) <= room for name in lines for line in name)
    axes.set_xticks(range(len(names)), ["\n".join(name) for name in lines] if level else names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="x", bottom=False)
    if not level:
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")
