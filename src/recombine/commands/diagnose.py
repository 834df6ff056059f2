"""`recombine diagnose`: train a model on a task of known structure, and say whether it composes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from recombine.commands import terminal
from recombine.commands.reproduce import Watch, check_device
from recombine.diagnosis.answering import Answer, answer
from recombine.diagnosis.asking import diagnosis
from recombine.errors import NO_ROOM, BadValue, UsageError
from recombine.report import folder
from recombine.runs import Store


def run(call: Namespace) -> int:
    """Train what the store lacks, print the verdict and write the card; 1 if a seed failed."""
    models, task = named(call.model, call.task, call.last, call.compare)
    for option, given in (("--seeds", call.seeds), ("--workers", call.workers)):
        if given is not None and given < 1:
            raise BadValue(option, given, "a whole number from 1 up")
    check_device(call.device)
    folder.check(Path(call.out))
    asked = diagnosis(models, task, seeds=call.seeds, settings=call.set, weights=call.weights)
    with Store.open(call.store) as store, terminal.bars(silent=call.json) as progress:
        hear = Watch(progress, silent=call.json).hear
        said = answer(asked, store, workers=call.workers, device=call.device, hear=hear)
    page = _written(said, call.out)
    if call.json:
        words = [sentence.text for sentence in said.sentences]
        terminal.print_json({"verdict": words, "notes": list(said.notes), **said.finding.plain()})
    else:
        _print(said, page)
    return 1 if said.failed else 0


def _written(said: Answer, out: str) -> Path:
    try:
        return said.write(out)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise  # no room, which every command tells alike
        raise UsageError(
            f"--out {out}: the card cannot be written there ({error.strerror}); name another "
            "folder: what was run is in the store"
        ) from error


def named(first: str, second: str, last: str | None, compare: str | None) -> tuple[list[str], str]:
    """The models and the task of `A TASK`, `A TASK --compare B` or `A B TASK --compare`."""
    if last is None and compare != "":
        return [first, *([compare] if compare else [])], second
    if last is not None and compare == "":
        return [first, second], last
    raise UsageError(
        "two models are put side by side by 'recombine diagnose A B TASK --compare', "
        "or 'recombine diagnose A TASK --compare B'"
    )


def _print(said: Answer, page: Path) -> None:
    out = terminal.console()
    for sentence in said.sentences:
        out.print(sentence.text, soft_wrap=True, markup=False)
    out.print()
    table = said.finding.tables[0]
    out.print(terminal.table(table.title, table.columns, table.rows))
    for note in said.notes:
        out.print(f"[dim]{note}[/]", soft_wrap=True)
    out.print(f"The whole card: [bold]{page}[/]", soft_wrap=True)
