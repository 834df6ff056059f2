"""Draws a figure: as one SVG that stands alone, or as panels that a page lays out itself."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from recombine.report import panels
from recombine.report.legend import HEIGHT, Key, keys, swatch
from recombine.report.lettering import STACK, broken, width
from recombine.report.palette import css, light
from recombine.report.vector import SVG, element, text
from recombine.studies.figure import Figure

PAD, GAP = 16.0, 14.0
HEADING, WORD = 15.0, 12.0
HALO = ".halo text{paint-order:stroke;stroke:var(--paper);stroke-width:3px}\n"
"""Words over data are rimmed with paper."""


def svg(figure: Figure) -> str:
    """The figure as an SVG file, light or dark as its reader prefers, the same bytes every time."""
    return sheet(figure, panels.draw(figure))


def sheet(figure: Figure, drawn: Sequence[ET.Element]) -> str:
    """Title, keys and panels on one sheet, from panels that are drawn already."""
    shared, each = keys(figure)
    cell, row = panels.WIDTHS[panels.across(figure)], max(1, min(panels.across(figure), len(drawn)))
    total = 2 * PAD + row * cell + (row - 1) * GAP
    body: list[ET.Element] = []
    y = _words(body, broken(figure.title, HEADING, total - 2 * PAD, bold=True), PAD)
    y = _legend(body, shared, PAD, y, total - 2 * PAD)
    for start in range(0, len(drawn), row):
        lowest = y
        for column, panel in enumerate(drawn[start : start + row]):
            x = PAD + column * (cell + GAP)
            body.append(element("g", {"transform": f"translate({x:g} {y:g})"}))
            body[-1].append(panel)
            below = y + float(panel.get("height", "0"))
            lowest = max(lowest, _legend(body, each[start + column], x, below, cell))
        y = lowest + GAP
    return text(_sheet(figure, body, total, y - GAP + PAD)) + "\n"


def _sheet(figure: Figure, body: list[ET.Element], wide: float, tall: float) -> ET.Element:
    """The paper that everything is laid on, and the words for those who do not see it."""
    size = {"width": f"{wide:g}", "height": f"{tall:g}"}
    root = element(
        "svg",
        {"xmlns": SVG, "viewBox": f"0 0 {wide:g} {tall:g}", **size, "font-family": STACK},
    )
    root.append(element("title", text=figure.title))
    root.append(element("desc", text=figure.caption))
    root.append(element("style", text=css(root="svg") + HALO))
    root.append(element("rect", {**size, "fill": light("paper"), "class": "f-paper"}))
    root.extend(body)
    return root


def _words(body: list[ET.Element], lines: Sequence[str], y: float) -> float:
    """The title in its lines; returns where it ends."""
    look = {"fill": light("ink"), "class": "f-ink", "font-weight": "600"}
    for line in lines:
        y += HEADING * 1.3
        place = {"x": f"{PAD:g}", "y": f"{y - 5:g}", "font-size": f"{HEADING:g}"}
        body.append(element("text", {**place, **look}, line))
    return y + 6


def _legend(
    body: list[ET.Element], entries: Sequence[Key], left: float, y: float, room: float
) -> float:
    """Keys in rows; returns where they end."""
    x = left
    for key in entries:
        wide = key.width + 6 + width(key.label, WORD)
        if x > left and x + wide > left + room:
            x, y = left, y + HEIGHT + 5
        sign = swatch(key)
        sign.attrib.update({"x": f"{x:g}", "y": f"{y:g}"})
        look = {"fill": light("ink"), "class": "f-ink", "font-size": f"{WORD:g}"}
        place = {"x": f"{x + key.width + 6:g}", "y": f"{y + 11:g}"}
        body += [sign, element("text", {**place, **look}, key.label)]
        x += wide + 18
    return y + HEIGHT + 8 if entries else y
