"""An analysis of one's own: how sure is the network of its answers on each split?

Run it on any trained stack, or attach it to a trial as a probe (see docs/extending.md).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from recombine.analyses import Analysis
from recombine.seeds import stream


@dataclass(frozen=True)
class Confidence(Analysis):
    """The mean probability of the predicted class, a number a seed and split."""

    name: ClassVar[str] = "confidence"

    examples: int = 200

    @torch.no_grad()
    def measure(self, stack, task, model):
        measured = {}
        for split in task.splits():
            inputs = task.sample(split, self.examples, stream(0, "confidence", split)).inputs
            p = model.probabilities(stack(torch.from_numpy(inputs).unsqueeze(0)))
            measured[f"confidence/{split}"] = p.amax(-1).mean((1, 2)).numpy()
        return measured
