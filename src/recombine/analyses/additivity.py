"""A network's answers by combination, and how far they add up over conjunctions seen in training.

The answer to a combination is the mean over unseen examples of it. A kernel model's answers are a
sum over the conjunctions of factors that occur in training (`theory/additivity.py`); R² on
held-out combinations says how near a network comes to that form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from recombine.analyses.analysis import ANALYSIS_SEED, Analysis
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.seeds import stream
from recombine.tasks.task import Task
from recombine.theory.additivity import additivity

CHUNK = 512
"""Examples in one pass."""


@dataclass(frozen=True)
class Additivity(Analysis):
    """Measures answers by combination and their additivity, of the first output."""

    name: ClassVar[str] = "additivity"

    examples: int = 1
    """Examples a combination; more than 1 is of use where a task has noise."""

    def validate(self) -> None:
        if self.examples < 1:
            raise BadValue("analyses/additivity.examples", self.examples, "at least 1")

    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        z, train = rows(task)
        every = np.repeat(z, self.examples, axis=0)
        rng = stream(ANALYSIS_SEED, "additivity")
        inputs = task.render(every, task.draw_noise(len(every), rng))
        answers, right = answers_of(stack, task, model, inputs, task.targets(every)[:, 0])
        lanes, shape = len(answers), (len(z), self.examples)
        values = task.class_values
        wanted = np.asarray(values)[task.targets(every)[:, 0]] if values else np.nan
        table = answers.reshape(lanes, *shape).mean(-1)
        found = [additivity(lane, z, train) for lane in table]
        return {
            "answers/mean": table,
            "answers/accuracy": right.reshape(lanes, *shape).mean(-1),
            "answers/error": ((answers - wanted) ** 2).reshape(lanes, *shape).mean(-1),
            "additivity/train": np.array([one.r2_train for one in found]),
            "additivity/test": np.array([one.r2_test for one in found]),
        }


def rows(task: Task) -> tuple[Int[np.ndarray, "n factor"], Bool[np.ndarray, " n"]]:
    """The combinations of all splits, those of training first, and which these are."""
    splits = dict(task.splits())
    train = splits.pop("train")
    held = np.unique(np.concatenate(list(splits.values())), axis=0)
    z = np.concatenate([train, held])
    return z, np.arange(len(z)) < len(train)


@torch.no_grad()
def answers_of(
    stack: Stack,
    task: Task,
    model: Model,
    inputs: np.ndarray,
    targets: Int[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, "seed n"], Float[np.ndarray, "seed n"]]:
    """What each lane says to each input as one number, and whether it is right."""
    device = next(stack.parameters()).device
    answers, right = [], []
    for start in range(0, len(inputs), CHUNK):
        part = torch.from_numpy(inputs[start : start + CHUNK]).unsqueeze(0).to(device)
        raw = stack(part)[:, :, 0]
        number = _number(raw, model, task).double()
        answers.append(number)
        if task.class_values is not None and raw.shape[-1] == 1:
            values = torch.tensor(task.class_values, device=device)
            guess = (number.unsqueeze(-1) - values).abs().argmin(-1)
        else:
            guess = model.probabilities(raw.unsqueeze(2))[:, :, 0].argmax(-1)
        wanted = torch.from_numpy(targets[start : start + CHUNK]).to(device)
        right.append((guess == wanted).double())
    return torch.cat(answers, 1).cpu().numpy(), torch.cat(right, 1).cpu().numpy()


def _number(raw: Float[Tensor, "seed n unit"], model: Model, task: Task) -> Float[Tensor, "seed n"]:
    """A single unit as it is; of two classes the log-odds; of more, the expected value."""
    if raw.shape[-1] == 1:
        return raw[..., 0]
    p = model.probabilities(raw.unsqueeze(2))[:, :, 0]
    if p.shape[-1] == 2:
        return p[..., 1].log() - p[..., 0].log()
    values = task.class_values or tuple(float(k) for k in range(p.shape[-1]))
    return p @ torch.tensor(values, dtype=p.dtype, device=p.device)
