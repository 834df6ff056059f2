"""The abstract stack of sequence models: decodes freely, or with the right words fed back."""

from __future__ import annotations

from abc import abstractmethod

from jaxtyping import Float, Int
from torch import Tensor

from recombine.models.stack import Stack, Tap, untouched


class SequenceStack(Stack):
    """Maps one-hot rows of source words to scores of target words, step by step."""

    @abstractmethod
    def unroll(
        self,
        inputs: Float[Tensor, "seeds_or_1 batch time word"],
        tap: Tap = untouched,
        *,
        targets: Int[Tensor, "seeds_or_1 batch output"] | None = None,
        steps: int | None = None,
    ) -> Float[Tensor, "seed batch step class"]:
        """The scores of so many steps (none: one an output).

        With targets, the right word is fed back at each step; without, the network's own best.
        Inputs may be shorter or longer than those the stack was made for.
        """

    def forward(
        self, inputs: Float[Tensor, "seeds_or_1 batch time word"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output class"]:
        return self.unroll(inputs, tap)

    def forced(
        self,
        inputs: Float[Tensor, "seeds_or_1 batch time word"],
        targets: Int[Tensor, "seeds_or_1 batch output"],
        tap: Tap = untouched,
    ) -> Float[Tensor, "seed batch output class"]:
        """The scores when each step is fed the right word of the step before."""
        return self.unroll(inputs, tap, targets=targets)
