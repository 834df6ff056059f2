"""`recombine diagnose`: train a model on a task of known structure, and say whether it composes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from recombine.commands import terminal
from recombine.commands.reproduce import Watch, check_device
from recombine.conduct import Found, conduct
from recombine.diagnosis import Diagnosis, diagnosis, verdict_in_words
from recombine.diagnosis.words import Sentence
from recombine.errors import BadValue, RecombineError, UsageError
from recombine.report import write_card
from recombine.runs import Store
from recombine.studies import Finding


def run(call: Namespace) -> int:
    """Train what the store lacks, then print the verdict and write the card."""
    models = [call.model, *([call.compare] if call.compare else [])]
    if call.weights and call.compare:
        raise UsageError("--weights belongs to one model: diagnose each alone, or both untrained")
    if call.seeds is not None and call.seeds < 1:
        raise BadValue("--seeds", call.seeds, "a whole number from 1 up")
    check_device(call.device)
    seeds = call.seeds or (1 if call.weights else 5)
    asked = diagnosis(models, call.task, seeds=seeds, settings=call.set, weights=call.weights)
    finding, failed = _answer(asked, call)
    said, notes = verdict_in_words(finding), remarks(asked)
    page = write_card(Path(call.out), finding, [(s.text, s.claim) for s in said], notes)
    if call.json:
        words = [sentence.text for sentence in said]
        terminal.print_json({"verdict": words, "notes": notes, **finding.plain()})
    else:
        _print(said, notes, finding, page)
    return 1 if failed else 0


def _answer(asked: Diagnosis, call: Namespace) -> tuple[Finding, int]:
    with Store.open(call.store) as store, terminal.bars(silent=call.json) as progress:
        watch = Watch(progress, silent=call.json)
        for event in conduct([asked], store, workers=call.workers, device=call.device):
            if isinstance(event, Found):
                return event.finding, event.failed
            watch.hear(event)
    raise RecombineError("nothing came of it")  # conduct ends with an answer or an error


def remarks(asked: Diagnosis) -> list[str]:
    """What a reader must know of how the models were run."""
    card, notes = asked.part, []
    models = getattr(card, "models", {})
    task = asked.part.task  # type: ignore[attr-defined]
    for name, model in models.items():
        stack = model.stack([0], task.input_shape, len(task.outputs), task.classes)
        count = sum(p.numel() for p in stack.parameters())
        how = "one seed after another" if getattr(stack, "looped", False) else "all seeds at once"
        notes.append(f"{name}: {count:,} parameters, trained {how}.")
        if model.name == "own":
            notes.append(f"{name}: dropout is off, batch normalisation uses the batch.")
    return notes


def _print(said: list[Sentence], notes: list[str], finding: Finding, page: Path) -> None:
    out = terminal.console()
    for sentence in said:
        out.print(sentence.text, soft_wrap=True, markup=False)
    out.print()
    table = finding.tables[0]
    out.print(terminal.table(table.title, table.columns, table.rows))
    for note in notes:
        out.print(f"[dim]{note}[/]", soft_wrap=True)
    out.print(f"The whole card: [bold]{page}[/]", soft_wrap=True)
