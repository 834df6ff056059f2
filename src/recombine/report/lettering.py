"""How wide words come out, and where to break them, by the metrics of a font we always have.

Figures keep their text as text, set in whatever the reader's system uses. DejaVu Sans, which
comes with matplotlib, is wider than those, so what fits by its measure fits on the page.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

FAMILY = "DejaVu Sans"
STACK = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


@contextmanager
def any_letters() -> Iterator[None]:
    """Without complaint about letters our font lacks: the reader's has them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


@lru_cache(maxsize=4096)
def width(text: str, size: float, *, bold: bool = False) -> float:
    """Pixels a line of text takes."""
    font = FontProperties(family=FAMILY, size=size, weight="bold" if bold else "normal")
    with any_letters():
        measured, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(measured)


def broken(text: str, size: float, room: float, *, bold: bool = False) -> list[str]:
    """The text in lines no wider than the room, broken between words only."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size, bold=bold) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float) -> str:
    """A number beside a tick: as short as it can be said."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.6g}".replace("-", "−")
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    raised = str(int(exponent)).translate(_RAISED)
    factor = f"{float(mantissa):g}"
    text = f"10{raised}" if factor == "1" else f"{factor}·10{raised}"
    return text.replace("-", "−")
