"""The cell that trains `attentive` on a task of sentences, on packed batches, seed by seed.

The batch of a step depends on the seed and the step alone. `accuracy/<split>` is the share of
sentences whose answer is right to its end, free-running: each step is fed the network's own word.
With `forced`, `forced/<split>` is measured too: each step is told the right words before it, as in
the original of SCAN's experiment. For whole sentences the two are one number: as long as all words
so far are right, its own words *are* the right words. They would part company word by word.

At the end the free-running answers to every command of the held-out splits are stored as they were
given, for whoever wants to know what went wrong.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue, Interrupted
from recombine.models import attentive_packed as packed
from recombine.models.attentive import Attentive, StackedAttentive
from recombine.seeds import stream
from recombine.tasks.sequence import SequenceTask
from recombine.training.evaluation import EVALUATION_SEED
from recombine.training.feed import BLOCK
from recombine.training.lanes import clip
from recombine.training.recipe import Recipe
from recombine.training.trial import Probe, Reads

Curves = dict[str, dict[int, np.ndarray]]
"""Measurements by name and step."""


@dataclass(frozen=True)
class Translation(Cell):
    """Train the attentive network to translate, and keep its answers."""

    name: ClassVar[str] = "translation"

    task: SequenceTask
    model: Attentive
    recipe: Recipe
    probes: tuple[Probe, ...] = ()
    """Analyses along the way."""
    keep_weights: bool = False
    """Store the trained parameters with the run."""
    forced: bool = False
    """Measure teacher-forced accuracy too."""

    @property
    def seeds_per_job(self) -> int:
        return 1

    def validate(self) -> None:
        if self.recipe.sampling != "fresh":
            raise BadValue("cells/translation.recipe.sampling", self.recipe.sampling, "fresh")
        if self.recipe.loss != "sequence-cross-entropy" or self.recipe.stop is not None:
            legal = "sequence-cross-entropy, and no early stopping"
            raise BadValue("cells/translation.recipe", "another loss, or a stop", legal)

        for probe in self.probes:
            if not isinstance(probe.analysis, Reads):
                raise BadValue("cells/translation.probes", probe.analysis, "what can measure")

    def ready(self) -> None:
        self.task.ready()

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        return {seed: self._alone(seed, context, one=len(seeds) == 1) for seed in seeds}

    def _alone(self, seed: int, context: Context, *, one: bool) -> Outcome:
        """One seed from its first step, or from where its checkpoint left it, to the end."""
        lesson = Lesson(self, seed, context)
        due, saved = set(self.recipe.evaluation_steps), time.monotonic()
        keeper = context.checkpoint if one else None
        first = lesson.restore(keeper.load() if keeper else None)
        for step in range(first, self.recipe.steps + 1):
            if step in due:
                lesson.measure(step)
            lesson.probe(step)
            if step == self.recipe.steps:
                break
            lesson.update(step)
            try:
                context.progress(step + 1, self.recipe.steps)
                stop = None
            except Interrupted as interruption:
                stop = interruption
            late = time.monotonic() - saved > context.checkpoint_every
            if keeper and (stop or late):
                keeper.save(lesson.state(step + 1))
                saved = time.monotonic()
            if stop:
                raise stop
        return lesson.outcome()


class Lesson:
    """One seed in training: everything that changes from step to step."""

    def __init__(self, cell: Translation, seed: int, context: Context) -> None:
        task, self._cell, self._seed = cell.task, cell, seed
        self._device, self._start = context.device, task.classes
        stack = cell.model.stack([seed], task.input_shape, len(task.outputs), task.classes)
        self._stack: StackedAttentive = stack.to(context.device)
        self._values = [p.detach() for p in self._stack.parameters()]
        self._slots = cell.recipe.optimizer.slots(self._values)
        self._block, self._z = -1, np.empty((0, 0), dtype=np.int64)
        self._sets = {split: self._examples(split) for split in task.splits()}
        self.curves: Curves = {}

    def _examples(self, split: str) -> packed.Pack:
        """The evaluation set of a split: the same commands for all seeds and steps."""
        task, n = self._cell.task, self._cell.recipe.evaluation_examples
        shown = task.sample(split, n, stream(EVALUATION_SEED, "evaluation", split))
        return packed.pack(shown.inputs, shown.targets, self._start, self._device)

    def update(self, step: int) -> None:
        """One step of training."""
        recipe = self._cell.recipe
        weights = self._stack.lane(0)
        loss = packed.loss(weights, self._batch(step))
        gradients: Sequence[Tensor] = torch.autograd.grad(loss, list(weights.values()))
        if recipe.clip is not None:
            gradients = clip(gradients, recipe.clip)
        factor = recipe.schedule.factor(step)
        recipe.optimizer.update(self._values, gradients, self._slots, step=step, factor=factor)
        self._note("loss/batch", step, float(loss.detach()))

    def _batch(self, step: int) -> packed.Pack:
        """Drawn with replacement from the lines of the training split, in blocks of steps."""
        task, size = self._cell.task, self._cell.recipe.batch
        block, offset = divmod(step, BLOCK)
        if block != self._block:
            self._z, _ = task.draw("train", BLOCK * size, stream(self._seed, "data", block))
            self._block = block
        z = self._z[offset * size : (offset + 1) * size]
        shown = task.show(z, task.draw_noise(size, stream(self._seed, "noise", step)))
        return packed.pack(shown.inputs, shown.targets, self._start, self._device)

    def measure(self, step: int) -> None:
        """Accuracy on every split, and which sentences were right."""
        weights = self._stack.lane(0)
        for split, batch in self._sets.items():
            free = packed.right(packed.written(weights, batch), batch).cpu().numpy()
            in_order = np.empty_like(free)
            in_order[batch.order] = free
            self._note(f"right/{split}", step, in_order.astype(np.int8))
            self._note(f"accuracy/{split}", step, free.mean())
            if self._cell.forced:
                told = packed.forced_right(weights, batch).cpu().numpy()
                self._note(f"forced/{split}", step, told.mean())

    def probe(self, step: int) -> None:
        """The analyses that are due."""
        for probe in self._cell.probes:
            if step in ((self._cell.recipe.steps,) if probe.at is None else probe.at):
                reader = cast(Reads, probe.analysis)
                measured = reader.measure(self._stack, self._cell.task, self._cell.model)
                for name, values in measured.items():
                    self._note(name, step, values[0])

    def _note(self, name: str, step: int, value: np.ndarray | float) -> None:
        self.curves.setdefault(name, {})[step] = np.asarray(value)

    def outcome(self) -> Outcome:
        """Curves, and the answers to every held-out command."""
        arrays, scalars = {}, {}
        for name, by_step in self.curves.items():
            arrays[name] = np.array(list(by_step.values()))
            arrays[f"{name}@steps"] = np.array(list(by_step))
            if arrays[name].ndim == 1:
                scalars[name] = float(arrays[name][-1])
        task, weights = self._cell.task, self._stack.lane(0)
        for split, z in task.splits().items():
            if split == "train":
                continue
            shown = task.show(z, task.draw_noise(len(z), stream(EVALUATION_SEED, "whole", split)))
            inputs = torch.from_numpy(shown.inputs).to(self._device)
            given = packed.answers(weights, inputs, len(task.outputs)).cpu().numpy()
            scored = shown.targets >= 0
            correct = ((given == shown.targets) | ~scored).all(1)
            arrays[f"answers/{split}"] = given.astype(np.int8)
            scalars[f"whole/{split}"] = float(correct.mean())
        kept = {n: v.detach()[0].cpu().numpy() for n, v in self._stack.named_parameters()}
        return Outcome(scalars, arrays, kept if self._cell.keep_weights else {})

    def state(self, step: int) -> dict[str, np.ndarray]:
        """Everything needed to go on from here."""
        held = {name: tensor.cpu().numpy() for name, tensor in self._tensors().items()}
        for name, by_step in self.curves.items():
            held[f"curve:{name}"] = np.array(list(by_step.values()))
            held[f"steps:{name}"] = np.array(list(by_step))
        return {**held, "step": np.asarray(step)}

    def restore(self, found: Mapping[str, np.ndarray] | None) -> int:
        """Take up a state; the step to start at."""
        if found is None:
            return 0
        for name, tensor in self._tensors().items():
            tensor.copy_(torch.from_numpy(found[name]))
        for name in (n.removeprefix("curve:") for n in found if n.startswith("curve:")):
            steps = found[f"steps:{name}"].tolist()
            self.curves[name] = dict(zip(steps, found[f"curve:{name}"], strict=True))
        return int(found["step"])

    def _tensors(self) -> dict[str, Tensor]:
        tensors = {f"parameter.{i}": value for i, value in enumerate(self._values)}
        for slot, many in self._slots.items():
            tensors |= {f"{slot}.{i}": tensor for i, tensor in enumerate(many)}
        return tensors
