"""`recombine audit`: what can be learned from a table and its split, before training anything."""

from __future__ import annotations

import json
import shlex
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from rich.progress import Progress
from rich.text import Text

from recombine.auditing import KINDS, Audit, Finding, audit
from recombine.auditing.audit import STEPS
from recombine.auditing.drawn import figures
from recombine.auditing.shown import tables
from recombine.commands import terminal
from recombine.errors import UnknownName, UsageError
from recombine.report import Document, Item, publish
from recombine.report.cells import words

PATIENCE = 2.0
"""Seconds after which steps are told where there is no terminal to draw a bar in."""
COLOURS = {"problem": "red", "caution": "yellow", "note": "dim"}
MOST_ROWS = 8


def run(call: Namespace) -> int:
    """Audit, show, and say by the exit code if something that was asked for was found."""
    kinds = [kind.strip() for each in call.fail_on for kind in each.split(",")]
    for kind in kinds:
        if kind != "any" and kind not in KINDS:
            raise UnknownName("finding", kind, [*KINDS, "any"], where="--fail-on")
    progress, told = _progress(silent=call.json)
    with progress:
        done = audit(
            call.table,
            factors=call.factors,
            label=call.label,
            split=call.split,
            train=call.train,
            test=call.test,
            labels=call.labels,
            missing=call.missing,
            order=call.order,
            seed=call.seed,
            predictions=not call.no_predictions,
            progress=told,
        )
    page = _publish(done, Path(call.out)) if call.out else None
    failed = done.failures(kinds)
    if call.json:
        said = {"failed": [each.kind for each in failed], "page": str(page) if page else None}
        terminal.print_json({**done.plain(), **said})
    else:
        _show(done, failed, page)
    return 1 if failed else 0


def _progress(*, silent: bool) -> tuple[Progress, Callable[[str], None]]:
    """A bar where there is a terminal; else a line a step, once it takes long."""
    progress, move = terminal.counter("audit", silent=silent)
    start = time.monotonic()

    def told(step: str) -> None:
        move(STEPS.index(step), len(STEPS))
        if not silent and progress.disable and time.monotonic() - start > PATIENCE:
            print(f"audit: {step} …", file=sys.stderr)

    return progress, told


def _show(done: Audit, failed: tuple[Finding, ...], page: Path | None) -> None:
    out = terminal.console()
    out.print(Text(done.summary))
    for note in (*done.table.notes, *done.sampled):
        out.print(Text(f"Note: {note}", style="dim"))
    for finding in done.findings:
        mark = Text(f"\n{finding.weight} ", style=COLOURS[finding.weight])
        out.print(mark + Text(finding.kind, style="bold") + Text(f": {finding.text}"))
        for row in finding.rows[:MOST_ROWS]:
            out.print(Text(f"   {_row(row)}"), soft_wrap=True)
        if len(finding.rows) > MOST_ROWS:
            more = len(finding.rows) - MOST_ROWS
            out.print(Text(f"   … {more} more in --json and --out", style="dim"))
        out.print(Text(f"   → {finding.advice}", style="dim"))
    out.print()
    for table in tables(done):
        cells = [[words(value) for value in row] for row in table.rows]
        out.print(terminal.table(table.title, table.columns, cells))
        out.print(Text(table.note, style="dim"))
    if page is not None:
        out.print(f"Page: [bold]{page}[/]", soft_wrap=True)
    if failed:
        kinds = ", ".join(dict.fromkeys(each.kind for each in failed))
        out.print(Text(f"failed: {kinds} (--fail-on)", style="red"))


def _row(row: object) -> str:
    """An example row in one line."""
    assert isinstance(row, dict)
    factors = ", ".join(f"{name} = {value}" for name, value in row["factors"].items())
    clash = f"clash {row['clash']}: " if "clash" in row else ""
    return f"{clash}row {row['row']}: {factors} → {row['label']}"


def _publish(done: Audit, folder: Path) -> Path:
    document = Document(
        title=f"Audit of {done.table.name}",
        lead=tuple(done.summary.splitlines()),
        items=tuple(
            Item(each.kind, each.weight, each.text, each.advice, tuple(map(_row, each.rows)))
            for each in done.findings
        ),
        paragraphs=(*done.table.notes, *done.sampled),
        tables=tables(done),
        figures=figures(done),
        made_by=shlex.join(["recombine", *sys.argv[1:]]),
    )
    text = json.dumps(done.plain(), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        files = {"audit.json": text + "\n", "rows.csv": done.rows().write_csv()}
        return publish(folder, document, files=files)
    except OSError as error:
        # 1 says that a finding was made
        raise UsageError(f"cannot write --out {folder}: {error.strerror}") from error
