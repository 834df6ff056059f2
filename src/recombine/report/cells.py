"""How a value of a table or a verdict is said in words, the same in a page and in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from recombine.stats import Interval
from recombine.studies.table import Value

NOTHING = "—"
SYMBOLS = {"reproduced": "✓", "contradicted": "✗", "inconclusive": "?"}


def words(value: Value) -> str:
    """A value in one line; what is undefined is a dash."""
    if isinstance(value, Interval):
        estimate, bounds = interval_words(value)
        return f"{estimate} {bounds}".strip()
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return _signed(f"{value:,}")
    if not math.isfinite(value):
        return _unbounded(value)
    return _signed(f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}")


def interval_words(interval: Interval) -> tuple[str, str]:
    """The estimate, and its bounds in brackets: nothing where one value gives none."""
    if math.isnan(interval.estimate):
        return NOTHING, ""
    if not math.isfinite(interval.estimate):
        return _unbounded(interval.estimate), ""
    estimate, _, bounds = interval.text().partition(" ")
    return _signed(estimate), "" if math.isnan(interval.low) else _signed(bounds)


def revived(value: Any) -> Value:
    """A cell of a ledger as the value it was written from."""
    if isinstance(value, Mapping):
        estimate, low, high = (_number(value.get(k)) for k in ("estimate", "low", "high"))
        return Interval(estimate, low, high, value.get("level") or 0.95, value.get("n") or 0, "")
    return value if isinstance(value, str | int | float) else None


def numeric(value: Value) -> bool:
    """Whether a cell is set as a number."""
    return isinstance(value, int | float | Interval)


def in_common(values: Iterable[Value], note: str) -> tuple[str, bool]:
    """What all intervals of a table share, and whether n differs, so that each must say it.

    A level that the table's own note gives is not said again.
    """
    intervals = [value for value in values if isinstance(value, Interval)]
    ns = {i.n for i in intervals}
    levels = {level_words(i.level) for i in intervals if not math.isnan(i.low)}
    said = [f"{level} intervals" for level in levels if len(levels) == 1 and level not in note]
    said += [f"n = {n:,}" for n in ns if len(ns) == 1]
    return (", ".join(said) + "." if said else ""), len(ns) > 1


def level_words(level: float) -> str:
    """`95%`, or `98.75%` where claims share an error rate."""
    return f"{level * 100:.4g}%"


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _signed(text: str) -> str:
    """With a true minus sign, as wide as the digits are."""
    return text.replace("-", "−")


def _unbounded(value: float) -> str:
    return NOTHING if math.isnan(value) else "∞" if value > 0 else "−∞"
