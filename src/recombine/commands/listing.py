"""`recombine list`: what there is to choose from, one line each."""

from __future__ import annotations

from argparse import Namespace

from recombine import catalog
from recombine.commands import terminal
from recombine.errors import UnknownName


def run(call: Namespace) -> int:
    """Print every name of the asked kinds, without importing any component."""
    if call.kind is not None and call.kind not in catalog.KINDS:
        raise UnknownName("kind", call.kind, catalog.KINDS)
    kinds = (call.kind,) if call.kind else catalog.KINDS
    found = {k: {n: catalog.summary(k, n) for n in catalog.names(k)} for k in kinds}
    if call.json:
        terminal.print_json(found)
        return 0
    for kind, entries in found.items():
        terminal.console().print(terminal.table(kind, ("name", "what it is"), entries.items()))
    return 0
