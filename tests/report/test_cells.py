"""Values in words."""

from __future__ import annotations

import math

import pytest

from recombine.report.cells import revived, words
from recombine.report.lettering import broken, number, width
from recombine.stats import Interval
from recombine.studies.table import Value, plain


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "—"),
        (math.nan, "—"),
        (-math.inf, "−∞"),
        (12345, "12,345"),
        (-0.25, "−0.25"),
        (123456.0, "123,456"),
        ("as it is", "as it is"),
        (Interval(-0.5, -0.75, -0.25, 0.95, 9, ""), "−0.500 [−0.750, −0.250]"),
        (Interval(0.5, math.nan, math.nan, 0.95, 1, ""), "0.500"),
        (Interval(math.nan, math.nan, math.nan, 0.95, 1, ""), "—"),
    ],
)
def test_words(value: Value, said: str) -> None:
    assert words(value) == said


def test_a_ledger_gives_back_what_was_written() -> None:
    interval = Interval(0.5, 0.25, 0.75, 0.99, 30, "")
    assert revived(plain(interval)) == interval
    assert revived(None) is None and revived("x") == "x"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"),
        (0.25, "0.25"),
        (-2.0, "−2"),
        (10_000.0, "10,000"),
        (1e6, "10⁶"),
        (1e-4, "10⁻⁴"),
        (-2.5e-9, "−2.5·10⁻⁹"),
    ],
)
def test_numbers_beside_ticks(value: float, said: str) -> None:
    assert number(value) == said


def test_lines_break_between_words_where_the_room_ends() -> None:
    lines = broken("one two three four", 12.0, width("one two", 12.0))
    assert lines == ["one two", "three", "four"]
    assert broken("", 12.0, 100.0) == []
