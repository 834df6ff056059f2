"""Draws each kind of mark of a panel on matplotlib axes, in the light value of its colour."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.path import Path

from recombine.report.levels import level_lines
from recombine.report.palette import HEAT_ENDS, light, tint
from recombine.studies.figure import (
    Bars,
    Contours,
    Heat,
    Histogram,
    Line,
    Map,
    Mark,
    Network,
    Panel,
    Points,
    Rule,
)

SHAPES = {"first": "o", "second": "s", "third": "^", "fourth": "D", "muted": "o"}
"""Points differ in shape as well as colour."""

MOST_CONTOURS = 1_000
"""Beyond this many, an even choice of them is drawn: more would only make the file larger."""
SLACK = 0.2
"""Pixels by which a level line may be straightened."""
HEAT_PIXELS = 512
"""Points a side, or so, that a coarse heat map is repeated to."""
MAP_PIXELS = 129
"""Points a side that a coarse map is interpolated to, so that it reads as a surface."""


def draw(axes: Axes, panel: Panel) -> None:
    """All marks of a panel, later ones above earlier ones; rules wait until limits are known."""
    bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
    for order, mark in enumerate(panel.marks, start=2):
        if not isinstance(mark, Bars | Rule):
            _draw(mark, axes, order)
    _draw_bars(axes, bars, order=len(panel.marks) + 2)


@singledispatch
def _draw(mark: Mark, axes: Axes, order: int) -> None:
    raise TypeError(f"no drawing for {type(mark).__name__}")


@_draw.register
def _(mark: Points, axes: Axes, order: int) -> None:
    colour, crowd = light(mark.colour), len(mark.x)
    size = 34 if crowd <= 60 else 22 if crowd <= 400 else 10
    axes.scatter(
        mark.x,
        mark.y,
        s=size,
        marker=SHAPES[mark.colour],
        facecolors=light("paper") if mark.hollow else colour,
        # A rim of paper keeps points apart where they crowd, and off the map below them.
        edgecolors=colour if mark.hollow else light("paper"),
        linewidths=1.4 if mark.hollow else 0.6,
        zorder=order,
    )


@_draw.register
def _(mark: Line, axes: Axes, order: int) -> None:
    colour, x = light(mark.colour), np.asarray(mark.x, dtype=float)
    if mark.low is not None and mark.high is not None:
        low, high = (np.asarray(bound, dtype=float) for bound in (mark.low, mark.high))
        axes.fill_between(x, low, high, color=to_rgba(colour, 0.18), linewidth=0, zorder=order)
    axes.plot(
        x,
        np.asarray(mark.y, dtype=float),
        color=colour,
        linewidth=1.8,
        linestyle=(0, (4, 2)) if mark.dashed else "-",
        marker="o" if len(x) == 1 else None,
        solid_capstyle="round",
        zorder=order,
    )


def shares(mark: Histogram) -> npt.NDArray[np.float64]:
    """The share of all seeds in each bin; a seed outside every bin counts in the whole."""
    values = np.asarray(mark.values, dtype=float)
    counts, _ = np.histogram(values[np.isfinite(values)], bins=mark.bins)
    return np.asarray(counts / max(len(values), 1))


@_draw.register
def _(mark: Histogram, axes: Axes, order: int) -> None:
    colour = light(mark.colour)
    axes.stairs(
        shares(mark),
        mark.bins,
        fill=True,
        facecolor=to_rgba(colour, 0.35),
        edgecolor=colour,
        linewidth=1.2,
        zorder=order,
    )


@_draw.register
def _(mark: Map, axes: Axes, order: int) -> None:
    left, right, bottom, top = mark.extent
    values = _finer(np.asarray(mark.values, dtype=float))
    # Outermost points lie on the edges, so the image reaches half a pixel beyond them.
    dx, dy = (
        (high - low) / (2 * max(count - 1, 1))
        for low, high, count in ((left, right, values.shape[1]), (bottom, top, values.shape[0]))
    )
    for scheme in ("light", "dark"):
        image = axes.imshow(
            tint(values, scheme),
            extent=(left - dx, right + dx, bottom - dy, top + dy),
            origin="lower",
            interpolation="none",
            aspect="auto",
            zorder=1,
        )
        image.set_gid(f"on-{scheme}")
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)


def _finer(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A coarse map interpolated between its points; one that is fine already stays."""
    for axis in (0, 1):
        size = values.shape[axis]
        if 2 <= size < MAP_PIXELS:
            # A whole number of steps between points keeps every measured value in the picture.
            steps = -(-(MAP_PIXELS - 1) // (size - 1))
            at = np.linspace(0, size - 1, (size - 1) * steps + 1)
            below = np.minimum(at.astype(int), size - 2)
            part = np.expand_dims(at - below, 1 - axis)
            lower, upper = np.take(values, below, axis), np.take(values, below + 1, axis)
            values = lower * (1 - part) + upper * part
    return values


@_draw.register
def _(mark: Heat, axes: Axes, order: int) -> None:
    (top, left), (rows, columns) = mark.counted_from, mark.values.shape
    edges = (left - 0.5, left + columns - 0.5, top + rows - 0.5, top - 0.5)
    values = crisp(heat_tint(np.asarray(mark.values, dtype=float), mark.low, mark.high))
    for scheme in ("light", "dark"):
        image = axes.imshow(
            tint(values, scheme, HEAT_ENDS),
            extent=edges,
            interpolation="none",
            aspect="auto",
            zorder=1,
        )
        image.set_gid(f"on-{scheme}")
    axes.set_xlim(*edges[:2])
    axes.set_ylim(*edges[2:])


def heat_tint(values: npt.NDArray[np.float64], low: float, high: float) -> npt.NDArray[np.float64]:
    """Numbers as places on the colour scale: 0 at its neutral middle, or at it if none is below."""
    if low < 0:
        return np.asarray(0.5 + 0.5 * values / max(high, -low))
    return np.asarray(0.5 + 0.5 * (values - low) / max(high - low, 1e-12))


def crisp(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cells repeated until they are many: a renderer that smooths then blurs only their rims."""
    for axis in (0, 1):
        values = np.repeat(values, max(1, round(HEAT_PIXELS / values.shape[axis])), axis=axis)
    return values


@_draw.register
def _(mark: Network, axes: Axes, order: int) -> None:
    places = np.asarray(mark.places, dtype=float)
    for colour, chosen in (("first", mark.weights < 0), ("second", mark.weights >= 0)):
        pairs = places[mark.edges[chosen]]
        if not len(pairs):
            continue
        # One path for all edges of a sign: a graph has thousands.
        ends = pairs.reshape(-1, 2)
        codes = np.tile([Path.MOVETO, Path.LINETO], len(pairs))
        opacity = float(np.clip(12 / max(len(pairs), 1) ** 0.6, 0.12, 0.8))
        lines = PathCollection(
            [Path(ends, codes)],
            facecolors="none",
            edgecolors=[to_rgba(light(colour), opacity)],
            linewidths=0.7,
            zorder=order,
        )
        axes.add_collection(lines, autolim=False)
    degree = np.bincount(mark.edges.ravel(), minlength=len(places))
    axes.scatter(
        places[:, 0],
        places[:, 1],
        s=3 + 60 * degree / max(degree.max(initial=1), 1),
        facecolors=light("ink"),
        edgecolors=light("paper"),
        linewidths=0.4,
        zorder=order + 1,
    )


@_draw.register
def _(mark: Contours, axes: Axes, order: int) -> None:
    total = len(mark.values)
    kept = set(np.linspace(0, total - 1, min(total, MOST_CONTOURS)).astype(int).tolist())
    # The more lines, the fainter each, so that their density can be seen.
    opacity, width = float(np.clip(4 / max(total, 1) ** 0.6, 0.1, 1.0)), 1.8 if total < 5 else 1.0
    paths = []
    for number, pieces in level_lines(mark):
        if number in kept and pieces:
            path = Path.make_compound_path(*(Path(piece) for piece in pieces))
            path.should_simplify, path.simplify_threshold = True, SLACK
            paths.append(path)
    lines = PathCollection(
        paths,
        facecolors="none",
        edgecolors=[to_rgba(light(mark.colour), opacity)],
        linewidths=width,
        zorder=order,
    )
    axes.add_collection(lines, autolim=False)
    left, right, bottom, top = mark.extent
    axes.update_datalim([(left, bottom), (right, top)])


def _draw_bars(axes: Axes, together: list[Bars], order: int) -> None:
    """Bars of several marks stand side by side over the names they share."""
    place = {name: at for at, name in enumerate(bar_names(together))}
    width = 0.76 / max(len(together), 1)
    for number, mark in enumerate(together):
        x = np.array([place[name] for name in mark.names]) + (number + 0.5) * width - 0.38
        y, low, high = (np.asarray(part, dtype=float) for part in (mark.y, mark.low, mark.high))
        for colour in (light("paper"), to_rgba(light(mark.colour), 0.75)):
            # Paper first, so that the grid does not show through.
            axes.bar(x, y, width * 0.92, color=colour, zorder=order)
        axes.errorbar(
            x,
            y,
            yerr=np.maximum(np.stack([y - low, high - y]), 0),
            fmt="none",
            color=light("ink"),
            elinewidth=1.2,
            capsize=3,
            zorder=order + 1,
        )


def bar_names(bars: list[Bars]) -> tuple[str, ...]:
    """The names under all bars of a panel, in the order they are first met."""
    return tuple(dict.fromkeys(name for mark in bars for name in mark.names))
