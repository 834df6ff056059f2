"""Accuracy and loss of every lane on every split, always on the same examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.sequence import SequenceStack
from recombine.seeds import stream
from recombine.tasks.task import IGNORE, Task
from recombine.training.lanes import Lanes
from recombine.training.recipe import Recipe

EVALUATION_SEED = 0
"""One evaluation set for all lanes: comparisons between seeds are paired by item."""
WIDEST = 2**20
"""Lanes × examples in one pass; more are taken in turns, to bound memory."""
SENTENCES = 1024
"""Sentences in one pass of a sequence model, whatever the number of lanes."""


def measured(task: Task, recipe: Recipe) -> list[str]:
    """What an evaluation gives, by name."""
    forced = ("forced-accuracy", "forced-loss") if recipe.evaluate_forced else ()
    return [f"{kind}/{split}" for split in task.splits() for kind in ("accuracy", "loss", *forced)]


def check_rules(task: Task, recipe: Recipe) -> None:
    """Refuse rules of stopping and keeping that go by what is not measured."""
    for rule in (*recipe.keep, *((recipe.stop,) if recipe.stop else ())):
        if rule.measure not in (known := measured(task, recipe)):
            legal = f"a measure of a split that the task has: {', '.join(known)}"
            raise BadValue(f"{rule.kind}/{rule.name}.measure", rule.measure, legal)


@dataclass(frozen=True)
class Evaluation:
    """The evaluation sets of a task, on the device."""

    model: Model
    recipe: Recipe
    sets: Mapping[str, tuple[Shaped[Tensor, "1 n *shape"], Int[Tensor, "1 n output"]]]
    class_values: tuple[float, ...] | None = None

    @staticmethod
    def of(task: Task, model: Model, recipe: Recipe, device: str) -> Evaluation:
        """Examples of every split, fresh from the evaluation's own stream or all there are."""
        sets = {}
        for split in task.splits():
            rng = stream(EVALUATION_SEED, "evaluation", split)
            if recipe.evaluate_whole:
                z = task.combinations(split)
                examples = task.show(z, task.draw_noise(len(z), rng, split=split))
            else:
                examples = task.sample(split, recipe.evaluation_examples, rng)
            inputs = torch.from_numpy(examples.inputs).unsqueeze(0).to(device)
            sets[split] = inputs, torch.from_numpy(examples.targets).unsqueeze(0).to(device)
        return Evaluation(model, recipe, sets, task.class_values)

    @torch.no_grad()
    def measure(self, lanes: Lanes) -> dict[str, Float[Tensor, " seed"]]:
        """`accuracy/<split>` (all scored outputs right) and `loss/<split>` of each lane."""
        measures = {}
        lanes.stack.eval()
        for split, (inputs, targets) in self.sets.items():
            accuracy, loss = self._measure(lanes, inputs, targets)
            measures[f"accuracy/{split}"] = accuracy
            measures[f"loss/{split}"] = loss
            if self.recipe.evaluate_forced:
                accuracy, loss = self._measure(lanes, inputs, targets, forced=True)
                measures[f"forced-accuracy/{split}"] = accuracy
                measures[f"forced-loss/{split}"] = loss
        return measures

    def _measure(
        self, lanes: Lanes, inputs: Tensor, targets: Tensor, *, forced: bool = False
    ) -> tuple[Tensor, Tensor]:
        stack = lanes.stack
        chunk = max(1, WIDEST // stack.lanes)
        if isinstance(stack, SequenceStack):
            chunk = SENTENCES
        n = inputs.shape[1]
        right = torch.zeros(lanes.stack.lanes, dtype=torch.float64, device=inputs.device)
        loss = torch.zeros_like(right)
        for start in range(0, n, chunk):
            x, y = inputs[:, start : start + chunk], targets[:, start : start + chunk]
            if forced and isinstance(stack, SequenceStack):
                raw = stack.forced(x, y)
            else:
                raw = stack(x)
            guess = self._guess(raw)
            right += ((guess == y) | (y == IGNORE)).all(-1).sum(1)
            loss += lanes.loss(raw, y).double() * x.shape[1]
        return right / n, loss / n

    def _guess(self, raw: Tensor) -> Tensor:
        """The likeliest class, or, where a single unit gives a number, the one that is nearest."""
        if self.class_values is None or raw.shape[-1] > 1:
            return self.model.probabilities(raw).argmax(-1)
        numbers = torch.tensor(self.class_values, dtype=raw.dtype, device=raw.device)
        return (raw - numbers).abs().argmin(-1)
