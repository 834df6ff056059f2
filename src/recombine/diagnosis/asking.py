"""From what a user names (a model, a task) to a request that the laboratory can answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from torch import nn

from recombine import catalog
from recombine.conduct import Request, setting
from recombine.diagnosis.card import Card
from recombine.errors import UnknownName, UsageError
from recombine.models import own
from recombine.models.model import Model
from recombine.spec import override
from recombine.studies.study import Study
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import Task
from recombine.training import Adam, Recipe

MARKS = (0, 1, 3, 10, 30, 100, 300, 1000, 2000, 3000, 10_000, 30_000)


@dataclass(frozen=True)
class Diagnosis(Request):
    """A request whose part is a report card."""

    typed: tuple[str, ...] = ()
    """The words after `recombine diagnose`."""

    @property
    def name(self) -> str:
        return "diagnosis/card"

    @property
    def command(self) -> str:
        return shlex.join(["recombine", "diagnose", *self.typed, "--seeds", str(self.seeds)])


def diagnosis(
    models: Sequence[str | Any],
    task: str | Task,
    *,
    seeds: int = 5,
    settings: Sequence[str] = (),
    weights: str | None = None,
) -> Diagnosis:
    """The request that a diagnosis of these models on this task is."""
    chosen = task_of(task)
    named: dict[str, Model] = {}
    for each in models:
        label, model = model_of(each, chosen, weights)
        named[label if label not in named else f"{label} again"] = model
    recipes = {label: recipe_for(chosen, trained=not weights) for label in named}
    chosen, named, recipes = _set(chosen, named, recipes, dict(map(setting, settings)))
    card = Card(chosen, named, recipes)
    study = Study(
        name="diagnosis",
        title=f"Diagnosis of {' and '.join(named)} on {chosen.name}",
        authors="recombine",
        year=2026,
        question="Does it compose? Where does it fail, and why?",
        claims=card.claims(),
        parts=(card,),
    )
    typed = [*(m for m in models if isinstance(m, str)), task if isinstance(task, str) else ""]
    for text in settings:
        typed += ["--set", text]
    return Diagnosis(study, card, "quick", card.profiles[0], seeds, (), tuple(typed))


def task_of(task: str | Task) -> Task:
    """A task by name, by `name/variant`, or from a file of one's own."""
    if isinstance(task, Task):
        return task
    if ":" in task:
        return own_task(task)
    name, slash, variant = task.partition("/")
    kind: type[Task] = catalog.find("tasks", name)
    if not slash:
        return kind()
    fields = kind.__dataclass_fields__
    # what follows the slash names the split of a task that has several ways to be split
    if "split" not in fields:
        raise UnknownName("variant", variant, (), where=f"tasks/{name}")
    return cast(Task, override(kind(), {"split": variant}))


def own_task(text: str) -> Task:
    """The task that `path/to/file.py:Task` makes; a changed file makes another one."""
    made = own.load(text)
    try:
        found = made if isinstance(made, Task) else made()
    except TypeError as error:  # abstract methods that are missing, or a wrong signature
        raise UsageError(f"{text}: {error}") from error
    if not isinstance(found, Task):
        raise UsageError(f"{text} gave {type(found).__name__}, not a recombine task")
    kind = type(found)
    if kind.__module__.startswith(own.OWN):
        kind.version = int(kind.__module__.removeprefix(own.OWN)[:8], 16)
    return found


def model_of(model: str | Any, task: Task, weights: str | None) -> tuple[str, Model]:
    """A model by name, from a file of one's own, or handed over in Python; and what to call it."""
    sequences = isinstance(task, SequenceTask)
    if isinstance(model, Model):
        found: Model = model
        return found.name, _fits(found, sequences)
    if isinstance(model, str) and ":" not in model:
        if model.endswith(".py"):
            raise UsageError(f"{model}: say which function makes the model, {model}:function")
        return model, _fits(catalog.find("models", model)(), sequences)
    factory = own.load(model) if isinstance(model, str) else model
    if isinstance(factory, nn.Module):
        raise UsageError(
            "a module that is made already cannot be given several seeds: give the function or "
            "class that makes it, and --weights for trained ones"
        )
    form = own.form_of(factory, sequences=sequences, known=_known(task))
    if isinstance(model, str):
        return _label(model), own.own(model, form=form, weights=weights)
    return getattr(model, "__name__", "model"), own.given(model, form=form)


def _label(text: str) -> str:
    """What to call `path/to/file.py:name`: the name, or the file's if the name says nothing."""
    where, _, name = text.rpartition(":")
    return Path(where).stem if name in ("build", "make", "model", "main") else name


def _known(task: Task) -> dict[str, Any]:
    shape, outputs, classes = task.input_shape, len(task.outputs), task.classes
    return own.known(shape, outputs, classes, sequences=isinstance(task, SequenceTask))


def _fits(model: Model, sequences: bool) -> Model:
    if (model.reads == "sequences") != sequences:
        what = "sequences" if sequences else "vectors or images"
        raise UsageError(f"models/{model.name} does not read {what}, which this task is made of")
    return model


def recipe_for(task: Task, *, trained: bool) -> Recipe:
    """A recipe that most models learn most tasks by; any field can be set."""
    if isinstance(task, SequenceTask):
        recipe = Recipe(
            steps=2000, batch=64, loss="token-cross-entropy", optimizer=Adam(rate=2e-3), clip=1.0,
            evaluate_at=MARKS, evaluation_examples=500, forced=True,
        )  # fmt: skip
    else:
        recipe = Recipe(
            steps=1000, batch=64, optimizer=Adam(rate=3e-3), evaluate_at=MARKS,
            evaluation_examples=1000,
        )  # fmt: skip
    return recipe if trained else replace(recipe, steps=0)


def _set(
    task: Task,
    models: Mapping[str, Model],
    recipes: Mapping[str, Recipe],
    settings: Mapping[str, str],
) -> tuple[Task, dict[str, Model], dict[str, Recipe]]:
    """Change fields: `task.x`, `model.x` (of every model) or `recipe.x`."""
    grouped: dict[str, dict[str, str]] = {"task": {}, "model": {}, "recipe": {}}
    for path, text in settings.items():
        head, _, rest = path.partition(".")
        if head not in grouped or not rest:
            raise UnknownName("field", path, ("task.…", "model.…", "recipe.…"), where="--set")
        grouped[head][rest] = text
    return (
        cast(Task, override(task, grouped["task"])),
        {n: cast(Model, override(m, grouped["model"])) for n, m in models.items()},
        {n: cast(Recipe, override(r, grouped["recipe"])) for n, r in recipes.items()},
    )
