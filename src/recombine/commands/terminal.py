"""How things look in a terminal: tables, verdicts, JSON, and progress that says how far it is."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable
from rich.text import Text

VERDICT_STYLES = {"reproduced": "green", "contradicted": "red", "inconclusive": "yellow"}


class Quiet(Console):
    """A console that falls silent when its reader leaves: the command goes on to its own end."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        leave(self.file)


def leave(stream: IO[str]) -> None:
    """Give up an output, or Python would complain of it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def console(*, errors: bool = False) -> Console:
    """Standard output (or error) as a console; wide enough for a table when it is no terminal."""
    stream = sys.stderr if errors else sys.stdout
    return Quiet(file=stream, width=None if stream.isatty() else 120, highlight=False)


def print_json(value: Any) -> None:
    """One JSON object and nothing else; letters that the output cannot hold are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    escaped = codecs.lookup(encoding).name != "utf-8"
    text = json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False)
    try:
        print(text, flush=True)
    except BrokenPipeError:  # whoever read it has seen enough; the exit code is the command's own
        leave(sys.stdout)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> RichTable:
    """A plain table; cells are shown as text."""
    # letter by letter: a title may hold a path
    named = Text(title, style="bold") if title else None
    drawn = RichTable(title=named, title_justify="left", pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*(_shown(cell) for cell in row))
    return drawn


def _shown(cell: object) -> Text:
    """A cell letter by letter: `[no interval]` is no markup."""
    return cell if isinstance(cell, Text) else Text("" if cell is None else str(cell))


def verdict(outcome: str) -> Text:
    """A verdict in its colour."""
    return Text(outcome, style=VERDICT_STYLES[outcome])


def bars(*, silent: bool = False) -> Progress:
    """Progress bars on standard error."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console(errors=True),
        disable=silent or not sys.stderr.isatty(),
        transient=True,
    )


def counter(title: str, *, silent: bool = False) -> tuple[Progress, Callable[[int, int], None]]:
    """One bar, and the function that moves it to (done, total)."""
    progress = bars(silent=silent)
    task = progress.add_task(title, total=None)
    return progress, lambda done, total: progress.update(task, completed=done, total=total)
