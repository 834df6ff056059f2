"""`recombine data`: sets of images: what there is, fetch them, verify them."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from recombine import data
from recombine.commands import terminal
from recombine.errors import NoSource, UsageError


def run(call: Namespace) -> int:
    """Do the one thing that was asked, for the sets that were named."""
    wanted = [data.find(name) for name in call.names or data.SETS]
    return {"list": _list, "get": _get, "verify": _verify}[call.action](call, wanted)


def _list(call: Namespace, wanted: list[data.DataSet]) -> int:
    found: list[dict[str, Any]] = [
        {
            "name": each.name,
            "what": each.summary,
            "train": each.counts["train"],
            "test": each.counts["test"],
            "image": list(each.image),
            "licence": each.licence,
            "state": data.state(each, call.data),
            "sources": [source.title for source in each.sources],
        }
        for each in wanted
    ]
    where = str(data.directory(call.data))
    if call.json:
        terminal.print_json({"directory": where, "sets": found})
        return 0
    columns = ("name", "what it is", "train", "test", "image", "licence", "state")
    rows = [
        (*(row[c] for c in ("name", "what")), f"{row['train']:,}", f"{row['test']:,}",
         " × ".join(map(str, row["image"])), row["licence"], row["state"])
        for row in found
    ]  # fmt: skip
    terminal.console().print(terminal.table(f"data in {where}", columns, rows))
    return 0


def _get(call: Namespace, wanted: list[data.DataSet]) -> int:
    for folder in call.folders:
        if not Path(folder).is_dir():
            raise UsageError(f"--from {folder}: there is no such folder; nothing was fetched")
    notes = terminal.console(errors=True)
    origins: dict[str, str] = {}
    problems: dict[str, str] = {}
    for each in wanted:
        try:
            origins[each.name] = data.get(
                each,
                call.data,
                folders=call.folders,
                tell=lambda line: notes.print(line, style="dim", markup=False, soft_wrap=True),
            )
        except NoSource as reason:  # the others are still fetched
            problems[each.name] = str(reason)
    if call.json:
        where = str(data.directory(call.data))
        terminal.print_json({"directory": where, "from": origins, "failed": problems})
    for name, origin in origins.items() if not call.json else ():
        words = f"fetched from {origin}" if origin else "was there already"
        terminal.console().print(f"{name}: {words}, verified", markup=False, soft_wrap=True)
    for problem in problems.values():
        notes.print(f"recombine: {problem}", markup=False, soft_wrap=True)
    return 1 if problems else 0


def _verify(call: Namespace, wanted: list[data.DataSet]) -> int:
    """Sets that are wholly absent are no damage, unless they were asked for by name."""
    found: dict[str, dict[str, str]] = {}
    absent = []
    for each in wanted:
        if data.state(each, call.data) == "absent":
            absent.append(each.name)
        else:
            found[each.name] = data.verify(each, call.data)
    if call.json:
        where = str(data.directory(call.data))
        terminal.print_json({"directory": where, "damaged": found, "absent": absent})
    else:
        out = terminal.console()
        for name, problems in found.items():
            out.print(f"{name}: {'damaged' if problems else 'whole'}")
            for file, problem in problems.items():
                out.print(f"  {file}: {problem}", markup=False, soft_wrap=True)
            if problems:
                out.print(f"  'recombine data get {name}' fetches what is wrong anew")
        for name in absent:
            out.print(f"{name}: absent; 'recombine data get {name}' fetches it")
    return 1 if any(found.values()) or (call.names and absent) else 0
