"""The loop: one function that trains the seeds of a job and measures them along the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from torch import Tensor

from recombine.cell import Arrays, Context
from recombine.errors import Interrupted
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.tasks.task import Task
from recombine.training.evaluation import Evaluation, check_rules
from recombine.training.feed import Feed
from recombine.training.lanes import Frozen, Lanes
from recombine.training.recipe import Recipe

Measure = Callable[[Stack], Mapping[str, np.ndarray]]
"""Reads a stack and returns named arrays whose first dimension is the seed."""


def train(
    task: Task,
    model: Model,
    recipe: Recipe,
    *,
    seeds: Sequence[int],
    probes: Sequence[tuple[Sequence[int], Measure]] = (),
    context: Context | None = None,
    stack: Stack | None = None,
    frozen: Frozen | None = None,
) -> tuple[Lanes, dict[str, dict[int, np.ndarray]]]:
    """Train all seeds at once; the trained lanes, and each measurement by name and step.

    A `stack` that is given is trained on, one lane a seed, instead of one drawn anew; parameters
    that are `frozen` keep their bits.
    """
    context = context or Context()
    check_rules(task, recipe)
    if stack is None:
        stack = model.stack(seeds, task.input_shape, len(task.outputs), task.classes)
    lanes = Lanes(stack.to(context.device), recipe, frozen, class_values=task.class_values)
    if recipe.guidance is not None:
        recipe.guidance.check(stack, task)
    feed = Feed(task, recipe, seeds, context.device)
    evaluation = Evaluation.of(task, model, recipe, context.device)
    due = set(recipe.evaluation_steps)
    curves: dict[str, dict[int, np.ndarray]] = {}
    first, saved = _resume(lanes, curves, context), time.monotonic()

    for step in range(first, recipe.steps + 1):
        if step in due:
            measures = evaluation.measure(lanes)
            _note(curves, step, measures)
            lanes.consider_stopping(step, measures)
            lanes.consider_keeping(step, measures)
        for steps, measure in probes:
            if step in steps:
                lanes.stack.eval()
                _note(curves, step, measure(lanes.stack))
        if step == recipe.steps:
            break
        # Lanes that have all stopped are still measured to the end: what is recorded of a seed
        # must not depend on how long the seeds beside it went on.
        if not lanes.stopped.all():
            lanes.update(step, *feed.batch(step))
        try:
            context.progress(step + 1, recipe.steps)
        except Interrupted:
            _save(lanes, curves, step + 1, context)
            raise
        if time.monotonic() - saved > context.checkpoint_every:
            _save(lanes, curves, step + 1, context)
            saved = time.monotonic()

    return lanes, curves


def _note(
    curves: dict[str, dict[int, np.ndarray]],
    step: int,
    measures: Mapping[str, np.ndarray] | Mapping[str, Tensor],
) -> None:
    for name, values in measures.items():
        array = values.cpu().numpy() if isinstance(values, Tensor) else values
        curves.setdefault(name, {})[step] = array


def _save(
    lanes: Lanes, curves: dict[str, dict[int, np.ndarray]], step: int, context: Context
) -> None:
    if context.checkpoint is None:
        return
    state = {f"lanes:{name}": value.cpu().numpy() for name, value in lanes.state().items()}
    for name, by_step in curves.items():
        state |= {f"curve:{at}:{name}": values for at, values in by_step.items()}
    context.checkpoint.save({**state, "step": np.asarray(step)})


def _resume(lanes: Lanes, curves: dict[str, dict[int, np.ndarray]], context: Context) -> int:
    """The step to start at: 0, or where the checkpoint left off, with its state put in place."""
    found: Arrays | None = context.checkpoint.load() if context.checkpoint else None
    if found is None:
        return 0
    noted = [name.split(":", 2) for name in found if name.startswith("curve:")]
    for _, at, curve in sorted(noted, key=lambda parts: int(parts[1])):  # a file has its own order
        curves.setdefault(curve, {})[int(at)] = found[f"curve:{at}:{curve}"]
    prefix = "lanes:"
    state = {n.removeprefix(prefix): v for n, v in found.items() if n.startswith(prefix)}
    lanes.restore(state)
    return int(found["step"])
