"""The numbers behind a figure or a table, as tidy CSV: one row a number, plain and complete.

A figure's columns: `x` and `y` place a mark, `low` and `high` bound an interval of y, `x_end`
closes a bin that x opens, `value` is what a map holds at (x, y), `name` names a bar, and `series`
numbers the maps of many contours (a piece of a level line is `map.piece`). A histogram gives its
shares (`histogram`) and then the values they count (`histogram value`). A heat map gives each cell
by column (x) and row (y). A network gives its nodes, numbered by `series`, and its edges from
`series` to `name` with their weight (`value`).
"""

from __future__ import annotations

import csv as writer
import io
import math
from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from recombine.report.levels import grid, level_lines
from recombine.report.marks import shares
from recombine.stats import Interval
from recombine.studies import Figure, Table
from recombine.studies.figure import (
    Bars,
    Contours,
    Heat,
    Histogram,
    Line,
    Map,
    Mark,
    Network,
    Points,
    Rule,
)

Row: TypeAlias = dict[str, object]
COLUMNS = (
    "panel", "panel_title", "mark", "kind", "label", "series", "name",
    "x", "x_end", "y", "low", "high", "value",
)  # fmt: skip


def csv(figure: Figure) -> str:
    """All numbers behind a figure."""
    rows = (
        {
            "panel": p,
            "panel_title": panel.title,
            "mark": m,
            "label": getattr(mark, "label", ""),
            **row,
        }
        for p, panel in enumerate(figure.panels, start=1)
        for m, mark in enumerate(panel.marks, start=1)
        for row in _rows(mark)
    )
    return _written(COLUMNS, ([row.get(column) for column in COLUMNS] for row in rows))


def table_csv(table: Table) -> str:
    """A table; a column with intervals is followed by their bounds and the n they rest on."""
    spread = [
        any(isinstance(row[i], Interval) for row in table.rows) for i in range(len(table.columns))
    ]
    header: list[str] = []
    for column, wide in zip(table.columns, spread, strict=True):
        header += [column, f"{column} low", f"{column} high", f"{column} n"] if wide else [column]
    rows: list[list[object]] = []
    for row in table.rows:
        cells: list[object] = []
        for value, wide in zip(row, spread, strict=True):
            if isinstance(value, Interval):
                cells += [value.estimate, value.low, value.high, value.n]
            else:
                cells += [value, None, None, None] if wide else [value]
        rows.append(cells)
    return _written(header, rows)


def strict(value: Any) -> Any:
    """JSON has no infinity: such a number becomes its name, and an undefined one null."""
    if isinstance(value, dict):
        return {key: strict(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [strict(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _written(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    out = writer.writer(text, lineterminator="\n")
    out.writerow(header)
    out.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    """Nine digits are more than any measurement here has; what is undefined is empty."""
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else f"{value:.9g}"
    return "" if value is None else value


@singledispatch
def _rows(mark: Mark) -> Iterator[Row]:
    raise TypeError(f"no data for {type(mark).__name__}")


@_rows.register
def _(mark: Points) -> Iterator[Row]:
    kind = "hollow point" if mark.hollow else "point"
    for x, y in zip(mark.x, mark.y, strict=True):
        yield {"kind": kind, "x": float(x), "y": float(y)}


@_rows.register
def _(mark: Line) -> Iterator[Row]:
    for i, (x, y) in enumerate(zip(mark.x, mark.y, strict=True)):
        row: Row = {"kind": "line", "x": float(x), "y": float(y)}
        if mark.low is not None and mark.high is not None:
            row |= {"low": float(mark.low[i]), "high": float(mark.high[i])}
        yield row


@_rows.register
def _(mark: Histogram) -> Iterator[Row]:
    for left, right, share in zip(mark.bins[:-1], mark.bins[1:], shares(mark), strict=True):
        yield {"kind": "histogram", "x": float(left), "x_end": float(right), "y": float(share)}
    for value in mark.values:
        yield {"kind": "histogram value", "x": float(value)}


@_rows.register
def _(mark: Map) -> Iterator[Row]:
    across, up = grid(mark.extent, *mark.values.shape)
    for y, line in zip(up, mark.values, strict=True):
        for x, value in zip(across, line, strict=True):
            yield {"kind": "map", "x": float(x), "y": float(y), "value": float(value)}


@_rows.register
def _(mark: Heat) -> Iterator[Row]:
    top, left = mark.counted_from
    for y, line in enumerate(mark.values, top):
        for x, value in enumerate(line, left):
            yield {"kind": "heat", "x": x, "y": y, "value": float(value)}


@_rows.register
def _(mark: Network) -> Iterator[Row]:
    for node, (x, y) in enumerate(mark.places):
        yield {"kind": "node", "series": node, "x": float(x), "y": float(y)}
    for (a, b), weight in zip(mark.edges, mark.weights, strict=True):
        yield {"kind": "edge", "series": int(a), "name": int(b), "value": float(weight)}


@_rows.register
def _(mark: Contours) -> Iterator[Row]:
    # The lines, not the maps: a thousand maps would be a million rows nobody drew.
    for number, pieces in level_lines(mark):
        for count, piece in enumerate(pieces, start=1):
            for x, y in piece:
                series = f"{number + 1}.{count}"
                yield {"kind": "contour", "series": series, "x": x, "y": y, "value": mark.level}


@_rows.register
def _(mark: Bars) -> Iterator[Row]:
    for name, y, low, high in zip(mark.names, mark.y, mark.low, mark.high, strict=True):
        yield {"kind": "bar", "name": name, "y": float(y), "low": float(low), "high": float(high)}


@_rows.register
def _(mark: Rule) -> Iterator[Row]:
    yield {"kind": "rule", mark.along: float(mark.at)}
