"""Tables as they come: names that look odd, durations, frames of pandas."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from factor_tables import SUM, XOR, audited
from recombine.auditing.source import open_table
from recombine.errors import UsageError


def test_a_name_may_look_like_one_of_polars(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("is_duplicated_row,a,a_duplicated_0\n1,2,3\n")
    assert open_table(path).frame.columns == ["is_duplicated_row", "a", "a_duplicated_0"]
    path.write_text('b, a ,"a"\n1,2,3\n')
    with pytest.raises(UsageError, match="more than one column 'a'"):
        open_table(path)


def test_durations_are_values(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({**XOR, "a": [timedelta(hours=a) for a in XOR["a"]]}).write_parquet(path)
    assert audited(path).table.values[0] == ("0µs", "1h", "2h", "3h")


def test_what_pandas_writes_for_nothing_is_missing() -> None:
    pd = pytest.importorskip("pandas")
    days = pd.to_datetime(["2024-01-01", None] * 8)
    frame = pd.DataFrame({**XOR, "a": days, "b": pd.array([None, *[1, 2, 3] * 5], dtype="Int64")})
    assert audited(frame, missing="keep").table.missing == {"a": 8, "b": 1}


@pytest.mark.parametrize("kind", ["pandas", "mapping"])
def test_two_columns_of_one_name_are_refused(kind: str) -> None:
    table: Any = {**SUM, 1: SUM["a"], "1": SUM["b"]}
    if kind == "pandas":
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame(np.ones((3, 3)), columns=["a", "a", "y"])
    with pytest.raises(UsageError, match="more than one column"):
        audited(table)
