"""`recombine report`: write the report, and on request the ledger, from what the store has."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from rich.markup import escape

from recombine import ledger
from recombine.commands import terminal
from recombine.conduct import answer, everything, requests, setting, worth_showing
from recombine.errors import DamagedRun, RecombineError
from recombine.report import write
from recombine.runs import Store


def run(call: Namespace) -> int:
    """Write a page a study, from every scale and profile the store can answer."""
    requests(call.studies, profile=call.profile, settings=call.set)  # refuses what is wrong
    if call.ledger:
        ledger.read(Path(call.ledger))  # and so does this
    asked = [
        replace(r, settings=tuple(setting(text) for text in call.set))
        for r in everything(call.studies)
        if call.profile in (None, r.profile)
    ]
    findings, left_out = [], []
    progress, move = terminal.counter("report", silent=call.json)
    with Store.look(call.store) as store, progress:
        ready = worth_showing(asked, store)
        for done, request in enumerate(ready):
            move(done, len(ready))
            try:
                findings.append(answer(request, store, available=True).finding)
            except DamagedRun:
                raise
            except RecombineError as error:  # too few seeds to judge, say: the others still count
                left_out.append(str(error))
    try:
        page = write(Path(call.out), findings)
        written = ledger.write(Path(call.ledger), findings) if call.ledger else []
    except OSError as error:
        raise RecombineError(f"cannot write {error.filename}: {error.strerror}") from error
    if call.json:
        paths = [str(path) for path in written]
        terminal.print_json({"report": str(page), "ledger": paths, "left_out": left_out})
        return 0
    out = terminal.console()
    out.print(f"Report of {len(findings)} results: [bold]{escape(str(page))}[/]", soft_wrap=True)
    for path in written:
        out.print(f"Ledger: {path}", soft_wrap=True, markup=False)
    for reason in left_out:
        out.print(f"left out: {reason}", soft_wrap=True, markup=False)
    if not findings:
        out.print(
            f"The store {escape(call.store)} has nothing of this yet: run [bold]recombine "
            "reproduce[/] first. What was made with --set is shown with the same --set.",
            soft_wrap=True,
        )
    return 0
