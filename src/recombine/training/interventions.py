"""Interventions on training: what is asked of a network beyond its answers.

*Attentive guidance* (Hupkes et al. 2019) tells the network where to look: the loss grows by
−log of the attention on the right source position, summed over the steps that have one. It works
for any stack with sites `decoder.<t>.attention` and any task that states attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from recombine.errors import BadValue, UsageError
from recombine.models.stack import Stack
from recombine.spec import Spec
from recombine.tasks.sequence import StatesAttention
from recombine.tasks.task import IGNORE, Task

LEAST = 1e-30
"""Attention is not taken to be smaller than this: its logarithm must be a number."""


@dataclass(frozen=True)
class Guidance(Spec):
    """Attentive guidance."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "guidance"

    weight: float = 1.0
    """What the attention's loss is multiplied by."""

    def validate(self) -> None:
        if self.weight < 0:
            raise BadValue("training/guidance.weight", self.weight, "0 or more")

    def check(self, stack: Stack, task: Task) -> None:
        """Refuse a network or a task that cannot be guided."""
        if not isinstance(task, StatesAttention):
            raise UsageError(
                f"training/guidance: tasks/{task.name} does not state where to look; "
                "a task that does has a method 'attention'"
            )
        if not any(_is_attention(site) for site in stack.sites):
            raise UsageError(
                "training/guidance: the model has no attention to guide, that is no site named "
                "'decoder.<step>.attention'"
            )

    def losses(
        self,
        seen: dict[str, Float[Tensor, "seed batch length"]],
        wanted: Int[Tensor, "seeds_or_1 batch output"],
    ) -> Float[Tensor, " seed"]:
        """Of each lane: weight × sum over steps of −log attention where it should be, mean over
        the batch."""
        total = torch.zeros(())
        for site, weights in seen.items():
            at = wanted[:, :, int(site.split(".")[1])].expand(weights.shape[:2])
            found = weights.gather(-1, at.clamp(min=0).unsqueeze(-1)).squeeze(-1)
            loss = -found.clamp(min=LEAST).log().masked_fill(at == IGNORE, 0.0)
            total = total.to(loss) + loss.mean(1)
        return self.weight * total


class AttentionTap:
    """Notes the attention of every step as it passes."""

    attention_only = True

    def __init__(self) -> None:
        self.seen: dict[str, Tensor] = {}

    def __call__(self, site: str, value: Tensor) -> Tensor:
        if _is_attention(site):
            self.seen[site] = value
        return value


def _is_attention(site: str) -> bool:
    return site.startswith("decoder.") and site.endswith(".attention")
