"""One recurrent network laid open for reading: its layers' weights, embedding and last layer.

Made of a lane of our own language model, or of a user's nn.LSTM or nn.GRU with a linear layer on
top. Weights lie as PyTorch has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from recombine.errors import UsageError
from recombine.models.language_model import StackedLanguageModel


@dataclass(frozen=True)
class Layer:
    """The weights of one recurrent layer, gates in PyTorch's order."""

    input_weight: Float[Tensor, "rows in"]
    hidden_weight: Float[Tensor, "rows hidden"]
    input_bias: Float[Tensor, " rows"]
    hidden_bias: Float[Tensor, " rows"]


@dataclass(frozen=True)
class Network:
    """Layers of one kind of cell, perhaps an embedding before them, a linear layer after them."""

    cell: Literal["lstm", "gru"]
    layers: tuple[Layer, ...]
    last_weight: Float[Tensor, "word hidden"]
    last_bias: Float[Tensor, " word"]
    embedding: Float[Tensor, "symbol in"] | None = None
    batch_first: bool = True
    """Whether sequences are given as [sequence, time, …] or as [time, sequence, …]."""

    @property
    def hidden(self) -> int:
        """Units of a layer."""
        return self.layers[0].hidden_weight.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """What it computes in."""
        return self.last_weight.dtype

    def to(self, dtype: torch.dtype) -> Network:
        """The same network computing in another precision."""
        layers = [Layer(**{k: v.to(dtype) for k, v in vars(w).items()}) for w in self.layers]
        symbols = None if self.embedding is None else self.embedding.to(dtype)
        return replace(
            self,
            layers=tuple(layers),
            last_weight=self.last_weight.to(dtype),
            last_bias=self.last_bias.to(dtype),
            embedding=symbols,
        )

    def rows(self, given: Shaped[Tensor, "sequence time *in"]) -> Float[Tensor, "sequence time in"]:
        """What the first layer reads: looked up if word numbers are given."""
        if given.is_floating_point():
            return given.to(self.dtype)
        if self.embedding is None:
            raise UsageError(
                "word numbers were given, but the network has no embedding: "
                "pass one, or sequences of vectors"
            )
        return self.embedding[given]


def of_lane(stack: StackedLanguageModel, lane: int) -> Network:
    """One lane of our own language model."""
    blueprint = stack.blueprint
    layers = (Layer(*(w[lane].detach() for w in stack.layer(i))) for i in range(blueprint.layers))
    return Network(
        cell=blueprint.cell,
        layers=tuple(layers),
        last_weight=stack.last_weight[lane].detach(),
        last_bias=stack.last_bias[lane].detach(),
        embedding=stack.embedding[lane].detach(),
    )


def of_module(
    module: nn.LSTM | nn.GRU, last: nn.Linear, embedding: nn.Embedding | None = None
) -> Network:
    """A user's own modules; sequences are then given in the module's own layout."""
    if not isinstance(module, nn.LSTM | nn.GRU):
        raise UsageError(
            f"a {type(module).__name__} cannot be decomposed: pass an nn.LSTM or an nn.GRU"
        )
    if module.bidirectional or module.proj_size:
        raise UsageError(
            "a bidirectional or projecting layer cannot be decomposed: "
            "pass a module that reads one way and has proj_size = 0"
        )
    if last.in_features != module.hidden_size:
        raise UsageError(
            f"the last layer reads {last.in_features} numbers, but the module's states have "
            f"{module.hidden_size}"
        )
    weight = last.weight.detach()
    return Network(
        cell="lstm" if isinstance(module, nn.LSTM) else "gru",
        layers=tuple(_layer(module, i) for i in range(module.num_layers)),
        last_weight=weight,
        last_bias=weight.new_zeros(len(weight)) if last.bias is None else last.bias.detach(),
        embedding=None if embedding is None else embedding.weight.detach(),
        batch_first=module.batch_first,
    )


def _layer(module: nn.LSTM | nn.GRU, index: int) -> Layer:
    weights = [getattr(module, f"weight_{which}_l{index}").detach() for which in ("ih", "hh")]
    none = weights[0].new_zeros(len(weights[0]))
    biases = [
        getattr(module, f"bias_{which}_l{index}").detach() if module.bias else none
        for which in ("ih", "hh")
    ]
    return Layer(*weights, *biases)
