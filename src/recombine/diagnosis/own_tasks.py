"""A task from a file of one's own, tried on a few examples before anything is trained."""

from __future__ import annotations

import numpy as np

from recombine.diagnosis.reading import Reading
from recombine.errors import UsageError
from recombine.models import own
from recombine.seeds import stream
from recombine.tasks.task import IGNORE, Task

TRIED = 2
"""Examples a split."""


def own_task(text: str) -> Task:
    """The task that `path/to/file.py:Task` makes; a changed file makes another one."""
    made = own.load(text)
    if not isinstance(made, Task) and not callable(made):
        raise UsageError(f"{text} is {type(made).__name__}, not a recombine task")
    try:
        found = made if isinstance(made, Task) else made()
    except (Exception, SystemExit) as error:  # a stranger's constructor
        raise UsageError(f"{text} failed: {own.told_of(error)}") from error
    if not isinstance(found, Task):
        raise UsageError(f"{text} gave {type(found).__name__}, not a recombine task")
    kind = type(found)
    if kind.__module__.startswith(own.OWN):
        kind.version = int(kind.__module__.removeprefix(own.OWN)[:8], 16)
    return found


def check_splits(task: Task) -> None:
    """Refuse a task that says nothing of composition: it needs `train` and new combinations."""
    where = f"tasks/{task.name}"
    splits = task.splits()
    if "train" not in splits:
        raise UsageError(f"{where} has no split 'train' (it has: {', '.join(splits) or 'none'})")
    if empty := [name for name, z in splits.items() if not len(z)]:
        raise UsageError(f"{where}: split '{empty[0]}' has no combinations: leave it out")
    if not Reading(task).held_out:
        raise UsageError(
            f"{where} holds nothing out: to be diagnosed it needs, beside 'train', a split with "
            "combinations that training does not show"
        )


def try_out(task: Task, text: str) -> None:
    """Draw a few examples of each split; an error in plain words if they are not as promised."""
    try:
        check_splits(task)
        drawn = {name: task.sample(name, TRIED, stream(0, "try")) for name in task.splits()}
    except UsageError:
        raise
    except Exception as error:  # whatever a stranger's methods raise
        raise UsageError(f"{text} failed: {own.told_of(error)}; {_next(text)}") from error
    for split, examples in drawn.items():
        inputs, targets = examples.inputs, examples.targets
        classes = np.array([output.classes for output in task.outputs])
        _expect(inputs.shape, (TRIED, *task.input_shape), f"inputs of {split}", text)
        if inputs.dtype.kind == "f":
            _expect(str(inputs.dtype), "float32", f"inputs of {split}", text)
        _expect(targets.shape, (TRIED, len(classes)), f"targets of {split}", text)
        if ((targets != IGNORE) & ((targets < 0) | (targets >= classes))).any():
            legal = f"classes from 0 to {int(classes.max()) - 1}"
            raise UsageError(f"{text}: targets of {split} are not {legal}; {_next(text)}")


def _expect(found: object, wanted: object, what: str, text: str) -> None:
    if found != wanted:
        raise UsageError(f"{text}: {what} are {found}, expected {wanted}; {_next(text)}")


def _next(text: str) -> str:
    return f"'recombine check {text}' tries every promise of a task"
