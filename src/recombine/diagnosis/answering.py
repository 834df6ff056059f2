"""`recombine.diagnose`: ask, run what the store lacks, and answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from recombine.conduct import Found, Planned, conduct
from recombine.diagnosis.asking import Diagnosis, diagnosis
from recombine.diagnosis.card import Card
from recombine.diagnosis.words import Sentence, verdict_in_words
from recombine.engine import Event
from recombine.errors import RecombineError
from recombine.models.own import Own, only_here
from recombine.models.stack import Stack
from recombine.report import write_card
from recombine.runs import Store
from recombine.seeds import stream
from recombine.spec import walk
from recombine.studies import Finding
from recombine.tasks.task import Task


@dataclass(frozen=True)
class Answer:
    """What a diagnosis says."""

    finding: Finding
    sentences: tuple[Sentence, ...]
    notes: tuple[str, ...]
    failed: int
    """Seeds that failed."""

    def __str__(self) -> str:
        return "\n".join(sentence.text for sentence in self.sentences)

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write the report card into a folder; the page to open."""
        said = [(sentence.text, sentence.evidence) for sentence in self.sentences]
        return write_card(Path(folder), self.finding, said, self.notes)


def diagnose(
    model: Any,
    task: str | Task,
    *,
    compare: Any = None,
    seeds: int | None = None,
    settings: Sequence[str] = (),
    weights: str | None = None,
    store: str | os.PathLike[str] = ".recombine",
) -> Answer:
    """Train a model on a task of known structure and say whether it composes.

    `model` is a built-in name, a `recombine` model, `path/to/file.py:function`, or a function or
    class that makes a `torch.nn.Module`. `settings` are as after `--set`: `recipe.steps=500`.
    Without `seeds`, five networks are trained; trained `weights` are one.
    """
    models = [model] if compare is None else [model, compare]
    asked = diagnosis(models, task, seeds=seeds, settings=settings, weights=weights)
    with Store.open(store) as opened:
        return answer(asked, opened)


def answer(
    asked: Diagnosis,
    store: Store,
    *,
    workers: int | None = None,
    device: str = "cpu",
    hear: Callable[[Planned | Event], None] = lambda event: None,
) -> Answer:
    """Run what the store lacks of a request, and put what came out into words."""
    cells = [need.cell for need in asked.needs().values()]
    if any(only_here(part) for cell in cells for part in walk(cell)):
        workers = 1  # what only this process knows cannot be sent to another
    for event in conduct([asked], store, workers=workers, device=device):
        if isinstance(event, Found):
            sentences = tuple(verdict_in_words(event.finding))
            return Answer(event.finding, sentences, tuple(remarks(asked)), event.failed)
        hear(event)
    raise RecombineError("nothing came of it")  # conduct ends with an answer or an error


def remarks(asked: Diagnosis) -> list[str]:
    """What a reader must know of how the models were run."""
    card = asked.part
    assert isinstance(card, Card)
    notes, task = [], card.task
    for name, model in card.models.items():
        stack = model.stack([0], task.input_shape, len(task.outputs), task.classes)
        count = sum(parameter.numel() for parameter in stack.parameters())
        how = "one seed after another" if getattr(stack, "looped", False) else "all seeds at once"
        notes.append(f"{name}: {count:,} parameters, run {how}.")
        if isinstance(model, Own):
            norm = "the statistics it was trained with" if model.weights else "the batch"
            notes.append(f"{name}: dropout is off, batch normalisation uses {norm}.")
            if _draws(stack, task):
                notes.append(
                    f"{name}: its forward draws random numbers, so the same question has another "
                    "answer each time and its results cannot be repeated."
                )
    return notes


@torch.no_grad()
def _draws(stack: Stack, task: Task) -> bool:
    """Whether a network answers the same examples differently when asked again."""
    inputs = torch.from_numpy(task.sample("train", 4, stream(0, "remarks")).inputs).unsqueeze(0)
    with torch.random.fork_rng(devices=[]):
        return not torch.equal(stack(inputs), stack(inputs))
