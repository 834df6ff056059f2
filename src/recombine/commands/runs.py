"""`recombine runs`: move finished records between machines, and check what is stored."""

from __future__ import annotations

from argparse import Namespace

from recombine.commands import terminal
from recombine.conduct import everything
from recombine.runs import Store, export, load
from recombine.runs.transfer import check_target
from recombine.spec import key_of


def run(call: Namespace) -> int:
    """Do the one thing that was asked."""
    actions = {"export": _export, "import": _import, "verify": _verify}
    return actions[call.action](call)


def _export(call: Namespace) -> int:
    check_target(call.path)
    keys = None
    if call.study:
        cells = [n.cell for r in everything(call.study) for n in r.needs().values()]
        keys = {key_of(cell) for cell in cells}
    with Store.open(call.store, create=False) as store:
        count = export(store, call.path, keys)
    _tell(call, {"path": call.path, "exported": count}, f"{count} finished runs → {call.path}")
    return 0


def _import(call: Namespace) -> int:
    with Store.open(call.store) as store:
        moved = load(store, call.path)
    refused = [f"line {number}: {why}" for number, why in moved.refused]
    _tell(
        call,
        {"added": moved.added, "already_there": moved.already_there, "refused": refused},
        f"{moved.added} runs added, {moved.already_there} were there already"
        + "".join(f"\nrefused: {each}" for each in refused),
    )
    return 1 if refused else 0


def _verify(call: Namespace) -> int:
    progress, move = terminal.counter("verify", silent=call.json)
    with Store.open(call.store, create=False) as store, progress:
        damaged = store.verify(move)
        for place, _ in damaged if call.redo else ():
            store.set_aside(place.parent.name, int(place.name))
    lines = [f"damaged: {place} ({reason})" for place, reason in damaged]
    if damaged and call.redo:
        lines.append("set aside in damaged/: the same reproduce command makes them again")
    elif damaged:
        lines.append("'recombine runs verify --redo' sets them aside to be made again")
    else:
        lines.append("every run is whole")
    plain = [{"path": str(place), "reason": reason} for place, reason in damaged]
    _tell(call, {"damaged": plain, "set_aside": bool(call.redo)}, "\n".join(lines))
    return 1 if damaged and not call.redo else 0


def _tell(call: Namespace, value: dict[str, object], words: str) -> None:
    if call.json:
        terminal.print_json(value)
    else:
        terminal.console().print(words, soft_wrap=True, markup=False)
