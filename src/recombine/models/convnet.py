"""The convolutional network of `gradient`: two convolutions, one pooling, dense layers; in lanes.

    conv 3×3 → ReLU → max-pool 2 → conv 3×3 → ReLU → flatten → dense → ReLU → … → dense

One network fills a core by itself, so lanes run one after another, each by the same operations as
if it were alone; the recipe should be looped. Two things make it faster than the layers one would
write down, with the same outputs and gradients:

- The first convolution and its pooling are one step. An output of the pooling looks at a patch of
  4 × 4 pixels; the four positions of the 3 × 3 kernel within it are four matrix products with the
  patches, whose largest is kept. No image of 32 channels in full size is pooled pixel by pixel.
- Everything lies channels last, which the second convolution reads twice as fast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models.model import Model, Reads
from recombine.models.stack import Stack, Tap, untouched
from recombine.seeds import stream

KERNEL, POOL = 3, 2
PATCH = KERNEL + POOL - 1
"""Side of the patch that one pooled output looks at."""
SLICE = 64
"""Examples of a pass that needs no gradient. It bounds the memory, and is fastest: milliseconds an
example on one core 0.27 with 32, 0.24 with 64, 0.27 with 256, 0.31 with 512."""


@dataclass(frozen=True)
class ConvNet(Model):
    """The paper's network: 1,150,090 parameters for two digits of 28 × 28 side by side."""

    name: ClassVar[str] = "convnet"
    reads: ClassVar[Reads] = "images"

    channels: tuple[int, int] = (32, 64)
    """Of the two convolutions."""
    widths: tuple[int, ...] = (64, 64)
    """Units of each dense layer before the output."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        return cls(channels=(4, 6), widths=(5,)), cls(channels=(3, 2), widths=())

    def validate(self) -> None:
        if any(size < 1 for size in (*self.channels, *self.widths)):
            sizes = [*self.channels, *self.widths]
            raise BadValue("models/convnet", sizes, "positive numbers of channels and units")

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> Stack:
        if len(input_shape) not in (2, 3) or min(input_shape[:2]) < 2 * PATCH:
            legal = f"images of at least {2 * PATCH} × {2 * PATCH}, with or without colours"
            raise BadValue("models/convnet input", input_shape, legal)
        sizes = self._sizes(input_shape, outputs * classes)
        drawn = [_draw(self.channels, sizes, input_shape, stream(seed, "init")) for seed in seeds]
        tensors = [torch.from_numpy(np.stack(each)) for each in zip(*drawn, strict=True)]
        return StackedConvNet(tensors, input_shape, outputs)

    def _sizes(self, input_shape: tuple[int, ...], out: int) -> tuple[int, ...]:
        """Units of the flattened image, of each dense layer, and of the output."""
        height, width = (_pooled(side) - KERNEL + 1 for side in input_shape[:2])
        return height * width * self.channels[1], *self.widths, out

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return raw.softmax(-1)


def _pooled(side: int) -> int:
    """A side of the image after the first convolution and the pooling."""
    return (side - KERNEL + 1) // POOL


def _draw(
    channels: tuple[int, int],
    sizes: tuple[int, ...],
    input_shape: tuple[int, ...],
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Weights, uniform by fan-in and fan-out (Glorot), and zero biases of one seed, in order."""
    first, second = channels
    colours = input_shape[2] if len(input_shape) == 3 else 1
    shapes: list[tuple[tuple[int, ...], int, int]] = [
        ((KERNEL, KERNEL, colours, first), KERNEL**2 * colours, KERNEL**2 * first),
        ((second, first, KERNEL, KERNEL), KERNEL**2 * first, KERNEL**2 * second),
        *(((fan_in, fan_out), fan_in, fan_out) for fan_in, fan_out in pairwise(sizes)),
    ]
    drawn = []
    for (shape, fan_in, fan_out), units in zip(shapes, (*channels, *sizes[1:]), strict=True):
        bound = math.sqrt(6 / (fan_in + fan_out))
        drawn += [rng.uniform(-bound, bound, shape).astype(np.float32)]
        drawn += [np.zeros(units, dtype=np.float32)]
    return drawn


