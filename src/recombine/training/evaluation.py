"""Accuracy and loss of every lane on every split, always on the same examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from recombine.models.model import Model
from recombine.seeds import stream
from recombine.tasks.task import Task
from recombine.training.lanes import Lanes
from recombine.training.recipe import Recipe

EVALUATION_SEED = 0
"""One evaluation set for all lanes: comparisons between seeds are paired by item."""
WIDEST = 2**20
"""Lanes × examples in one pass; more are taken in turns, to bound memory."""


@dataclass(frozen=True)
class Evaluation:
    """The evaluation sets of a task, on the device."""

    model: Model
    recipe: Recipe
    sets: Mapping[str, tuple[Shaped[Tensor, "1 n *shape"], Int[Tensor, "1 n output"]]]
    class_values: tuple[float, ...] | None = None

    @staticmethod
    def of(task: Task, model: Model, recipe: Recipe, device: str) -> Evaluation:
        """Fresh examples of every split from the evaluation's own stream."""
        sets = {}
        for split in task.splits():
            rng = stream(EVALUATION_SEED, "evaluation", split)
            examples = task.sample(split, recipe.evaluation_examples, rng)
            inputs = torch.from_numpy(examples.inputs).unsqueeze(0).to(device)
            sets[split] = inputs, torch.from_numpy(examples.targets).unsqueeze(0).to(device)
        return Evaluation(model, recipe, sets, task.class_values)

    @torch.no_grad()
    def measure(self, lanes: Lanes) -> dict[str, Float[Tensor, " seed"]]:
        """`accuracy/<split>` (all outputs right) and `loss/<split>` of each lane."""
        measures = {}
        lanes.stack.eval()
        for split, (inputs, targets) in self.sets.items():
            accuracy, loss = self._measure(lanes, inputs, targets)
            measures[f"accuracy/{split}"] = accuracy
            measures[f"loss/{split}"] = loss
        return measures

    def _measure(self, lanes: Lanes, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        chunk = max(1, WIDEST // lanes.stack.lanes)
        n = inputs.shape[1]
        right = torch.zeros(lanes.stack.lanes, dtype=torch.float64, device=inputs.device)
        loss = torch.zeros_like(right)
        for start in range(0, n, chunk):
            x, y = inputs[:, start : start + chunk], targets[:, start : start + chunk]
            raw = lanes.stack(x)
            guess = self._guess(raw)
            right += (guess == y).all(-1).sum(1)
            loss += lanes.loss(raw, y).double() * x.shape[1]
        return right / n, loss / n

    def _guess(self, raw: Tensor) -> Tensor:
        """The likeliest class, or, where a single unit gives a number, the one that is nearest."""
        if self.class_values is None or raw.shape[-1] > 1:
            return self.model.probabilities(raw).argmax(-1)
        numbers = torch.tensor(self.class_values, dtype=raw.dtype, device=raw.device)
        return (raw - numbers).abs().argmin(-1)
