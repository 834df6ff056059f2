"""Tables as data: named columns, rows of words, numbers and intervals, published beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recombine.stats import Interval

Value = str | int | float | Interval | None


@dataclass(frozen=True)
class Table:
    """What is tabulated, what it shows, and where the paper has its own."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    where: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.id}: {len(row)} cells for {self.columns}")

    def plain(self) -> dict[str, Any]:
        """The table as plain JSON values."""
        return {
            "id": self.id,
            "title": self.title,
            "where": self.where,
            "note": self.note,
            "columns": list(self.columns),
            "rows": [[plain(value) for value in row] for row in self.rows],
        }


def plain(value: Value) -> Any:
    """A cell as plain JSON; an undefined number is null."""
    if isinstance(value, Interval):
        parts = {"estimate": value.estimate, "low": value.low, "high": value.high}
        return {**{k: plain(v) for k, v in parts.items()}, "n": value.n, "level": value.level}
    if isinstance(value, float) and value != value:
        return None
    return value