class StackedConvNet(Stack):
    """The networks of many seeds; sites are `pooled`, `conv`, `dense.0`, …, `output`."""

    def __init__(
        self, tensors: Sequence[Tensor], input_shape: tuple[int, ...], outputs: int
    ) -> None:
        super().__init__()
        self.weights = nn.ParameterList(tensors[0::2])
        self.biases = nn.ParameterList(tensors[1::2])
        self._shape = (*input_shape, 1)[:3]
        self._outputs = outputs

    @property
    def lanes(self) -> int:
        return len(self.weights[0])

    @property
    def sites(self) -> tuple[str, ...]:
        hidden = tuple(f"dense.{i}" for i in range(len(self.weights) - 3))
        return "pooled", "conv", *hidden, "output"

    def forward(
        self, inputs: Float[Tensor, "seeds_or_1 batch *image"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output class"]:
        x = inputs.reshape(*inputs.shape[:2], *self._shape)
        if not torch.is_grad_enabled() and tap is untouched and x.shape[1] > SLICE:
            return torch.cat(
                [self._pass(part, tap) for part in torch.split(x, SLICE, dim=1)], dim=1
            )
        return self._pass(x, tap)

    def _pass(
        self, x: Float[Tensor, "seeds_or_1 batch height width colour"], tap: Tap
    ) -> Float[Tensor, "seed batch output class"]:
        """Layer by layer, and within a layer lane by lane."""
        lanes = range(self.lanes)
        layers = [(_apart(w), _apart(b)) for w, b in zip(self.weights, self.biases, strict=True)]
        shared = patches(x[0]) if len(x) == 1 else None
        h = [
            torch.relu(
                convolve_and_pool(patches(x[i]) if shared is None else shared, layers[0][0][i])
                + layers[0][1][i]
            )
            for i in lanes
        ]
        h = _tapped(tap, "pooled", h)
        h = [torch.relu(_convolve(h[i], layers[1][0][i], layers[1][1][i])) for i in lanes]
        h = [each.flatten(1) for each in _tapped(tap, "conv", h)]
        for k, (weights, biases) in enumerate(layers[2:]):
            h = [torch.addmm(biases[i], h[i], weights[i]) for i in lanes]
            if k < len(layers) - 3:
                h = _tapped(tap, f"dense.{k}", [torch.relu(each) for each in h])
        together = _together(h)
        return tap("output", together.reshape(*together.shape[:2], self._outputs, -1))


def _apart(stacked: Tensor) -> Sequence[Tensor]:
    """A tensor a lane; of one lane a view, whose gradient is not copied."""
    return [stacked.squeeze(0)] if len(stacked) == 1 else stacked.unbind()


def _together(lanes: list[Tensor]) -> Tensor:
    return lanes[0].unsqueeze(0) if len(lanes) == 1 else torch.stack(lanes)


def _tapped(tap: Tap, site: str, lanes: list[Tensor]) -> list[Tensor]:
    """Pass the lanes by a site; where nobody looks, they are not put together for it."""
    return lanes if tap is untouched else list(_apart(tap(site, _together(lanes))))


def _convolve(
    h: Float[Tensor, "batch height width channel"], weight: Tensor, bias: Tensor
) -> Float[Tensor, "batch h w c"]:
    """A convolution whose input and output lie channels last."""
    return F.conv2d(h.permute(0, 3, 1, 2), weight, bias).permute(0, 2, 3, 1)


def patches(
    x: Float[Tensor, "batch height width colour"],
) -> Float[Tensor, "batch h w pixel"]:
    """The patch of 4 × 4 pixels below every pooled output."""
    n, height, width, colours = x.shape
    x = x.contiguous()
    shape = (n, _pooled(height), _pooled(width), PATCH, PATCH * colours)
    steps = (height * width * colours, POOL * width * colours, POOL * colours, width * colours, 1)
    return x.as_strided(shape, steps, x.storage_offset()).flatten(3)


def convolve_and_pool(
    patch: Float[Tensor, "batch h w pixel"], weight: Float[Tensor, "3 3 colour channel"]
) -> Float[Tensor, "batch h w channel"]:
    """max-pool(conv(image)), from the image's patches; without the bias, which may come after."""
    flat = patch.flatten(0, 2)
    scores = []
    for down in range(POOL):
        for right in range(POOL):
            room = (0, 0, 0, 0, right, POOL - 1 - right, down, POOL - 1 - down)
            scores.append(flat @ F.pad(weight, room).flatten(0, 2))
    largest: Tensor = _Largest.apply(*scores)  # type: ignore[no-untyped-call]
    return largest.reshape(*patch.shape[:3], -1)


class _Largest(torch.autograd.Function):
    """The largest of four, entry by entry; of equals, the first has the gradient, as in pooling."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        top = torch.maximum(torch.maximum(a, b), torch.maximum(c, d))
        ctx.save_for_backward(a, b, c, top)
        return top

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        *before, top = ctx.saved_tensors
        left = gradient.clone()
        shares = []
        for each in before:
            # 1 or 0 as a number, then times what is left: twice as fast as torch.where
            share = torch.eq(each, top, out=torch.empty_like(each)).mul_(left)
            left.sub_(share)
            shares.append(share)
        return *shares, left
