"""Residual network of basic blocks: by default two blocks in each of four stages, 16 to 128
channels.

ResNet-18's layout for small images: a 3 × 3 convolution, stages that halve the picture (but for the
first), the mean over the picture, one linear output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from torch import Tensor

from recombine.errors import BadValue
from recombine.models.looped import Drawn, Looped, norm, normal
from recombine.models.model import Model, Reads
from recombine.models.stack import Stack, Tap, odds, untouched
from recombine.seeds import stream


@dataclass(frozen=True)
class ResNet(Model):
    """Basic blocks in stages; one linear unit an output."""

    name: ClassVar[str] = "resnet"
    reads: ClassVar[Reads] = "channels"

    channels: tuple[int, ...] = (16, 32, 64, 128)
    """Of each stage."""
    blocks: int = 2
    """Basic blocks a stage."""
    augment: bool = False
    """In training, move each image (three channels) by up to 4 pixels, and mirror half of them."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        return cls(channels=(4, 6), blocks=1), cls(channels=(4,), blocks=2, augment=True)

    def validate(self) -> None:
        if not self.channels or min(self.channels) < 1 or self.blocks < 1:
            raise BadValue("models/resnet.channels", list(self.channels), "positive numbers")

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> Stack:
        if len(input_shape) != 3 or (self.augment and input_shape[0] % 3):
            legal = "images with channels, three a colour image if augmented"
            raise BadValue("models/resnet: inputs", list(input_shape), legal)
        drawn = [self._draw(stream(seed, "init"), input_shape[0], outputs) for seed in seeds]
        return StackedResNet(seeds, drawn, self)

    def _draw(self, rng: np.random.Generator, channels: int, outputs: int) -> Drawn:
        before = self.channels[0]
        drawn = {"stem_weight": normal(rng, before, channels, 3, 3), **norm(before, "stemnorm")}
        for s, after in enumerate(self.channels):
            for b in range(self.blocks):
                block = f"s{s}b{b}"
                drawn[f"{block}c0_weight"] = normal(rng, after, before, 3, 3)
                drawn[f"{block}c1_weight"] = normal(rng, after, after, 3, 3)
                drawn |= norm(after, f"{block}n0") | norm(after, f"{block}n1")
                if b == 0 and s > 0:
                    drawn[f"{block}skip_weight"] = normal(rng, after, before, 1, 1)
                    drawn |= norm(after, f"{block}skipnorm")
                before = after
        drawn["out_weight"] = normal(rng, outputs, before, gain=1.0)
        drawn["out_bias"] = np.zeros(outputs)
        return drawn

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return odds(raw)


class StackedResNet(Looped):
    """Sites: `stage.0` …, after the last ReLU of each stage; `pooled`; `output`."""

    channels_last = True

    def __init__(self, seeds: Sequence[int], drawn: Sequence[Drawn], blueprint: ResNet) -> None:
        weights = [name.removesuffix("_weight") for name in drawn[0] if name.endswith("_weight")]
        norms = [name for name in weights if f"{name}_bias" in drawn[0] and name != "out"]
        super().__init__(seeds, drawn, norms)
        self._blueprint = blueprint

    @property
    def sites(self) -> tuple[str, ...]:
        stages = (f"stage.{s}" for s in range(len(self._blueprint.channels)))
        return *stages, "pooled", "output"

    def forward(
        self, inputs: Float[Tensor, "seeds_or_1 batch channel h w"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output unit"]:
        h = self.augmented(inputs) if self._blueprint.augment else inputs
        h = self.batch_normed("stemnorm", self.convolved("stem", h, padding=1)).relu()
        for s in range(len(self._blueprint.channels)):
            for b in range(self._blueprint.blocks):
                h = self._block(f"s{s}b{b}", h, stride=2 if b == 0 and s > 0 else 1)
            h = tap(f"stage.{s}", h)
        h = tap("pooled", self.each(lambda lane, x: x.mean((-1, -2)), h))
        h = self.dense("out", h)
        self.counted()
        return tap("output", h.unsqueeze(-1))

    def _block(self, name: str, h: Tensor, *, stride: int) -> Tensor:
        inner = self.convolved(f"{name}c0", h, stride=stride, padding=1)
        inner = self.batch_normed(f"{name}n0", inner).relu()
        inner = self.batch_normed(f"{name}n1", self.convolved(f"{name}c1", inner, padding=1))
        if stride > 1:
            h = self.batch_normed(
                f"{name}skipnorm", self.convolved(f"{name}skip", h, stride=stride)
            )
        return (inner + h).relu()
