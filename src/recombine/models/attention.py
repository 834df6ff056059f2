"""Attention over the outputs of an encoder, the encoder's half computed once a sequence.

    mlp:  score_j = v · ReLU(e_j W_e + q W_q + b) + b'      (W[e; q] of the text, in two halves)
    dot:  score_j = e_j · q

The weights are the softmax of the scores over the positions that are not padding; the context is
the sum of the encoder's outputs by these weights. Sums are elementwise products summed over the
last or a middle dimension, never a product with a vector, so that no seed feels its neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from recombine.models.initial import Initial
from recombine.models.shared import Shared


@dataclass(frozen=True)
class Memory:
    """What one sequence offers to attention, ready to be asked many times."""

    keys: Float[Tensor, "seed batch length key"]
    values: Float[Tensor, "seed batch length value"]
    absent: Bool[Tensor, "seeds_or_1 batch length"] | None
    """Where there is only padding; none: nowhere."""
    query: Shared | None = None
    """The query's half of the weights, for one pass."""


class Attention(nn.Module, ABC):
    """Scores of encoder positions for a query."""

    @abstractmethod
    def open(
        self,
        outputs: Float[Tensor, "seed batch length value"],
        absent: Bool[Tensor, "seeds_or_1 batch length"] | None,
    ) -> Memory:
        """Everything that does not depend on the query."""

    @abstractmethod
    def scores(
        self, memory: Memory, query: Float[Tensor, "seed batch hidden"]
    ) -> Float[Tensor, "seed batch length"]:
        """How well each position fits the query."""

    def weights(
        self, memory: Memory, query: Float[Tensor, "seed batch hidden"]
    ) -> Float[Tensor, "seed batch length"]:
        """The scores as a distribution over the positions that are there."""
        scores = self.scores(memory, query)
        if memory.absent is not None:
            scores = scores.masked_fill(memory.absent, -torch.inf)
        return scores.softmax(-1)

    @staticmethod
    def context(
        memory: Memory, weights: Float[Tensor, "seed batch length"]
    ) -> Float[Tensor, "seed batch value"]:
        """The outputs summed by the weights."""
        return (weights.unsqueeze(-1) * memory.values).sum(2)


class Perceptron(Attention):
    """Scores by a layer of ReLUs."""

    def __init__(self, initial: Initial, values: int, query: int, units: int) -> None:
        super().__init__()
        both = values + query
        self.encoder = initial.weight(values, units, width=both)
        self.decoder = initial.weight(query, units, width=both)
        self.bias = initial.bias(units, width=both)
        self.score = initial.bias(units, width=units)
        self.score_bias = initial.bias(1, width=units)

    def open(
        self,
        outputs: Float[Tensor, "seed batch length value"],
        absent: Bool[Tensor, "seeds_or_1 batch length"] | None,
    ) -> Memory:
        keys = Shared(self.encoder, self.bias)(outputs.flatten(1, 2))
        keys = keys.view(*outputs.shape[:3], -1)
        return Memory(keys, outputs, absent, Shared(self.decoder))

    def scores(
        self, memory: Memory, query: Float[Tensor, "seed batch hidden"]
    ) -> Float[Tensor, "seed batch length"]:
        assert memory.query is not None
        hidden = torch.relu(memory.keys + memory.query(query).unsqueeze(2))
        score = (hidden * self.score[:, None, None]).sum(-1)
        return score + self.score_bias.unsqueeze(1)


class Dot(Attention):
    """Scores by the inner product."""

    def open(
        self,
        outputs: Float[Tensor, "seed batch length value"],
        absent: Bool[Tensor, "seeds_or_1 batch length"] | None,
    ) -> Memory:
        return Memory(outputs, outputs, absent)

    def scores(
        self, memory: Memory, query: Float[Tensor, "seed batch hidden"]
    ) -> Float[Tensor, "seed batch length"]:
        return (memory.keys * query.unsqueeze(2)).sum(-1)
