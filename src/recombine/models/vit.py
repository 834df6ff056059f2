"""Vision transformer: patches, attention and dense blocks with layer norms before them, a class
token.

By default the network of the kernel study: patches of 8, four blocks, six heads of 64 numbers, 256
numbers a token and in the dense blocks, dropout .1, one linear output.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from recombine.errors import BadValue
from recombine.models.looped import Drawn, Looped, norm, normal, of_lane
from recombine.models.model import Model, Reads
from recombine.models.stack import Stack, Tap, odds, untouched
from recombine.seeds import stream


@dataclass(frozen=True)
class ViT(Model):
    """A small vision transformer; one linear unit an output."""

    name: ClassVar[str] = "vit"
    reads: ClassVar[Reads] = "channels"

    patch: int = 8
    """Pixels of a patch's side; the picture must be made of whole patches."""
    depth: int = 4
    heads: int = 6
    head: int = 64
    """Numbers a head."""
    width: int = 256
    """Numbers a token."""
    hidden: int = 256
    """Units of the dense blocks."""
    dropout: float = 0.1
    augment: bool = False
    """In training, move each image (three channels) by up to 4 pixels, and mirror half of them."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        small = cls(patch=4, depth=2, heads=2, head=3, width=6, hidden=5)
        return (small,)

    def validate(self) -> None:
        if min(self.patch, self.depth, self.heads, self.head, self.width, self.hidden) < 1:
            raise BadValue("models/vit", "a size below 1", "positive whole numbers")
        if not 0 <= self.dropout < 1:
            raise BadValue("models/vit.dropout", self.dropout, "a number from 0 to below 1")

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> Stack:
        if len(input_shape) != 3 or any(side % self.patch for side in input_shape[1:]):
            legal = f"images with channels, whose sides are multiples of {self.patch}"
            raise BadValue("models/vit: inputs", list(input_shape), legal)
        if self.augment and input_shape[0] % 3:
            raise BadValue("models/vit.augment", True, "colour images: three channels each")
        drawn = [self._draw(stream(seed, "init"), input_shape, outputs) for seed in seeds]
        return StackedViT(seeds, drawn, self)

    def _draw(self, rng: np.random.Generator, input_shape: tuple[int, ...], outputs: int) -> Drawn:
        area = input_shape[0] * self.patch**2
        tokens = math.prod(side // self.patch for side in input_shape[1:])
        inner, width = self.heads * self.head, self.width

        def layer(
            name: str, after: int, before: int, *, bias: bool = True
        ) -> dict[str, np.ndarray]:
            weight = {f"{name}_weight": normal(rng, after, before, gain=1.0)}
            return weight | ({f"{name}_bias": np.zeros(after)} if bias else {})

        drawn = norm(area, "before") | layer("embed", width, area) | norm(width, "after")
        drawn["token"] = rng.standard_normal((1, width))
        drawn["position"] = rng.standard_normal((tokens + 1, width))
        for i in range(self.depth):
            drawn |= norm(width, f"a{i}n") | layer(f"a{i}qkv", 3 * inner, width, bias=False)
            drawn |= layer(f"a{i}out", width, inner)
            drawn |= norm(width, f"f{i}n") | layer(f"f{i}in", self.hidden, width)
            drawn |= layer(f"f{i}out", width, self.hidden)
        return drawn | norm(width, "last") | layer("head", outputs, width)

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return odds(raw)


class StackedViT(Looped):
    """Sites: `hidden.0` …, inside each dense block; `pooled`, the class token; `output`."""

    def __init__(self, seeds: Sequence[int], drawn: Sequence[Drawn], blueprint: ViT) -> None:
        super().__init__(seeds, drawn)
        self._blueprint = blueprint
        self.token: Tensor
        self.position: Tensor

    @property
    def sites(self) -> tuple[str, ...]:
        return *(f"hidden.{i}" for i in range(self._blueprint.depth)), "pooled", "output"

    def forward(
        self, inputs: Float[Tensor, "seeds_or_1 batch channel h w"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output unit"]:
        # One generator a lane and forward pass: every dropout takes its next numbers.
        self._dice = [self.generator(lane, "dropout") for lane in range(self.lanes)]
        h = self.augmented(inputs) if self._blueprint.augment else inputs
        h = self._embedded(h)
        for i in range(self._blueprint.depth):
            h = h + self._attended(i, self.layer_normed(f"a{i}n", h))
            inner = self.dense(f"f{i}in", self.layer_normed(f"f{i}n", h))
            # Lane by lane: gelu rounds the last few numbers of a tensor differently.
            inner = self.each(lambda lane, x: F.gelu(x), inner)
            inner = self._dropped(tap(f"hidden.{i}", inner))
            h = h + self._dropped(self.dense(f"f{i}out", inner))
        h = tap("pooled", self.layer_normed("last", h[:, :, 0]))
        h = self.dense("head", h)
        self.counted()
        return tap("output", h.unsqueeze(-1))

    def _embedded(self, inputs: Tensor) -> Tensor:
        """Patches as tokens, the class token before them, positions added."""
        side = self._blueprint.patch
        cut = inputs.unfold(3, side, side).unfold(4, side, side)
        cut = cut.permute(0, 1, 3, 4, 5, 6, 2).flatten(4).flatten(2, 3)
        h = self.layer_normed("after", self.dense("embed", self.layer_normed("before", cut)))
        token = self.token.unsqueeze(1).expand(-1, h.shape[1], -1, -1)
        return self._dropped(torch.cat([token, h], dim=2) + self.position.unsqueeze(1))

    def _attended(self, i: int, h: Tensor) -> Tensor:
        """Attention with several heads."""
        heads, qkv = self._blueprint.heads, getattr(self, f"a{i}qkv_weight")
        weight, bias = getattr(self, f"a{i}out_weight"), getattr(self, f"a{i}out_bias")

        def layer(lane: int, x: Tensor) -> Tensor:
            q, k, v = (
                part.reshape(*part.shape[:-1], heads, -1).transpose(1, 2)
                for part in F.linear(x, of_lane(qkv, lane)).chunk(3, -1)
            )
            weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), dim=-1)
            mixed = (self._dropped(weights, lane=lane) @ v).transpose(1, 2).flatten(2)
            return F.linear(mixed, of_lane(weight, lane), of_lane(bias, lane))

        return self._dropped(self.each(layer, h))

    def _dropped(self, h: Tensor, *, lane: int | None = None) -> Tensor:
        """In training, some numbers set to 0 and the others made larger."""
        rate = self._blueprint.dropout
        if not self.training or rate == 0:
            return h

        def layer(lane: int, x: Tensor) -> Tensor:
            drawn = torch.rand(x.shape, generator=self._dice[lane], device=x.device)
            return x * (drawn >= rate) / (1 - rate)

        return self.each(layer, h) if lane is None else layer(lane, h)
