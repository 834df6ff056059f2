"""Draws the panels of a figure, each its own SVG, with frames of one size that line up in a row."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree as ET

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from recombine.report import marks, rules, scales
from recombine.report.lettering import FAMILY, STACK, any_letters, broken
from recombine.report.palette import light
from recombine.report.vector import refine
from recombine.studies.figure import (
    Bars,
    Contours,
    Figure,
    Heat,
    Map,
    Network,
    Panel,
    Points,
    Rule,
)

WIDTHS = {1: 400.0, 2: 340.0, 3: 280.0, 4: 204.0}
"""Pixels of a panel by panels in a row, so that on a page or a phone its words keep their size."""
HEIGHTS = {1: 0.56, 2: 0.62, 3: 0.7, 4: 0.8}
"""Height of a frame for its width."""
TITLE, LABEL, TICK = 12.0, 11.5, 11.0
MARGIN = 4.0
DPI = 72
"""One pixel of SVG is one point."""

_SETTINGS = {
    "font.family": FAMILY,
    "font.size": LABEL,
    "text.parse_math": False,
    "text.color": light("ink"),
    "axes.edgecolor": light("line"),
    "axes.labelcolor": light("ink"),
    "axes.linewidth": 1.0,
    "axes.facecolor": "none",
    "xtick.color": light("line"),
    "ytick.color": light("line"),
    "xtick.labelcolor": light("soft"),
    "ytick.labelcolor": light("soft"),
    "svg.fonttype": "none",
    "svg.hashsalt": "recombine",
    "svg.image_inline": True,
}
_ONE_AT_A_TIME = threading.Lock()
"""Matplotlib's settings belong to the process, and the app draws from several threads."""


@contextmanager
def _settings() -> Iterator[None]:
    """Our settings over matplotlib's own defaults, whatever the user's are."""
    with _ONE_AT_A_TIME, style.context(["default", _SETTINGS]), any_letters():
        yield


def across(figure: Figure) -> int:
    """Panels in a row on a wide page, from 1 to 4."""
    wanted = max(1, min(figure.columns, len(figure.panels), 4))
    # A square as wide as the page would be as tall as the screen.
    return max(wanted, 2) if all(panel.square for panel in figure.panels) else wanted


def draw(figure: Figure) -> list[ET.Element]:
    """Each panel as an SVG element; ids inside start with the figure's."""
    row = across(figure)
    with _settings():
        frames = [_frame(panel, row) for panel in figure.panels]
        if not frames:
            return []
        # Equal margins, so that frames in a row line up.
        beyond = np.max([_overhang(axes) for axes in frames], axis=0) + MARGIN
        drawn = []
        for number, (panel, axes) in enumerate(zip(figure.panels, frames, strict=True)):
            _place(axes, panel, row, beyond)
            root = refine(_save(axes), f"{figure.id}-{number + 1}")
            drawn.append(_announce(root, figure, panel))
    return drawn


def _frame(panel: Panel, row: int) -> Axes:
    """A panel with all that is in it, at about its final size."""
    wide = WIDTHS[row] * 0.8
    canvas = Canvas(figsize=(WIDTHS[row] / DPI, WIDTHS[row] / DPI), dpi=DPI)
    FigureCanvasAgg(canvas)
    canvas.patch.set_visible(False)
    axes = canvas.add_axes((0.18, 0.15, 0.8, 0.8 * HEIGHTS[row]))
    flat = Map | Contours | Heat | Network
    plane = any(isinstance(mark, flat) for mark in panel.marks) or panel.square
    # Scales come before marks and limits after: marks look at the one and set the other.
    scales.apply(axes, panel)
    marks.draw(axes, panel)
    scales.limit(axes, panel)
    tall = wide * (_ratio(axes) if panel.square else HEIGHTS[row])
    bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
    scales.tick(axes, panel, marks.bar_names(bars), wide=wide, tall=tall, size=TICK)
    if not plane:
        axes.grid(axis="both" if _scatter(panel) else "y", color=light("line"), linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=3, width=1.0, pad=3)
    axes.set_xlabel("\n".join(broken(panel.x.label, LABEL, wide)), labelpad=3)
    axes.set_ylabel("\n".join(broken(panel.y.label, LABEL, tall)), labelpad=3)
    above = rules.draw(axes, [mark for mark in panel.marks if isinstance(mark, Rule)])
    title = "\n".join(broken(panel.title, TITLE, wide, bold=True))
    axes.set_title(title, loc="left", fontsize=TITLE, fontweight="bold", pad=6 + rules.ROW * above)
    return axes


def _scatter(panel: Panel) -> bool:
    return all(isinstance(mark, Points | Rule) for mark in panel.marks)


def _ratio(axes: Axes) -> float:
    """Height for width at which both axes have one unit, within what a page can show."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return float(np.clip(abs(top - bottom) / abs(right - left), 0.25, 2.0))


def _overhang(axes: Axes) -> tuple[float, float, float, float]:
    """Pixels that words take beyond the frame: left, right, bottom, top."""
    frame, whole = axes.get_window_extent(), axes.get_tightbbox()
    assert whole is not None
    return (
        max(frame.x0 - whole.x0, 0.0),
        max(whole.x1 - frame.x1, 0.0),
        max(frame.y0 - whole.y0, 0.0),
        max(whole.y1 - frame.y1, 0.0),
    )


def _place(axes: Axes, panel: Panel, row: int, beyond: np.ndarray) -> None:
    """Give the frame what the margins leave of the width, and the height that goes with it."""
    left, right, bottom, top = (float(margin) for margin in beyond)
    wide = WIDTHS[row] - left - right
    tall = wide * (_ratio(axes) if panel.square else HEIGHTS[row])
    height = bottom + tall + top
    canvas = axes.get_figure(root=True)
    assert canvas is not None
    canvas.set_size_inches(WIDTHS[row] / DPI, height / DPI)
    axes.set_position((left / WIDTHS[row], bottom / height, wide / WIDTHS[row], tall / height))


def _save(axes: Axes) -> bytes:
    canvas = axes.get_figure(root=True)
    assert isinstance(canvas, Canvas)
    written = io.BytesIO()
    silent = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    canvas.savefig(written, format="svg", metadata=silent)
    return written.getvalue()


def _announce(root: ET.Element, figure: Figure, panel: Panel) -> ET.Element:
    """Size by the page, font by the reader's system, and words for those who do not see it."""
    _, _, wide, tall = root.get("viewBox", "").split()
    what = f"{figure.title}: {panel.title}" if panel.title else figure.title
    root.attrib.clear()
    root.attrib.update(
        {
            "viewBox": f"0 0 {float(wide):g} {float(tall):.4g}",
            "width": f"{float(wide):g}",
            "height": f"{float(tall):.4g}",
            "font-family": STACK,
            "stroke-linejoin": "round",
            "role": "img",
            "aria-label": f"{what}. {panel.y.label} against {panel.x.label}.",
        }
    )
    return root
