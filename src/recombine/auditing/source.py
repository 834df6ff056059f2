"""Opens what a user names: a CSV or Parquet file, columns in memory, or a task of the catalog."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recombine import catalog
from recombine.errors import UnknownName, UsageError
from recombine.tasks import Task

SAMPLE = 1 << 16
"""Bytes by which encoding and separator are told."""
SEPARATORS = ",;\t|"
PARQUET, GZIP = b"PAR1", b"\x1f\x8b"
MISSING = ("", "NA", "N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL")
"""Cells that say nothing; compared after blanks around them are taken away."""


@dataclass(frozen=True)
class Opened:
    """A table whose cells are text, and what had to be assumed to read it."""

    name: str
    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    """The factors of a task; empty for a table, whose user names them."""
    labels: tuple[str, ...] = ()
    """The outputs of a task."""
    split: str = ""
    """The split column of a task."""


def open_table(source: Any) -> Opened:
    """A path, the name of a task, a task, a data frame, or a mapping from names to columns."""
    if isinstance(source, Task):
        return _task(source)
    if isinstance(source, pl.DataFrame):
        return Opened("table", _named(source, "the table"))
    if isinstance(source, Mapping):
        return Opened("table", _named(_in_memory(source), "the table"))
    if hasattr(source, "columns") and hasattr(source, "to_dict"):  # a pandas data frame
        _once(source.columns, "the table")
        return Opened("table", _named(_in_memory(source.to_dict("list")), "the table"))
    if not isinstance(source, str | Path):
        kind = type(source).__name__
        raise UsageError(f"cannot audit a {kind}: give a path, a data frame, columns or a task")
    path = Path(source)
    if path.is_file():
        return _file(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a CSV or Parquet file in it")
    name = str(source).removeprefix("tasks/")
    if name in catalog.names("tasks"):
        return _task(catalog.find("tasks", name)())
    if path.suffix or len(path.parts) > 1:
        raise UsageError(f"no file {path}{_nearest(path)}")
    raise UnknownName("table or task", str(source), catalog.names("tasks"))


def column(frame: pl.DataFrame, name: str, where: str) -> pl.Series:
    """A column as text without blanks around it; what says nothing is null."""
    if name not in frame.columns:
        raise UnknownName("column", name, frame.columns, where=where)
    cells = frame.get_column(name)
    if cells.dtype.is_nested() or cells.dtype in (pl.Binary, pl.Object):
        raise UsageError(f"column '{name}' of {where} holds {cells.dtype}, not single values")
    if cells.dtype == pl.Duration:
        cells = cells.dt.to_string("polars")  # as in 1d 2h
    text = cells.cast(pl.String).str.strip_chars()
    return text.set(text.is_in(MISSING), None)


def _file(path: Path) -> Opened:
    try:
        with path.open("rb") as opened:
            start = opened.read(4)
        if start == PARQUET:
            return Opened(str(path), _named(pl.read_parquet(path, glob=False), str(path)))
        return _text(path, zipped=start[:2] == GZIP)
    except (pl.exceptions.PolarsError, UnicodeError, csv.Error) as error:
        first = str(error).strip().split("\n")[0]
        raise UsageError(f"{path} cannot be read as CSV or Parquet: {first}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} is cut off or damaged: {error}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error


def _text(path: Path, *, zipped: bool) -> Opened:
    with gzip.open(path) if zipped else path.open("rb") as opened:
        sample = opened.read(SAMPLE)
        if not sample.removeprefix(codecs.BOM_UTF8).strip():
            raise UsageError(f"{path} is empty: expected a header line and rows")
        if b"\x00" in sample:
            raise UsageError(f"{path} is neither text nor Parquet")
        notes, encoding = [], "utf-8"
        try:
            codecs.getincrementaldecoder(encoding)().decode(sample, len(sample) < SAMPLE)
        except UnicodeDecodeError:
            encoding = "cp1252"
            notes.append("not UTF-8: read as Windows-1252")
        source: Path | bytes = path
        if zipped or encoding != "utf-8" or b"\n" not in sample:
            source = _plain(sample + opened.read(), encoding)
    header, separator = _header(sample.decode(encoding, "replace"))
    if separator != ",":
        sign = "tabs" if separator == "\t" else repr(separator)
        notes.append(f"columns are separated by {sign}")
    _once(header, str(path))
    try:
        frame = pl.read_csv(source, separator=separator, infer_schema=False, glob=False)
    except pl.exceptions.ComputeError:
        _refuse_long_line(source, separator, str(path))
        raise
    named = _named(frame, str(path))
    if named.width > 1:  # a blank line is no row
        named = named.filter(~pl.all_horizontal(pl.all().is_null()))
    return Opened(str(path), named, tuple(notes))


def _plain(text: bytes, encoding: str) -> bytes:
    """Text in UTF-8 whose lines end as polars expects it."""
    if b"\n" not in text:
        text = text.replace(b"\r", b"\n")
    return text if encoding == "utf-8" else text.decode(encoding, "replace").encode()


def _header(sample: str) -> tuple[list[str], str]:
    """The names in the first line, and the sign that splits it, outside quotes, into most."""
    text = sample.lstrip("\ufeff").lstrip("\r\n")
    names = {
        sign: next(csv.reader(io.StringIO(text, newline=""), delimiter=sign)) for sign in SEPARATORS
    }
    sign = max(SEPARATORS, key=lambda sign: len(names[sign]))  # the first of equals: the comma
    return names[sign], sign


def _refuse_long_line(source: Path | bytes, separator: str, where: str) -> None:
    """Name the first line that has more cells than the header."""
    text = source.read_bytes() if isinstance(source, Path) else source
    lines = csv.reader(
        io.StringIO(text.decode("utf-8", "replace"), newline=""), delimiter=separator
    )
    header = next(lines)
    for cells in lines:
        if len(cells) > len(header):
            raise UsageError(
                f"{where} has {len(cells)} cells in line {lines.line_num} and {len(header)} in the "
                f"header: put quotes around a cell that holds {separator!r}, or name every column"
            )


def _once(names: Iterable[Any], where: str) -> None:
    """Two columns of one name are refused."""
    counts = Counter(str(name).strip().lstrip("\ufeff") for name in names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise UsageError(f"{where} has more than one column '{twice[0]}': rename one")


def _named(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Names without blanks around them, each once."""
    _once(frame.columns, where)
    if not frame.height:
        raise UsageError(f"{where} has a header but no rows")
    return frame.rename(lambda name: name.strip().lstrip("\ufeff"))


