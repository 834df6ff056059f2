"""`recombine reproduce`: run what is missing, show how far it is, and end with the verdicts."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from collections.abc import Sequence

from rich.markup import escape
from rich.progress import Progress, TaskID

from recombine.commands import terminal
from recombine.conduct import Found, Planned, conduct, requests
from recombine.data.places import VARIABLE
from recombine.engine import Advanced, Ended, Event, Started
from recombine.errors import BadValue
from recombine.runs import Store
from recombine.studies import Finding


def run(call: Namespace) -> int:
    """Answer every request; exit code 1 if a cell failed."""
    asked = requests(
        call.studies,
        scale="quick" if call.scale is None else call.scale,
        profile=call.profile,
        seeds=call.seeds,
        settings=call.set,
    )
    if call.workers is not None and call.workers < 1:
        raise BadValue("--workers", call.workers, "a whole number from 1 up")
    check_device(call.device)
    if call.data is not None:  # workers inherit it
        os.environ[VARIABLE] = call.data
    found: list[Found] = []
    with Store.open(call.store) as store, terminal.bars(silent=call.json) as progress:
        watch = Watch(progress, silent=call.json)
        for event in conduct(asked, store, workers=call.workers, device=call.device):
            if isinstance(event, Found):
                found.append(event)
            else:
                watch.hear(event)
    findings = [each.finding for each in found]
    if call.json:
        terminal.print_json({"studies": {each.name: each.plain() for each in findings}})
    else:
        print_claims(findings)
        if not call.studies:
            print_left(findings)
    lost = sum(each.failed for each in found)
    if lost:
        terminal.console(errors=True).print(
            f"{lost} seeds failed; 'recombine status' shows why. The same command tries them again."
        )
    return 1 if lost else 0


def check_device(name: str) -> None:
    """Refuse a device that torch does not have here."""
    if name == "cpu":
        return
    import torch  # the only verb that needs it before the work begins

    try:
        with warnings.catch_warnings(action="ignore"):
            torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise BadValue("--device", name, f"a torch device of this machine ({reason})") from None


class Watch:
    """Turns events into bars, or into lines where there is no terminal."""

    def __init__(self, progress: Progress, *, silent: bool) -> None:
        self._progress, self._silent = progress, silent
        self._bars: dict[str, TaskID] = {}
        self._seeds: dict[str, int] = {}
        self._done: dict[str, float] = {}
        """Seeds of each job that are done, counting those under way by how far they are."""
        self._all: TaskID | None = None
        self._total = 0
        """Seeds to run in the requests announced so far."""

    def hear(self, event: Planned | Event) -> None:
        """Show one event."""
        if isinstance(event, Planned):
            self._planned(event)
        elif isinstance(event, Started):
            self._bars[event.job] = self._progress.add_task(f"  {escape(event.job)}", total=None)
            self._seeds[event.job] = event.seeds
        elif isinstance(event, Advanced) and event.job in self._bars:
            self._progress.update(self._bars[event.job], completed=event.done, total=event.total)
            self._count(event.job, self._seeds[event.job] * event.done / event.total)
        elif isinstance(event, Ended):
            self._ended(event)

    def _planned(self, event: Planned) -> None:
        plan, name = event.plan, event.request.name
        again = f", {plan.retried} of them tried again" if plan.retried else ""
        self._line(
            f"[bold]{name}[/] {event.request.scale}, {event.request.profile}: "
            f"{plan.done} seeds done, {plan.missing} to run{again}"
        )
        for remark in event.request.remarks():
            self._line(f"  [yellow]note[/]: {escape(remark)}")
        self._total += plan.missing
        if self._all is None:
            self._all = self._progress.add_task("[bold]seeds[/]", total=0)
        self._progress.update(self._all, total=self._total)

    def _ended(self, event: Ended) -> None:
        if event.job in self._bars:
            self._progress.remove_task(self._bars.pop(event.job))
        self._count(event.job, event.seeds)
        if event.error is not None:
            self._line(f"  [red]{escape(event.job)} failed[/]: {escape(event.error)}")
        elif self._progress.disable:
            self._line(f"  {escape(event.job)}: {event.seeds} seeds in {event.seconds:.1f} s")

    def _count(self, job: str, seeds: float) -> None:
        self._done[job] = seeds
        if self._all is not None:
            self._progress.update(self._all, completed=round(sum(self._done.values())))

    def _line(self, text: str) -> None:
        if not self._silent:
            self._progress.console.print(text)


def print_claims(findings: Sequence[Finding]) -> None:
    """The closing table: every claim with its verdict."""
    out = terminal.console()
    for finding in findings:
        title = f"{finding.name}: {finding.scale}, {finding.profile}, {finding.seeds} seeds"
        rows = [
            (
                claim.id,
                terminal.verdict(verdict.outcome),
                verdict.interval,
                verdict.n,
                claim.statement,
            )
            for claim, verdict in finding.claims
        ]
        out.print(terminal.table(title, ("claim", "verdict", "ours", "n", "statement"), rows))
    out.print("Tables and figures: [bold]recombine report[/]")


def print_left(findings: Sequence[Finding]) -> None:
    """What a first look at every study left for later."""
    seen = {finding.name for finding in findings}
    studies = dict.fromkeys(finding.study.name for finding in findings)
    left = [each.name for each in requests(list(studies)) if each.name not in seen]
    if left:
        text = f"Not in this first look, and run with their study: {', '.join(left)}"
        terminal.console().print(text, soft_wrap=True)
