"""From what a user names (a model, a task) to a request that the laboratory can answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from recombine import catalog
from recombine.conduct import Request, setting
from recombine.diagnosis import own_tasks
from recombine.diagnosis.card import Card
from recombine.errors import UnknownName, UsageError
from recombine.models import own
from recombine.models.model import Model
from recombine.spec import override
from recombine.studies.study import Study
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import Task
from recombine.training import Adam, Recipe
from recombine.training.recipe import Loss

SEEDS = 5
"""Networks that are trained if nothing is said."""
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
    seeds: int | None = None,
    settings: Sequence[str] = (),
    weights: str | None = None,
) -> Diagnosis:
    """The request that a diagnosis of these models on this task is.

    Without `seeds`, five networks are trained; trained weights are one.
    """
    if weights and len(models) > 1:
        raise UsageError("--weights belongs to one model: diagnose each alone, or both untrained")
    chosen = task_of(task)
    named: dict[str, Model] = {}
    for each in models:
        label, model = model_of(each, chosen, weights)
        named[label if label not in named else f"{label} again"] = model
    recipes = {
        label: recipe_for(chosen, model, trained=not weights) for label, model in named.items()
    }
    chosen, named, recipes = _set(chosen, named, recipes, dict(map(setting, settings)))
    own_tasks.check_splits(chosen)
    for label, model in named.items():
        _check_trainable(label, model, chosen, recipes[label])
    card = Card(chosen, named, recipes)
    seeds = (1 if weights else SEEDS) if seeds is None else seeds
    if seeds > 1 and any(map(card.finished, named)):
        raise UsageError(
            f"--seeds {seeds}: trained weights are one network, of which others would be copies; "
            "leave --seeds out, or train them on with --set recipe.steps=…"
        )
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
    typed += ["--weights", weights] if weights else []
    typed += ["--compare"] if len(models) > 1 else []
    return Diagnosis(study, card, "quick", card.profiles[0], seeds, (), tuple(typed))


def task_of(task: str | Task) -> Task:
    """A task by name, by `name/variant`, or from a file of one's own."""
    if isinstance(task, Task):
        return task
    if ":" in task:
        found = own_tasks.own_task(task)
        own_tasks.try_out(found, task)
        return found
    name, slash, variant = task.partition("/")
    kind: type[Task] = catalog.find("tasks", name)
    if not slash:
        return kind()
    fields = kind.__dataclass_fields__
    # what follows the slash names the split of a task that has several ways to be split
    if "split" not in fields:
        raise UnknownName("variant", variant, (), where=f"tasks/{name}")
    return cast(Task, override(kind(), {"split": variant}))


def model_of(model: str | Any, task: Task, weights: str | None) -> tuple[str, Model]:
    """A model by name, from a file of one's own, or handed over in Python; and what to call it."""
    sequences = isinstance(task, SequenceTask)
    if isinstance(model, Model):
        found: Model = model
        return found.name, _fits(found, sequences, weights)
    if isinstance(model, str) and ":" not in model:
        if model.endswith(".py") or model == own.Own.name:
            where = model if model.endswith(".py") else "path/to/file.py"
            raise UsageError(f"{model}: say which function makes the model, {where}:function")
        return model, _fits(catalog.find("models", model)(), sequences, weights)
    factory = own.load(model) if isinstance(model, str) else model
    if isinstance(factory, nn.Module):
        raise UsageError(
            "a module that is made already cannot be given several seeds: give the function or "
            "class that makes it, and --weights for trained ones"
        )
    if not callable(factory):
        raise UsageError(
            f"{model} is {type(factory).__name__}, which makes no model: give a function or class "
            "that makes a torch.nn.Module"
        )
    form = own.form_of(factory, sequences=sequences, known=_known(task))
    if isinstance(model, str):
        return _label(model), own.own(model, form=form, weights=weights)
    return getattr(model, "__name__", "model"), own.given(model, form=form, weights=weights)


def _label(text: str) -> str:
    """What to call `path/to/file.py:name`: the name, or the file's if the name says nothing."""
    where, _, name = text.rpartition(":")
    return Path(where).stem if name in ("build", "make", "model", "main") else name


def _known(task: Task) -> dict[str, Any]:
    shape, outputs, classes = task.input_shape, len(task.outputs), task.classes
    return own.known(shape, outputs, classes, sequences=isinstance(task, SequenceTask))


def _fits(model: Model, sequences: bool, weights: str | None) -> Model:
    if weights and not isinstance(model, own.Own):
        raise UsageError(
            f"--weights {weights}: models/{model.name} is trained here; trained weights belong to "
            "a model of your own, path/to/file.py:function"
        )
    if (model.reads == "sequences") != sequences:
        what = "sequences" if sequences else "vectors or images"
        raise UsageError(f"models/{model.name} does not read {what}, which this task is made of")
    return model


def _check_trainable(label: str, model: Model, task: Task, recipe: Recipe) -> None:
    """Refuse a module of the user's that training could not change."""
    if not isinstance(model, own.Own):
        return
    parameters = list(own.build(own.load(model.factory), _known(task), label, 0).parameters())
    if not parameters:
        raise UsageError(f"{label} has no parameters: it needs at least one nn.Parameter or layer")
    if recipe.steps and not any(p.requires_grad for p in parameters):
        raise UsageError(
            f"all parameters of {label} are frozen (requires_grad=False): leave some to be "
            "trained, or judge it as it is with --set recipe.steps=0"
        )


def recipe_for(task: Task, model: Model, *, trained: bool) -> Recipe:
    """A recipe that most models learn most tasks by; any field can be set."""
    if isinstance(task, SequenceTask):
        recipe = Recipe(
            steps=2000, batch=64, loss="token-cross-entropy", optimizer=Adam(rate=2e-3), clip=1.0,
            evaluate_at=MARKS, evaluation_examples=500, forced=True,
        )  # fmt: skip
    else:
        recipe = Recipe(
            steps=1000, batch=64, optimizer=Adam(rate=3e-3), evaluate_at=MARKS,
            evaluation_examples=1000, loss=_loss(model, task),
        )  # fmt: skip
    return recipe if trained else replace(recipe, steps=0)


def _loss(model: Model, task: Task) -> Loss:
    """Cross-entropy of scores; of a network that has a single unit an output, by its sign."""
    stack = model.stack([0], task.input_shape, len(task.outputs), task.classes)
    units = stack(torch.zeros(1, 1, *task.input_shape)).shape[-1]
    return "logistic-sign" if units == 1 else "cross-entropy"


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
    if grouped["model"] and any(isinstance(model, own.Own) for model in models.values()):
        raise UsageError(
            f"--set model.{next(iter(grouped['model']))}: a model of your own has no fields to "
            "set; write the value in its file, or another function beside it"
        )
    return (
        cast(Task, override(task, grouped["task"])),
        {n: cast(Model, override(m, grouped["model"])) for n, m in models.items()},
        {n: cast(Recipe, override(r, grouped["recipe"])) for n, r in recipes.items()},
    )
