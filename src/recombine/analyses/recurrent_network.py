"""One recurrent network laid open for reading: its layers' weights, embedding and last layer.

Made of a lane of our own language model, or of a user's nn.LSTM or nn.GRU with a linear layer on
top. Weights lie as PyTorch has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from recombine.errors import BadValue, UsageError
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
        assert self.embedding is not None, "word numbers need an embedding: see check"
        return self.embedding[given.long()]

    def check(self, given: Any) -> None:
        """Refuse what is neither a table of word numbers nor one of vectors that it can read."""
        if not isinstance(given, Tensor):
            raise UsageError(f"sequences are a {type(given).__name__}: pass a torch.Tensor")
        width = self.layers[0].input_weight.shape[1]
        kind = f"sequences are {list(given.shape)} of {given.dtype}"
        if given.is_floating_point():
            if given.ndim != 3 or given.shape[2] != width:
                raise UsageError(
                    f"{kind}: pass word numbers as whole numbers, a table of sequences and words, "
                    f"or vectors, [sequences, words, {width}]"
                )
            return
        if self.embedding is None:
            raise UsageError(
                "word numbers were given, but the network has no embedding: "
                "pass one, or sequences of vectors"
            )
        if given.ndim != 2 or given.is_complex() or given.dtype == torch.bool:
            raise UsageError(f"{kind}: pass word numbers, a table of sequences and words")
        size = len(self.embedding)
        wrong = (given < 0) | (given >= size)
        if wrong.any():
            raise BadValue("sequences", int(given[wrong][0]), f"word numbers from 0 to {size - 1}")


def of_lane(stack: StackedLanguageModel, lane: int) -> Network:
    """One lane of our own language model, read on the CPU wherever it was trained."""

    def own(weights: Tensor) -> Tensor:
        return weights[lane].detach().cpu()

    blueprint = stack.blueprint
    return Network(
        cell=blueprint.cell,
        layers=tuple(Layer(*map(own, stack.layer(i))) for i in range(blueprint.layers)),
        last_weight=own(stack.last_weight),
        last_bias=own(stack.last_bias),
        embedding=own(stack.embedding),
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
    if not isinstance(last, nn.Linear):
        raise UsageError(f"the last layer is a {type(last).__name__}: pass the nn.Linear")
    if embedding is not None and not isinstance(embedding, nn.Embedding):
        raise UsageError(f"the embedding is a {type(embedding).__name__}: pass an nn.Embedding")
    if embedding is not None and embedding.max_norm is not None:
        raise UsageError("the embedding changes with what it reads: pass one without max_norm")
    if embedding is not None and embedding.embedding_dim != module.input_size:
        raise UsageError(
            f"the embedding gives {embedding.embedding_dim} numbers, but the module reads "
            f"{module.input_size}"
        )
    if last.in_features != module.hidden_size:
        raise UsageError(
            f"the last layer reads {last.in_features} numbers, but the module's states have "
            f"{module.hidden_size}"
        )
    types = {module.weight_ih_l0.dtype, last.weight.dtype}
    types |= set() if embedding is None else {embedding.weight.dtype}
    if len(types) > 1:
        several = " and ".join(sorted(map(str, types)))
        raise UsageError(f"the modules compute in {several}: bring them to one with .to(dtype)")
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
