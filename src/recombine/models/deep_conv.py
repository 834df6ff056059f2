"""Deep convolutional network: blocks of convolution, ReLU, batch norm; one pooling; dense layers.

By default the network of the kernel study: four blocks of 5 × 5 without padding, 32, 32, 64, 64
channels, a 2 × 2 max-pooling, dense layers of 512 and 1024 units, one linear output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from recombine.errors import BadValue
from recombine.models.folded import Block, folded_blocks
from recombine.models.halves import Halves, pooled_by_pixels
from recombine.models.looped import Drawn, Looped, norm, normal, of_lane
from recombine.models.model import Model, Reads
from recombine.models.spectral import pays
from recombine.models.stack import Stack, Tap, odds, untouched
from recombine.seeds import stream
from recombine.spec import later

Precision = Literal["single", "half"]


@dataclass(frozen=True)
class DeepConv(Model):
    """Convolutions, pooling, dense layers; one linear unit an output."""

    name: ClassVar[str] = "deep-conv"
    reads: ClassVar[Reads] = "channels"

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Of each convolution."""
    kernel: int = 5
    """Its height and width; there is no padding."""
    dense: tuple[int, ...] = (512, 1024)
    """Units of each dense layer before the output."""
    precision: Precision = later("single")
    """In which the layers before the output hold and multiply numbers (`models/halves.py`)."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        small = cls(channels=(4, 6), kernel=3, dense=(8,))
        return small, replace(small, precision="half")

    def validate(self) -> None:
        if not self.channels or min(self.channels) < 1:
            raise BadValue("models/deep-conv.channels", list(self.channels), "positive numbers")
        if self.kernel < 1:
            raise BadValue("models/deep-conv.kernel", self.kernel, "at least 1")

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> Stack:
        flat = self._flat(input_shape)
        drawn = [self._draw(stream(seed, "init"), input_shape[0], flat, outputs) for seed in seeds]
        return StackedDeepConv(seeds, drawn, self)

    def _flat(self, input_shape: tuple[int, ...]) -> int:
        """Numbers that are left after convolutions and pooling."""
        lost = len(self.channels) * (self.kernel - 1)
        if len(input_shape) != 3 or min(input_shape[1:]) < lost + 2:
            legal = f"images with channels, at least {lost + 2} pixels high and wide"
            raise BadValue("models/deep-conv: inputs", list(input_shape), legal)
        height, width = ((side - lost) // 2 for side in input_shape[1:])
        return self.channels[-1] * height * width

    def _draw(self, rng: np.random.Generator, channels: int, flat: int, outputs: int) -> Drawn:
        drawn: dict[str, np.ndarray] = {}
        before = channels
        for i, after in enumerate(self.channels):
            drawn[f"conv{i}_weight"] = normal(rng, after, before, self.kernel, self.kernel)
            drawn[f"conv{i}_bias"] = np.zeros(after)
            drawn |= norm(after, f"norm{i}")
            before = after
        sizes = (flat, *self.dense, outputs)
        for i, after in enumerate(sizes[1:]):
            drawn[f"dense{i}_weight"] = normal(rng, after, sizes[i])
            drawn[f"dense{i}_bias"] = np.zeros(after)
        return drawn

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return odds(raw)


class StackedDeepConv(Looped):
    """Sites: `conv.0` …, after each ReLU; `dense.0` …; `output`."""

    def __init__(self, seeds: Sequence[int], drawn: Sequence[Drawn], blueprint: DeepConv) -> None:
        convolutions = len(blueprint.channels)
        super().__init__(seeds, drawn, [f"norm{i}" for i in range(convolutions)])
        self._convolutions, self._dense = convolutions, len(blueprint.dense)
        self._half = blueprint.precision == "half"

    @property
    def sites(self) -> tuple[str, ...]:
        convolutions = (f"conv.{i}" for i in range(self._convolutions))
        return *convolutions, *(f"dense.{i}" for i in range(self._dense)), "output"

    def forward(
        self, inputs: Float[Tensor, "seeds_or_1 batch channel h w"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output unit"]:
        halves = self.halves = Halves(self.lanes) if self._half else None
        if halves is not None:
            tap = halves.shown_to(tap)
        unseen = tap is untouched and self.training and halves is None
        if unseen and self._in_frequencies(inputs):
            h = self.each(self._folded, inputs).mT
        else:
            h = self._layer_by_layer(inputs, tap)
        for i in range(self._dense):
            h = tap(f"dense.{i}", self.dense(f"dense{i}", h).relu())
        if halves is not None:
            h, self.halves = halves.left(h), None
        h = self.dense(f"dense{self._dense}", h)
        self.counted()
        return tap("output", h.unsqueeze(-1))

    def _in_frequencies(self, inputs: Tensor) -> bool:
        """Whether all convolutions are faster that way; an empty batch has no statistics."""
        weights = (getattr(self, f"conv{i}_weight")[0] for i in range(self._convolutions))
        return inputs.shape[1] > 0 and all(pays(weight) for weight in weights)

    def _folded(
        self, lane: int, x: Float[Tensor, "batch channel h w"]
    ) -> Float[Tensor, "unit batch"]:
        """The convolutional part of a lane in training, when nobody looks into it.

        Units come first, as they lie in memory: so do gradients, and no image is laid anew.
        """
        names = ("conv{}_weight", "conv{}_bias", "norm{}_weight", "norm{}_bias")
        running = ("norm{}_mean", "norm{}_variance")
        blocks = [
            Block(
                *(of_lane(getattr(self, name.format(i)), lane) for name in names),
                *(getattr(self, name.format(i))[lane] for name in running),
            )
            for i in range(self._convolutions)
        ]
        flat = folded_blocks(x, blocks).permute(1, 2, 3, 0).flatten(0, 2)
        if flat.requires_grad:  # beside other lanes its gradient would lie, and round, otherwise
            flat.register_hook(Tensor.contiguous)  # type: ignore[no-untyped-call]
        return flat

    def _layer_by_layer(
        self, h: Float[Tensor, "seeds_or_1 batch channel h w"], tap: Tap
    ) -> Float[Tensor, "seed batch unit"]:
        for i in range(self._convolutions):
            h = tap(f"conv.{i}", self.convolved(f"conv{i}", h).relu())
            h = self.batch_normed(f"norm{i}", h)
        pool = pooled_by_pixels if self.halves is not None else partial(F.max_pool2d, kernel_size=2)
        return self.each(lambda _, x: pool(x).flatten(1), h)
