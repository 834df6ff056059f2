"""`recombine bench`: measure speed, as ratios within one run."""

from __future__ import annotations

import importlib
from argparse import Namespace

from recombine.bench import BENCHMARKS
from recombine.commands import terminal
from recombine.engine import keep_memory
from recombine.errors import UnknownName


def run(call: Namespace) -> int:
    """Run the benchmarks one after another; exit code 1 if an aim was missed."""
    for name in call.names:
        if name not in BENCHMARKS:
            raise UnknownName("benchmark", name, BENCHMARKS)
    out, notes = terminal.console(), terminal.console(errors=True)
    keep_memory()  # as where runs are made; whatever we compare with has it too
    measured = {}
    for name in call.names or BENCHMARKS:
        notes.print(f"[dim]bench {name} …[/]")
        result = importlib.import_module(BENCHMARKS[name]).measure()
        measured[name] = result
        if not call.json:
            out.print(terminal.table(f"{name}: {result.title}", result.columns, result.rows))
            for aim, met in result.aims.items():
                out.print(f"{'[green]met[/]' if met else '[red]missed[/]'}: {aim}")
    if call.json:
        terminal.print_json({name: result.__dict__ for name, result in measured.items()})
    return 0 if all(all(m.aims.values()) for m in measured.values()) else 1
