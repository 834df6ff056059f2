"""Does a score come to carry a factor? Its information and mean slope, for the first updates.

The paper's propositions say: once an update lowers the loss, the output carries information about
every input that carries information about the target, and its derivative in that input is no
longer zero, needed or not. Two numbers follow this for the score s_i = p_i(last class):

- `information`: I(Z_j ; s_i) in bits *on the training distribution*, the score cut into bins of
  equal count (so any monotone change of the score leaves it alone), Miller-Madow corrected;
- `slope`: the mean over training examples of ∂s_i/∂x_j, signed, summed over the entries of the
  input that factor j is rendered into. Its sign says which way the model leans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from recombine.analyses.analysis import ANALYSIS_SEED, Analysis, shown
from recombine.analyses.dependence import slopes
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.seeds import stream
from recombine.tasks.task import Examples, Task
from recombine.theory.information import information


@dataclass(frozen=True)
class Redundancy(Analysis):
    """Measures information and mean slope of each output's score in each factor."""

    name: ClassVar[str] = "redundancy"

    examples: int = 600
    """Training examples the estimate rests on."""
    bins: int = 8
    """Into how many bins of equal count the score is cut."""

    def validate(self) -> None:
        if self.bins < 2:
            raise BadValue("analyses/redundancy.bins", self.bins, "at least 2")
        if self.examples < self.bins:
            legal = f"at least a bin each ({self.bins})"
            raise BadValue("analyses/redundancy.examples", self.examples, legal)

    def measure(
        self, stack: Stack, task: Task, model: Model
    ) -> Mapping[str, Float[np.ndarray, "seed output factor"]]:
        rng = stream(ANALYSIS_SEED, "redundancy")
        examples = task.sample("train", self.examples, rng)
        with torch.no_grad():
            scores = model.probabilities(stack(shown(examples, stack)))[..., -1].cpu().numpy()
        carried = [
            [
                score_information(scores[:, :, i], examples.z[:, j], size, bins=self.bins)
                for j, size in enumerate(task.sizes)
            ]
            for i in range(len(task.outputs))
        ]
        return {
            "redundancy/information": np.array(carried).transpose(2, 0, 1),
            "redundancy/slope": mean_slopes(stack, task, model, examples),
        }


def score_information(
    scores: Float[np.ndarray, "seed n"], z: Int[np.ndarray, " n"], values: int, *, bins: int
) -> Float[np.ndarray, " seed"]:
    """I(Z; score) of each lane; a score that never varies carries nothing."""
    counts = np.zeros((len(scores), bins, values), dtype=np.int64)
    for lane, score in enumerate(scores):
        edges = np.quantile(score, np.arange(1, bins) / bins)
        cut = np.searchsorted(edges, score, side="right")
        np.add.at(counts[lane], (cut, z), 1)
    return information(counts)


def mean_slopes(
    stack: Stack, task: Task, model: Model, examples: Examples
) -> Float[np.ndarray, "seed output factor"]:
    """The mean of ∂s_i/∂x_j over examples, signed."""
    rows = []
    for i in range(len(task.outputs)):
        last: Tensor = slopes(stack, model, examples, output=i)[-1].double().mean(1)
        parts = [torch.from_numpy(task.part(j)).to(last.device) for j in range(len(task.factors))]
        rows.append(torch.stack([last[:, part].sum(-1) for part in parts], dim=-1))
    return torch.stack(rows, dim=1).cpu().numpy()
