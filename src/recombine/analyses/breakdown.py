"""The breakdown: what a model answers to each item of each split, the same items for every seed.

From the answers follow accuracy by factor and by combination, and the kinds of error that a task's
oracle tells apart; and two models can be compared item by item. Splits of at most `items`
combinations are taken whole, larger ones by a sample that depends on the task alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Int

from recombine.analyses.analysis import ANALYSIS_SEED, Analysis
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.seeds import stream
from recombine.tasks.task import Examples, Task

CHUNK = 1000
"""Items in one pass."""


@dataclass(frozen=True)
class Breakdown(Analysis):
    """The predicted class of every output on the items of every split."""

    name: ClassVar[str] = "breakdown"

    items: int = 2000
    """Most items a split."""

    def validate(self) -> None:
        if self.items < 1:
            raise BadValue("analyses/breakdown.items", self.items, "at least 1")

    @torch.no_grad()
    def measure(
        self, stack: Stack, task: Task, model: Model
    ) -> Mapping[str, Int[np.ndarray, "seed n output"]]:
        answers = {}
        device = next(stack.parameters()).device
        for split in task.splits():
            inputs = torch.from_numpy(items(task, split, self.items).inputs).unsqueeze(0)
            chunks = [
                model.probabilities(stack(part.to(device))).argmax(-1).cpu()
                for part in torch.split(inputs, CHUNK, dim=1)
            ]
            answers[f"answers/{split}"] = torch.cat(chunks, dim=1).numpy().astype(np.int16)
        return answers


def items(task: Task, split: str, most: int) -> Examples:
    """The items that stand for a split: all its combinations, each once, or a sample of them."""
    rng = stream(ANALYSIS_SEED, "breakdown", split)
    z = np.unique(task.combinations(split), axis=0)
    if len(z) > most:
        z = z[np.sort(rng.choice(len(z), size=most, replace=False))]
    elif len(z) * 4 <= most:  # few combinations: several examples of each, if there is noise
        z = np.repeat(z, most // len(z), axis=0)
    return task.show(z, task.draw_noise(len(z), rng, split=split))
