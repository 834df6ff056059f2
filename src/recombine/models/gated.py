"""Gated linear networks, frozen ReLU and ReLU networks, written out for a stack of seeds.

A hidden unit computes w_{c(x)} · z: linear in what it is given, with a weight vector for each
context of the network's *input* x (a constant 1 is appended to it). Every context is computed in
one product and the right one picked, which costs K times the work of a plain layer. Three kinds:

- `gates="random"`: contexts from fixed random hyperplanes;
- `gates="frozen-relu"`: one hyperplane a unit, its own first weights (random ones in deeper
  layers); the off side is silent;
- `gates="relu"`: an ordinary ReLU layer, whose gates move with its weights.

No layer has a bias, so the network is homogeneous in its weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack, Tap, untouched
from recombine.seeds import stream

SPREAD, SHIFT = 36.0, 9.0
"""Standard deviations of a hyperplane's normal and of its threshold, as in the paper."""


@dataclass(frozen=True)
class Gated(Model):
    """Gated hidden layers and a linear readout, one logit a binary output."""

    name: ClassVar[str] = "gated"

    widths: tuple[int, ...] = (10,)
    """Units of each hidden layer; none makes a shallow network: the output itself is gated."""
    planes: int = 1
    """Hyperplanes a unit, s: it has 2ˢ contexts."""
    gates: Literal["random", "frozen-relu", "relu"] = "random"
    init: Literal["orthogonal", "normal"] = "orthogonal"
    """First weights: orthonormal rows or columns, or independent normal numbers, times `scale`."""
    scale: float = 1.0

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        return (
            cls(),
            cls(widths=(), planes=2),
            cls(widths=(6, 4), gates="frozen-relu"),
            cls(gates="relu", init="normal", scale=0.1),
        )

    def validate(self) -> None:
        if any(width < 1 for width in self.widths):
            raise BadValue("models/gated.widths", list(self.widths), "positive whole numbers")
        if self.planes < 0:
            raise BadValue("models/gated.planes", self.planes, "0 or more")
        if self.gates != "random" and (self.planes != 1 or not self.widths):
            legal = "random gates, unless every unit has one plane and there is a hidden layer"
            raise BadValue("models/gated.gates", self.gates, legal)
        if self.scale <= 0:
            raise BadValue("models/gated.scale", self.scale, "a positive number")

    @property
    def degree(self) -> int:
        """The network's degree in its weights."""
        return len(self.widths) + 1

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> Stack:
        if classes != 2:
            raise BadValue("models/gated", f"{classes} classes", "two classes an output")
        dim = math.prod(input_shape) + 1
        weights = [self.draw(seed, dim, outputs) for seed in seeds]
        layers = [np.stack(layer) for layer in zip(*weights, strict=True)]
        planes = [self._planes(seed, dim, outputs) for seed in seeds]
        normals = [np.stack([n for n, _ in one]) for one in zip(*planes, strict=True)]
        thresholds = [np.stack([t for _, t in one]) for one in zip(*planes, strict=True)]
        if self.gates == "frozen-relu":
            normals = [layers[0], *normals[1:]]
            thresholds = [np.zeros_like(thresholds[0]), *thresholds[1:]]
        return StackedGated(self, layers, normals, thresholds)

    def draw(self, seed: int, dim: int, outputs: int = 1) -> list[np.ndarray]:
        """The first weights of a seed: [unit, context, in] a gated layer, then [output, unit]."""
        rng, size = stream(seed, "init"), 2**self.planes if self.gates == "random" else 1
        layers, fan_in = [], dim
        for width in self.widths or (outputs,):
            layers.append(self._matrix(rng, width * size, fan_in).reshape(width, size, fan_in))
            fan_in = width
        if self.widths:
            layers.append(self._matrix(rng, outputs, fan_in))
        return [layer.astype(np.float32) for layer in layers]

    def _matrix(self, rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
        drawn = rng.standard_normal((max(rows, columns), min(rows, columns)))
        if self.init == "orthogonal":
            q, r = np.linalg.qr(drawn)
            drawn = q * np.sign(np.diag(r))
        return self.scale * (drawn if rows >= columns else drawn.T)

    def _planes(self, seed: int, dim: int, outputs: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Normals and thresholds of each gated layer of a seed."""
        rng = stream(seed, "gates")
        return [
            (
                rng.normal(0, SPREAD, (width, self.planes, dim)).astype(np.float32),
                rng.normal(0, SHIFT, (width, self.planes)).astype(np.float32),
            )
            for width in self.widths or (outputs,)
        ]

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        one = raw.sigmoid()
        return torch.cat([1 - one, one], dim=-1)


class StackedGated(Stack):
    """The gated networks of many seeds; sites are `hidden.0`, …, `output`."""

    def __init__(
        self,
        blueprint: Gated,
        layers: Sequence[np.ndarray],
        normals: Sequence[np.ndarray] = (),
        thresholds: Sequence[np.ndarray] = (),
    ) -> None:
        super().__init__()
        self.blueprint = blueprint
        self.layers = nn.ParameterList([torch.from_numpy(layer.copy()) for layer in layers])
        for i, (normal, threshold) in enumerate(zip(normals, thresholds, strict=True)):
            self.register_buffer(f"normal_{i}", torch.from_numpy(normal))
            self.register_buffer(f"threshold_{i}", torch.from_numpy(threshold))
        self._gated = len(normals)

    @property
    def lanes(self) -> int:
        return len(self.layers[0])

    @property
    def sites(self) -> tuple[str, ...]:
        return (*(f"hidden.{i}" for i in range(len(self.blueprint.widths))), "output")

    def forward(
        self, inputs: Float[Tensor, "seeds_or_1 batch *shape"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output unit"]:
        flat = inputs.flatten(2).to(self.layers[0].dtype).expand(self.lanes, -1, -1)
        x = torch.cat([flat, torch.ones_like(flat[..., :1])], dim=-1)
        return self.respond(x, [self._contexts(x, i) for i in range(self._gated)], tap)

    def respond(
        self,
        x: Float[Tensor, "seed batch dim"],
        on: Sequence[Float[Tensor, "seed batch _ _"]],
        tap: Tap = untouched,
    ) -> Float[Tensor, "seed batch output unit"]:
        """The outputs for inputs with their constant, contexts given: 1 where a unit is in one."""
        hidden = bool(self.blueprint.widths)
        z, gated = x, self.layers[:-1] if hidden else self.layers
        for i, weight in enumerate(gated):
            every = _in_every_context(z, weight)
            relu = self.blueprint.gates == "relu"
            z = torch.relu(every[..., 0]) if relu else (every * on[i]).sum(-1)
            z = tap(f"hidden.{i}", z) if hidden else z
        if hidden:
            z = torch.bmm(z, self.layers[-1].transpose(1, 2))
        return tap("output", z.unsqueeze(-1))

    def gradients(
        self,
        x: Float[Tensor, "seed batch dim"],
        on: Sequence[Float[Tensor, "seed batch _ _"]],
        pull: Callable[[Float[Tensor, "seed batch"]], Float[Tensor, "seed batch"]],
    ) -> list[Tensor]:
        """The gradient of Σ_i g_i f(x_i) in every weight, with g = pull(f), for one output.

        By hand, as layers are linear where gates stand still: in nets as small as these, autograd's
        book-keeping costs four times the arithmetic.
        """
        weights = [weight.detach() for weight in self.layers]
        readout = weights.pop()[:, 0] if self.blueprint.widths else None
        z, given, gates = x, [], []
        for i, weight in enumerate(weights):
            every = _in_every_context(z, weight)
            gates.append((every > 0).to(every.dtype) if self.blueprint.gates == "relu" else on[i])
            given.append(z)
            z = (every * gates[-1]).sum(-1)
        if readout is None:
            by_z, found = pull(z[..., 0]).unsqueeze(-1), []
        else:
            g = pull(torch.bmm(z, readout.unsqueeze(-1))[..., 0]).unsqueeze(-1)
            by_z, found = g * readout.unsqueeze(1), [(g * z).sum(1, keepdim=True)]
        for i in reversed(range(len(weights))):
            by_every = (by_z.unsqueeze(-1) * gates[i]).flatten(2)
            found.insert(0, torch.bmm(by_every.mT, given[i]).reshape(weights[i].shape))
            by_z = torch.bmm(by_every, weights[i].flatten(1, 2)) if i else by_z
        return found

    def _contexts(
        self, x: Float[Tensor, "seed batch dim"], layer: int
    ) -> Float[Tensor, "seed batch unit context"]:
        """Which context of each unit of a layer a point is in."""
        normal: Tensor = getattr(self, f"normal_{layer}")
        threshold: Tensor = getattr(self, f"threshold_{layer}")
        sides = torch.bmm(x, normal.flatten(1, 2).transpose(1, 2))
        sides = sides.reshape(*sides.shape[:2], *normal.shape[1:3])
        above = sides > threshold.unsqueeze(1)
        if self.blueprint.gates == "frozen-relu":
            return above.to(x.dtype)  # one context: on, or silent
        index = (above * (2 ** torch.arange(normal.shape[2], device=x.device))).sum(-1)
        size = torch.arange(2 ** normal.shape[2], device=x.device)
        return (index.unsqueeze(-1) == size).to(x.dtype)


def _in_every_context(
    z: Float[Tensor, "seed batch in"], weight: Float[Tensor, "seed unit context in"]
) -> Float[Tensor, "seed batch unit context"]:
    """What every unit would give in each of its contexts."""
    every = torch.bmm(z, weight.flatten(1, 2).transpose(1, 2))
    return every.reshape(*every.shape[:2], *weight.shape[1:3])
