"""Level lines of maps, as the pieces of polyline that both the drawing and its data use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

import contourpy
import numpy as np
import numpy.typing as npt

from recombine.studies.figure import Contours

Polyline: TypeAlias = npt.NDArray[np.float64]
"""Points of one unbroken piece: rows of (x, y)."""


def grid(
    extent: tuple[float, float, float, float], rows: int, columns: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Where a map was measured: its outermost points lie on the edges of the extent."""
    left, right, bottom, top = extent
    return np.linspace(left, right, columns), np.linspace(bottom, top, rows)


def level_lines(mark: Contours) -> Iterator[tuple[int, list[Polyline]]]:
    """The number of each map and the pieces of its level line: none where it never crosses."""
    _, rows, columns = mark.values.shape
    x, y = grid(mark.extent, rows, columns)
    if min(rows, columns) < 2:
        return
    for number, values in enumerate(mark.values):
        masked = np.ma.masked_invalid(np.asarray(values, dtype=np.float64))
        # The type of `lines` follows the line type, which is separate pieces unless asked.
        found = contourpy.contour_generator(x, y, masked).lines(mark.level)
        yield number, cast(list[Polyline], found)
