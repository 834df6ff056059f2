"""`recombine status`: what is done, missing, failed and stale."""

from __future__ import annotations

from argparse import Namespace

from rich.markup import escape

from recombine.commands import terminal
from recombine.conduct import Standing, everything, requests, standing
from recombine.runs import Store


def run(call: Namespace) -> int:
    """Print how far each cell is; of failures, the last line of the traceback."""
    if call.set or any(given is not None for given in (call.scale, call.seeds, call.profile)):
        asked = requests(
            call.studies,
            scale="quick" if call.scale is None else call.scale,
            profile=call.profile,
            seeds=call.seeds,
            settings=call.set,
        )
    else:
        asked = everything(call.studies)
    with Store.open(call.store) as store:
        rows = standing(asked, store)
        failures = _failures(rows, store)
        known = {row.key for row in rows}
        counts = store.index.counts()
        others = {key: sum(n.values()) for key, n in counts.items() if key not in known}
    if call.json:
        cells = [_plain(row) for row in rows]
        terminal.print_json({"cells": cells, "failures": failures, "other": others})
        return 0
    out = terminal.console()
    columns = ("part", "scale", "profile", "cell", "done", "missing", "failed", "stale?", "key")
    begun = {row.request.command for row in rows if row.done or row.failed}
    shown = [_row(row) for row in rows if row.request.command in begun]
    if shown:
        out.print(terminal.table(f"store {call.store}", columns, shown))
    for command in dict.fromkeys(row.request.command for row in rows):
        if command not in begun:
            out.print(f"not begun: [bold]{command}[/]", soft_wrap=True)
    for run_name, error in failures.items():
        out.print(f"[red]failed[/] {run_name}: {escape(error.strip().splitlines()[-1])}")
    if others:
        out.print(f"{sum(others.values())} runs of {len(others)} other cells (other settings)")
    if any(row.stale for row in rows):
        out.print("stale?: made by another version of the source; the numbers may have moved")
    return 0


def _row(row: Standing) -> tuple[object, ...]:
    request = row.request
    places = (request.name, request.scale, request.profile, row.cell)
    return (*places, row.done, row.missing, row.failed or None, row.stale or None, row.key[:8])


def _plain(row: Standing) -> dict[str, object]:
    request = row.request
    return {
        "part": request.name,
        "scale": request.scale,
        "profile": request.profile,
        "cell": row.cell,
        "key": row.key,
        "done": row.done,
        "missing": row.missing,
        "failed": row.failed,
        "stale": row.stale,
    }


def _failures(rows: list[Standing], store: Store) -> dict[str, str]:
    """The traceback of one failed seed a cell: the others of a stack failed with it."""
    found = {}
    for row in rows:
        failed = [seed for seed, state in store.has(row.key).items() if state == "failed"]
        if failed:
            record, _ = store.get(row.key, min(failed))
            found[f"{row.request.name} {row.cell} ({len(failed)} seeds)"] = record.error or ""
    return found
