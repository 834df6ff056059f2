"""Multilayer perceptron, written out for a stack: one batched product a layer for all seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack, Tap, odds, untouched
from recombine.seeds import stream
from recombine.spec import later

Init = Literal["glorot", "pytorch", "playground", "glorot-zero-output", "kaiming"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}


@dataclass(frozen=True)
class MLP(Model):
    """Dense layers with one activation between them."""

    name: ClassVar[str] = "mlp"

    widths: tuple[int, ...] = (8, 8, 8)
    """Units of each hidden layer; none makes a linear model."""
    activation: Literal["relu", "tanh"] = "relu"
    """Between layers."""
    init: Init = "glorot"
    """`glorot`: uniform by fan-in and fan-out, biases 0. `pytorch`: as nn.Linear.
    `playground`: weights U(−.5, .5), biases .1. `glorot-zero-output`: the last layer is 0.
    `kaiming`: weights N(0, 2/fan-in), biases U(±1/√fan-in)."""
    readout: Literal["softmax", "sign", "linear"] = "softmax"
    """`softmax`: a logit a class. `sign`: one tanh unit in (−1, 1), its sign is the class.
    `linear`: one unit, a number, or the log-odds of class 1 of two."""
    scale: float = later(1.0)
    """Multiplies all initial weights and biases: 1 and above is lazy, near 0 is rich."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        return (
            cls(),
            cls(widths=()),
            cls(activation="tanh", init="playground", readout="sign"),
            cls(init="kaiming", readout="linear", scale=0.1),
        )

    def validate(self) -> None:
        if any(width < 1 for width in self.widths):
            raise BadValue("models/mlp.widths", list(self.widths), "positive whole numbers")
        if self.scale < 0:
            raise BadValue("models/mlp.scale", self.scale, "0 or more")

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> Stack:
        if self.readout == "sign" and classes != 2:
            raise BadValue("models/mlp.readout", "sign", f"softmax for {classes} classes")
        units = classes if self.readout == "softmax" else 1
        sizes = (math.prod(input_shape), *self.widths, outputs * units)
        drawn = [self._draw(sizes, stream(seed, "init")) for seed in seeds]
        layers = [
            tuple(map(np.stack, zip(*layer, strict=True))) for layer in zip(*drawn, strict=True)
        ]
        return StackedMLP(layers, self, outputs)

    def _draw(
        self, sizes: tuple[int, ...], rng: np.random.Generator
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights [in, out] and biases [out] of each layer of one seed."""
        layers = []
        for fan_in, fan_out in pairwise(sizes):
            weight, bias = _INITS[self.init](rng, fan_in, fan_out)
            weight, bias = self.scale * weight, self.scale * bias
            layers.append((weight.astype(np.float32), bias.astype(np.float32)))
        if self.init == "glorot-zero-output":
            layers[-1] = (np.zeros_like(layers[-1][0]), np.zeros_like(layers[-1][1]))
        return layers

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        if self.readout == "softmax":
            return raw.softmax(-1)
        if self.readout == "linear":
            return odds(raw)
        one = (1 + raw) / 2
        return torch.cat([1 - one, one], dim=-1)


def _glorot(rng: np.random.Generator, fan_in: int, fan_out: int) -> tuple[np.ndarray, np.ndarray]:
    bound = math.sqrt(6 / (fan_in + fan_out))
    return rng.uniform(-bound, bound, (fan_in, fan_out)), np.zeros(fan_out)


def _pytorch(rng: np.random.Generator, fan_in: int, fan_out: int) -> tuple[np.ndarray, np.ndarray]:
    bound = 1 / math.sqrt(fan_in)
    return rng.uniform(-bound, bound, (fan_in, fan_out)), rng.uniform(-bound, bound, fan_out)


def _playground(
    rng: np.random.Generator, fan_in: int, fan_out: int
) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(-0.5, 0.5, (fan_in, fan_out)), np.full(fan_out, 0.1)


def _kaiming(rng: np.random.Generator, fan_in: int, fan_out: int) -> tuple[np.ndarray, np.ndarray]:
    bound = 1 / math.sqrt(fan_in)
    weight = rng.standard_normal((fan_in, fan_out)) * math.sqrt(2 / fan_in)
    return weight, rng.uniform(-bound, bound, fan_out)


_INITS = {
    "glorot": _glorot,
    "glorot-zero-output": _glorot,
    "pytorch": _pytorch,
    "playground": _playground,
    "kaiming": _kaiming,
}


class StackedMLP(Stack):
    """The perceptrons of many seeds; sites are `hidden.0`, `hidden.1`, …, `output`.

    Weights are [seed, in, out]: the gradient of a batched product comes out in that layout, and
    an optimizer whose gradients lie as its parameters do is half again as fast.
    """

    def __init__(
        self, layers: Sequence[tuple[np.ndarray, ...]], blueprint: MLP, outputs: int
    ) -> None:
        super().__init__()
        tensors = [(torch.from_numpy(w), torch.from_numpy(b)) for w, b in layers]
        self.weights = nn.ParameterList([weight for weight, _ in tensors])
        self.biases = nn.ParameterList([bias for _, bias in tensors])
        self._activation = ACTIVATIONS[blueprint.activation]
        self._sign = blueprint.readout == "sign"
        self._outputs = outputs

    @property
    def lanes(self) -> int:
        return len(self.weights[0])

    @property
    def sites(self) -> tuple[str, ...]:
        return (*(f"hidden.{i}" for i in range(len(self.weights) - 1)), "output")

    def forward(
        self, inputs: Float[Tensor, "seeds_or_1 batch *shape"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output unit"]:
        h = inputs.flatten(2).expand(self.lanes, -1, -1)
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = torch.baddbmm(bias.unsqueeze(1), h, weight)
            if i < last:
                h = tap(f"hidden.{i}", self._activation(h))
        if self._sign:
            h = torch.tanh(h)
        return tap("output", h.reshape(*h.shape[:2], self._outputs, -1))
