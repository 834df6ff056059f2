"""The keys to a figure's marks: said once for all panels if they agree, else under each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

import numpy as np

from recombine.report.lettering import number
from recombine.report.marks import MOST_CONTOURS, SHAPES
from recombine.report.palette import HEAT_ENDS, MAP_ENDS, light, tint
from recombine.report.vector import element
from recombine.studies.figure import (
    Bars,
    Contours,
    Figure,
    Heat,
    Histogram,
    Line,
    Map,
    Mark,
    Network,
    Panel,
    Points,
)

Kind = Literal["point", "hollow", "line", "dashed", "thin", "box", "bar", "map", "heat", "network"]
BARS = {"map": MAP_ENDS, "heat": HEAT_ENDS}
"""Kinds whose swatch is a bar of colours."""
HEIGHT = 14.0
SHADES = 24
"""Steps of a colour bar."""


@dataclass(frozen=True)
class Key:
    """What a mark looks like, and what it means."""

    kind: Kind
    colour: str
    label: str
    ends: tuple[str, str] = ("0", "1")
    """The numbers at the ends of a colour bar."""
    start: float = 0.0
    """Where on the colour scale a colour bar starts."""

    @property
    def look(self) -> tuple[object, ...]:
        """What a reader tells it apart by."""
        return self.kind, self.colour, self.ends, self.start

    @property
    def width(self) -> float:
        """Pixels of its swatch."""
        return 92.0 + 6.5 * (sum(map(len, self.ends)) - 2) if self.kind in BARS else 24.0


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
        case Heat():
            ends = number(mark.low), number(mark.high)
            return Key("heat", "", mark.label, ends, 0.0 if mark.low < 0 else 0.5)
        case Network():
            return Key("network", "second", mark.label)
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
    drawn.extend(_colour_bar(key) if key.kind in BARS else [_sign(key)])
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
        case "network":
            other = {"fill": "none", "stroke": light("first"), "class": "s-first"}
            pair = element("g", {"stroke-width": "1.6"})
            pair.append(element("path", {"d": "M1 4H23", **stroke}))
            pair.append(element("path", {"d": "M1 10H23", **other}))
            return pair
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
    left = 8 + 6.5 * (len(key.ends[0]) - 1)
    yield element("text", {**words, "x": f"{left:g}", "text-anchor": "end"}, key.ends[0])
    left, step = left + 4, 68.0 / SHADES
    for scheme in ("light", "dark"):
        hidden = {"display": "none"} if scheme == "dark" else {}
        bar = element("g", {"class": f"on-{scheme}", **hidden})
        places = (np.arange(SHADES) + 0.5) / SHADES
        colours = tint(key.start + (1 - key.start) * places, scheme, BARS[key.kind])
        for count, (red, green, blue, _) in enumerate(colours.tolist()):
            # A little overlap, so that no seam shows between two steps.
            place = {
                "x": f"{left + count * step:.2f}",
                "width": f"{min(step + 1, 68 - count * step):.2f}",
            }
            shade = {"y": "1.5", "height": "11", "fill": f"#{red:02x}{green:02x}{blue:02x}"}
            bar.append(element("rect", {**place, **shade}))
        yield bar
    edge = {"fill": "none", "stroke": light("line"), "class": "s-line"}
    yield element("path", {"d": f"M{left:g} 1.5H{left + 68.3:g}V12.5H{left:g}Z", **edge})
    yield element("text", {**words, "x": f"{left + 72:g}"}, key.ends[1])
