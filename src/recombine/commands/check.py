"""`recombine check`: run the conformance checks on components, built in or installed."""

from __future__ import annotations

import time
import traceback
from argparse import Namespace

from recombine.checks import checks
from recombine.commands import terminal


def run(call: Namespace) -> int:
    """Try every promise; exit code 1 if one is broken."""
    out = terminal.console(errors=call.json)
    results = []
    for check in list(checks(call.names)):  # a wrong name is refused before anything is run
        start = time.monotonic()
        try:
            check.run()
            problem = ""
        except AssertionError as broken:
            problem = str(broken) or "a promise was broken"
        except Exception:  # a component may fail in any way; the others are still checked
            problem = traceback.format_exc(limit=-3).strip()
        seconds = round(time.monotonic() - start, 2)
        results.append(
            {"component": check.component, "check": check.name, "ok": not problem,
             "problem": problem, "seconds": seconds}
        )  # fmt: skip
        mark = "[red]✗[/]" if problem else "[green]✓[/]"
        out.print(f"{mark} {check.component}: {check.name} [dim]{seconds} s[/]")
        if problem:
            out.print(f"   {problem}", markup=False)
    lost = sum(not each["ok"] for each in results)
    if call.json:
        terminal.print_json({"checks": results, "broken": lost})
    else:
        out.print(f"{len(results) - lost} kept, {lost} broken")
    return 1 if lost else 0