def _in_memory(columns: Mapping[Any, Iterable[Any]]) -> pl.DataFrame:
    """Columns of any values; cells are compared by how they are written."""
    _once(columns, "the table")
    made = {}
    for name, cells in columns.items():
        if isinstance(cells, str) or not isinstance(cells, Iterable):
            raise UsageError(f"column '{name}' is {cells!r}: give a list of cells, one a row")
        made[str(name)] = cells if isinstance(cells, pl.Series) else _series(list(cells))
    lengths = {name: len(cells) for name, cells in made.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"'{name}' {length}" for name, length in lengths.items())
        raise UsageError(f"columns of one table must be equally long, not {told}")
    return pl.DataFrame(made)


def _series(cells: Sequence[Any]) -> pl.Series:
    return pl.Series([None if cell is None else str(cell) for cell in cells], dtype=pl.String)


def _nearest(path: Path) -> str:
    folder = path.parent if path.parent.is_dir() else None
    names = [each.name for each in folder.iterdir() if each.is_file()] if folder else []
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.5)
    return f"; perhaps you meant '{path.with_name(close[0])}'" if close else ""


def _task(task: Task) -> Opened:
    """Every combination of every split of a task, once."""
    parts = {"train": task.combinations("train")}
    parts |= {name: rows for name, rows in task.splits().items() if name != "train"}
    columns: dict[str, list[str]] = {}
    for index, factor in enumerate(task.factors):
        columns[factor.name] = [
            factor.values[value] for rows in parts.values() for value in rows[:, index]
        ]
    factors = tuple(columns)
    outputs = [free(output.name, columns, "output") for output in task.outputs]
    for index, output in enumerate(outputs):
        columns[output] = [
            str(value) for rows in parts.values() for value in task.targets(rows)[:, index]
        ]
    split = free("split", columns, "output")
    columns[split] = [name for name, rows in parts.items() for _ in rows]
    frame = pl.DataFrame(columns)
    return Opened(f"tasks/{task.name}", frame, (), factors, tuple(outputs), split)


def free(name: str, taken: Mapping[str, object], what: str) -> str:
    """A column name that no other has: `Y1` as an output beside a factor is `Y1 (output)`."""
    while name in taken:
        name = f"{name} ({what})"
    return name
