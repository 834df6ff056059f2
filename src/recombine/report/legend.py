"""The keys to a figure's marks: said once for all panels if they agree, else under each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

import numpy as np

from recombine.report.marks import MOST_CONTOURS, SHAPES
from recombine.report.palette import light, tint
from recombine.report.vector import element
from recombine.studies.figure import (
    Bars,
    Contours,
    Figure,
    Histogram,
    Line,
    Map,
    Mark,
    Panel,
    Points,
)

Kind = Literal["point", "hollow", "line", "dashed", "thin", "box", "bar", "map"]
HEIGHT = 14.0
SHADES = 24
"""Steps of a colour bar."""


@dataclass(frozen=True)
class Key:
    """What a mark looks like, and what it means."""

    kind: Kind
    colour: str
    label: str

    @property
    def look(self) -> tuple[str, str]:
        """What a reader tells it apart by."""
        return self.kind, self.colour

    @property
    def width(self) -> float:
        """Pixels of its swatch."""
        return 92.0 if self.kind == "map" else 24.0


def keys(figure: Figure) -> tuple[tuple[Key, ...], list[tuple[Key, ...]]]:
    """Keys for the whole figure, and for each panel; one of the two is empty."""
    each = [_keys(panel) for panel in figure.panels]
    every = tuple(dict.fromkeys(key for panel in each for key in panel))
    if len({key.look for key in every}) == len(every):
        return every, [() for _ in each]
    return (), each


def _keys(panel: Panel) -> tuple[Key, ...]:
    made = (_key(mark) for mark in panel.marks)
    return tuple(dict.fromkeys(key for key in made if key is not None and key.label))


def _key(mark: Mark) -> Key | None:
    match mark:
        case Points():
            return Key("hollow" if mark.hollow else "point", mark.colour, mark.label)
        case Line():
            return Key("dashed" if mark.dashed else "line", mark.colour, mark.label)
        case Histogram():
            return Key("box", mark.colour, mark.label)
        case Bars():
            return Key("bar", mark.colour, mark.label)
        case Contours():
            drawn = MOST_CONTOURS
            few = f" ({drawn:,} of {len(mark.values):,})" if len(mark.values) > drawn else ""
            return Key("thin", mark.colour, mark.label + few)
        case Map():
            return Key("map", "", mark.label or "P(class 1)")
        case _:
            return None


def swatch(key: Key) -> ET.Element:
    """The look of a mark, beside its word."""
    drawn = element(
        "svg",
        {
            "viewBox": f"0 0 {key.width:g} {HEIGHT:g}",
            "width": f"{key.width:g}",
            "height": f"{HEIGHT:g}",
            "aria-hidden": "true",
        },
    )
    drawn.extend(_colour_bar(key) if key.kind == "map" else [_sign(key)])
    return drawn


def _sign(key: Key) -> ET.Element:
    value = light(key.colour)
    fill = {"fill": value, "class": f"f-{key.colour}"}
    stroke = {"fill": "none", "stroke": value, "class": f"s-{key.colour}"}
    match key.kind:
        case "point":
            return _shape(SHAPES[key.colour], fill)
        case "hollow":
            return _shape(SHAPES[key.colour], {**stroke, "stroke-width": "1.6"})
        case "box":
            both = {"class": f"f-{key.colour} s-{key.colour}", "stroke": value}
            return element("path", {"d": "M3 2H21V12H3Z", **fill, **both, "fill-opacity": "0.35"})
        case "bar":
            return element("path", {"d": "M3 2H21V12H3Z", **fill, "fill-opacity": "0.75"})
        case "dashed":
            dash = {"stroke-dasharray": "6 3.4", "stroke-width": "2.2"}
            return element("path", {"d": "M1 7H23", **stroke, **dash})
        case _:
            thick = "1.2" if key.kind == "thin" else "2.4"
            return element("path", {"d": "M1 7H23", **stroke, "stroke-width": thick})


def _shape(marker: str, look: dict[str, str]) -> ET.Element:
    if marker == "o":
        return element("circle", {"cx": "12", "cy": "7", "r": "4.4", **look})
    outline = {"s": "M8 3H16V11H8Z", "^": "M12 2.4L16.8 11H7.2Z", "D": "M12 2L17 7L12 12L7 7Z"}
    return element("path", {"d": outline[marker], **look})


def _colour_bar(key: Key) -> Iterable[ET.Element]:
    """From 0 to 1, with both numbers at its ends, once for each scheme."""
    words = {"font-size": "11", "fill": light("soft"), "class": "f-soft", "y": "11"}
    yield element("text", {**words, "x": "8", "text-anchor": "end"}, "0")
    step = 68.0 / SHADES
    for scheme in ("light", "dark"):
        hidden = {"display": "none"} if scheme == "dark" else {}
        bar = element("g", {"class": f"on-{scheme}", **hidden})
        colours = tint((np.arange(SHADES) + 0.5) / SHADES, scheme)
        for number, (red, green, blue, _) in enumerate(colours.tolist()):
            # A little overlap, so that no seam shows between two steps.
            place = {
                "x": f"{12 + number * step:.2f}",
                "width": f"{min(step + 1, 68 - number * step):.2f}",
            }
            shade = {"y": "1.5", "height": "11", "fill": f"#{red:02x}{green:02x}{blue:02x}"}
            bar.append(element("rect", {**place, **shade}))
        yield bar
    edge = {"fill": "none", "stroke": light("line"), "class": "s-line"}
    yield element("path", {"d": "M12 1.5H80.3V12.5H12Z", **edge})
    yield element("text", {**words, "x": "84"}, "1")
