"""Contextual decomposition as an analysis: which factor of a sequence carries the answer?

Each factor of a sequence task is rendered into certain words. These are taken as a phrase (from
its first word to its last), and what is measured is the phrase's part of the right answer's score,
relative to the mean over answers. An answer that composes is carried by the factors that it should
depend on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from recombine.analyses.analysis import ANALYSIS_SEED, Analysis
from recombine.analyses.decomposition import decompose
from recombine.analyses.decomposition_variant import Variant
from recombine.analyses.recurrent_network import of_lane
from recombine.errors import BadValue, UsageError
from recombine.models.language_model import LanguageModel, StackedLanguageModel
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.seeds import stream
from recombine.tasks.spans import Spans
from recombine.tasks.task import Task


@dataclass(frozen=True)
class Contribution(Analysis):
    """Each factor's part of each output's right score, by contextual decomposition."""

    name: ClassVar[str] = "contribution"

    split: str = "all"
    """Whose examples are decomposed."""
    examples: int = 100
    variant: Variant = Variant()

    def validate(self) -> None:
        if self.examples < 1:
            raise BadValue("analyses/contribution.examples", self.examples, "at least 1")

    def example(self) -> tuple[Task, Model]:
        """A task and a model it fits, for the conformance checks."""
        return Spans.variants()[0], LanguageModel.variants()[0]

    def measure(
        self, stack: Stack, task: Task, model: Model
    ) -> Mapping[str, Float[np.ndarray, "seed output factor"]]:
        if not isinstance(stack, StackedLanguageModel) or len(task.input_shape) != 2:
            raise UsageError(
                f"{model.name} on {task.name} cannot be decomposed: "
                "take models/language-model on a task of sequences, such as tasks/spans"
            )
        drawn = task.sample(self.split, self.examples, stream(ANALYSIS_SEED, "contribution"))
        phrases = np.concatenate([self._phrases(task, j) for j in range(len(task.factors))])
        last = np.full(len(phrases), task.input_shape[0] - 1)
        rows = torch.from_numpy(drawn.inputs)
        right = torch.from_numpy(drawn.targets)
        found = []
        for lane in range(stack.lanes):
            network = of_lane(stack, lane)
            embedded = rows.to(network.dtype) @ stack.embedding[lane].detach()
            scores = decompose(network, embedded, phrases, last, variant=self.variant).relevant
            shape = (len(task.factors), self.examples, len(task.outputs), task.classes)
            by_class = scores.reshape(shape)
            own = by_class.take_along_dim(right[None, :, :, None], dim=-1)[..., 0]
            found.append((own - by_class.mean(-1)).double().mean(1).T.numpy())
        return {"contribution/score": np.stack(found)}

    def _phrases(self, task: Task, factor: int) -> np.ndarray:
        """The words a factor is rendered into, in every example."""
        (words,) = np.where(task.part(factor).any(1))
        each = np.arange(self.examples)
        ends = np.full(self.examples, words[-1] + 1)
        return np.stack([each, np.full(self.examples, words[0]), ends], 1)
