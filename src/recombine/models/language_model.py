"""Recurrent language model: embedding, LSTM or GRU layers, and a word for every state.

As a language model (`next_word_losses`, `logits`) it reads word numbers and carries its state from
one stretch of text to the next. As any other model of the catalog (`forward`) it reads rows (words
as one-hot rows, or anything else) and answers from its last state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.next_word import next_word_loss
from recombine.models.products import product
from recombine.models.recurrent import GATES, State, Weights, run_layer, zeros
from recombine.models.stack import Stack, Tap, untouched
from recombine.seeds import stream

Drop = Callable[[int, Tensor], Tensor]
"""Dropout: from the number of the place (0 the embedding, then after every layer) and a value."""


def keep(place: int, value: Tensor) -> Tensor:
    """No dropout."""
    return value


@dataclass(frozen=True)
class LanguageModel(Model):
    """Embedding, recurrent layers of one size, a linear last layer."""

    name: ClassVar[str] = "language-model"

    cell: Literal["lstm", "gru"] = "lstm"
    embedding: int = 200
    hidden: int = 200
    layers: int = 1
    reach: float = 0.1
    """Embedding and last layer start as U(−reach, reach), the last bias at 0; recurrent layers
    start as PyTorch's do, U(−1/√hidden, 1/√hidden)."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        return cls(embedding=5, hidden=6), cls(cell="gru", embedding=4, hidden=5, layers=2)

    def validate(self) -> None:
        for field in ("embedding", "hidden", "layers"):
            if getattr(self, field) < 1:
                raise BadValue(f"models/language-model.{field}", getattr(self, field), "1 or more")

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> StackedLanguageModel:
        return self._stack(seeds, input_shape[-1], outputs * classes, outputs)

    def of_words(self, seeds: Sequence[int], words: int) -> StackedLanguageModel:
        """The language models of these seeds over so many words."""
        return self._stack(seeds, words, words, 1)

    def _stack(
        self, seeds: Sequence[int], words: int, units: int, outputs: int
    ) -> StackedLanguageModel:
        drawn = [self._draw(words, units, stream(seed, "init")) for seed in seeds]
        parameters = {
            name: torch.from_numpy(np.stack([values[name] for values in drawn]).astype(np.float32))
            for name in drawn[0]
        }
        return StackedLanguageModel(parameters, self, outputs)

    def _draw(self, words: int, units: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The parameters of one seed."""
        drawn = {"embedding": rng.uniform(-self.reach, self.reach, (words, self.embedding))}
        rows, bound = GATES[self.cell] * self.hidden, 1 / math.sqrt(self.hidden)
        for layer in range(self.layers):
            inputs = self.hidden if layer else self.embedding
            shapes = {
                "input_weight": (rows, inputs),
                "hidden_weight": (rows, self.hidden),
                "input_bias": (rows,),
                "hidden_bias": (rows,),
            }
            for name, shape in shapes.items():
                drawn[f"{name}_{layer}"] = rng.uniform(-bound, bound, shape)
        drawn["last_weight"] = rng.uniform(-self.reach, self.reach, (units, self.hidden))
        drawn["last_bias"] = np.zeros(units)
        return drawn

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return raw.softmax(-1)


class StackedLanguageModel(Stack):
    """The language models of many seeds; sites are `embedding`, `layer.0`, …, `output`."""

    def __init__(
        self, parameters: dict[str, Tensor], blueprint: LanguageModel, outputs: int
    ) -> None:
        super().__init__()
        for name, value in parameters.items():
            self.register_parameter(name, nn.Parameter(value))
        self.blueprint, self._outputs = blueprint, outputs
        self.embedding: nn.Parameter
        self.last_weight: nn.Parameter
        self.last_bias: nn.Parameter

    @property
    def lanes(self) -> int:
        return len(self.embedding)

    @property
    def sites(self) -> tuple[str, ...]:
        return ("embedding", *(f"layer.{i}" for i in range(self.blueprint.layers)), "output")

    def layer(self, index: int) -> Weights:
        """The weights of a recurrent layer."""
        names = ("input_weight", "hidden_weight", "input_bias", "hidden_bias")
        a, b, c, d = (getattr(self, f"{name}_{index}") for name in names)
        return a, b, c, d

    def start(self, batch: int) -> tuple[State, ...]:
        """The state of every layer before the first word."""
        every = range(self.blueprint.layers)
        return tuple(zeros(self.blueprint.cell, batch, self.layer(i)) for i in every)

    def embed(self, text: Int[Tensor, "seeds_or_1 time batch"]) -> Tensor:
        """The vectors of words, looked up lane by lane."""
        words, lanes = self.embedding.shape[1], self.lanes
        first = torch.arange(lanes, device=text.device).reshape(-1, 1, 1) * words
        return F.embedding(text + first, self.embedding.flatten(0, 1))

    def states(
        self,
        rows: Float[Tensor, "seed time batch in"],
        state: Sequence[State],
        *,
        drop: Drop = keep,
        tap: Tap = untouched,
    ) -> tuple[Float[Tensor, "seed time batch hidden"], tuple[State, ...]]:
        """The last layer's state after every word, and all layers' states at the end."""
        values, last = drop(0, tap("embedding", rows)), []
        for i, before in enumerate(state):
            values, after = run_layer(self.blueprint.cell, values, self.layer(i), before)
            values = drop(i + 1, tap(f"layer.{i}", values))
            last.append(after)
        return values, tuple(last)

    def next_word_losses(
        self,
        text: Int[Tensor, "seed time batch"],
        following: Int[Tensor, "seed time batch"],
        state: Sequence[State],
        *,
        drop: Drop = keep,
    ) -> tuple[Float[Tensor, " seed"], tuple[State, ...]]:
        """The mean loss of each lane over a stretch of text, and the state after it."""
        values, after = self.states(self.embed(text), state, drop=drop)
        loss = next_word_loss(
            values.flatten(1, 2), self.last_weight, self.last_bias, following.flatten(1)
        )
        return loss, after

    def logits(
        self, text: Int[Tensor, "seeds_or_1 time batch"]
    ) -> Float[Tensor, "seed time batch word"]:
        """The scores of every next word, from an empty state."""
        values, _ = self.states(self.embed(text), self.start(text.shape[-1]))
        return (
            values @ self.last_weight.transpose(1, 2).unsqueeze(1) + self.last_bias[:, None, None]
        )

    def forward(
        self, inputs: Float[Tensor, "seeds_or_1 batch *shape"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output class"]:
        rows = inputs if inputs.ndim == 4 else inputs.unsqueeze(2)
        if rows.ndim != 4 or rows.shape[-1] != self.embedding.shape[1]:
            legal = f"rows of {self.embedding.shape[1]} numbers, perhaps one a time step"
            raise BadValue("models/language-model inputs", tuple(inputs.shape[2:]), legal)
        lanes, batch, time, _ = (self.lanes, *rows.shape[1:])
        flat = rows.transpose(1, 2).reshape(len(rows), time * batch, -1).expand(lanes, -1, -1)
        embedded = product(flat, self.embedding).reshape(lanes, time, batch, -1)
        values, _ = self.states(embedded, self.start(batch), tap=tap)
        raw = product(values[:, -1], self.last_weight.transpose(1, 2))
        raw = raw + self.last_bias.unsqueeze(1)
        return tap("output", raw.reshape(lanes, batch, self._outputs, -1))
