"""`recombine status`: what is done, missing, begun, failed and stale.

Without options it says how far everything is that was ever asked of this store, from the store
alone: torch is not imported, and the answer comes at once. With options it says how far that very
request would be, which takes the studies themselves.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Container, Sequence
from pathlib import Path

from rich.markup import escape

from recombine import catalog
from recombine.commands import terminal
from recombine.engine import Standing, standing
from recombine.runs import Asked, Store, notes


def run(call: Namespace) -> int:
    """Print how far each cell is; of failures, the last line of the traceback."""
    asked = _asked(call)
    with Store.look(call.store) as store:
        rows = standing(asked, store)
        failures = _failures(rows, store)
        known = {row.key for row in rows}
        counts = store.index.counts()
        others = {key: sum(n.values()) for key, n in counts.items() if key not in known}
    if call.json:
        cells = [_plain(row) for row in rows]
        terminal.print_json({"cells": cells, "failures": failures, "other": others})
        return 0
    _print(call, rows, failures, others)
    return 0


def _asked(call: Namespace) -> list[Asked]:
    """What to report on: the request that the options make, or what was asked of this store."""
    if call.set or any(given is not None for given in (call.scale, call.seeds, call.profile)):
        return _request(call)
    remembered = notes(Path(call.store))
    if not call.studies:
        return remembered
    found = [asked for asked in remembered if _named(asked, call.studies)]
    # a name that nothing was asked of may be wrong: the studies know
    unknown = [name for name in call.studies if not any(_named(a, [name]) for a in found)]
    return found if not unknown else [*found, *_request(call, unknown)]


def _named(asked: Asked, names: Sequence[str]) -> bool:
    """Whether a request is of one of these studies or parts."""
    return any(asked.name == name or asked.name.startswith(f"{name}/") for name in names)


def _request(call: Namespace, names: Sequence[str] | None = None) -> list[Asked]:
    from recombine.conduct import requests  # imports the studies, and torch with them

    asked = requests(
        call.studies if names is None else names,
        scale="quick" if call.scale is None else call.scale,
        profile=call.profile,
        seeds=call.seeds,
        settings=call.set,
    )
    return [request.asked() for request in asked]


def _print(
    call: Namespace, rows: Sequence[Standing], failures: dict[str, str], others: dict[str, int]
) -> None:
    out = terminal.console()
    columns = ("cell", "done", "missing", "failed", "stale?", "key")
    begun = dict.fromkeys(
        row.request.command for row in rows if row.done or row.begun or row.failed
    )
    if begun:
        out.print(f"store {call.store}", markup=False, soft_wrap=True)
    for command in begun:
        shown = [_row(row) for row in rows if row.request.command == command]
        out.print(command, style="bold", markup=False, soft_wrap=True)
        out.print(terminal.table("", columns, shown))
    for command in _not_begun(call, rows, begun):
        out.print(f"not begun: [bold]{escape(command)}[/]", soft_wrap=True)
    for run_name, error in failures.items():
        last = error.strip().splitlines()[-1]
        out.print(f"[red]failed[/] {escape(run_name)}: {escape(last)}")
    if others:
        out.print(
            f"{sum(others.values())} runs of {len(others)} other cells (other settings, or "
            "brought from elsewhere: 'recombine status --scale paper' compares with the studies)",
            soft_wrap=True,
        )
    if any(row.begun for row in rows):
        out.print("begun: jobs that have a checkpoint; the same command continues them")
    if any(row.stale for row in rows):
        out.print("stale?: made by another version of the source; the numbers may have moved")


def _not_begun(call: Namespace, rows: Sequence[Standing], begun: Container[str]) -> list[str]:
    """What to type for all that is not begun: requests, and studies never asked for."""
    waiting = dict.fromkeys(row.request.command for row in rows)
    commands = [command for command in waiting if command not in begun]
    studies = {row.request.name.partition("/")[0] for row in rows}
    if not call.studies:
        never = [name for name in catalog.names("studies") if name not in studies]
        commands += [f"recombine reproduce {name}" for name in never]
    return commands


def _row(row: Standing) -> tuple[object, ...]:
    missing = f"{row.missing} ({row.begun} begun)" if row.begun else row.missing
    return row.cell, row.done, missing, row.failed or None, row.stale or None, row.key[:8]


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
        "begun": row.begun,
        "failed": row.failed,
        "stale": row.stale,
    }


def _failures(rows: Sequence[Standing], store: Store) -> dict[str, str]:
    """The traceback of one failed seed a cell: the others of a stack failed with it."""
    found = {}
    for row in rows:
        failed = [seed for seed, state in store.has(row.key).items() if state == "failed"]
        if failed:
            record, _ = store.get(row.key, min(failed))
            found[f"{row.request.name} {row.cell} ({len(failed)} seeds)"] = record.error or ""
    return found
