"""Stacks whose lanes go through each layer one by one: for networks that fill a core alone.

Convolutions of one seed already keep a core busy, so nothing is gained by doing many at once; a
looped layer gives each lane the same call it would have alone, and so the same bits. Parameters and
the running means of batch norms have the seed as their first dimension, as in every stack.

Randomness in training (dropout, augmentation) is addressed by (seed, step): the step is counted
in a buffer, which a checkpoint keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from recombine.models.halves import Halves, half_convolution
from recombine.models.spectral import pays, spectral_convolution
from recombine.models.stack import Stack
from recombine.seeds import torch_seed

Drawn = Mapping[str, np.ndarray]
"""The first parameters of one seed, by name."""
PADDING = 4
"""Pixels by which an augmented image may be moved."""


def normal(rng: np.random.Generator, *shape: int, gain: float = 2.0) -> np.ndarray:
    """Weights [out, in, …] of variance gain/fan-in: Kaiming's, for a ReLU."""
    return rng.standard_normal(shape) * math.sqrt(gain / math.prod(shape[1:]))


def norm(channels: int, name: str) -> dict[str, np.ndarray]:
    """Weight 1 and bias 0 of a batch or layer norm."""
    return {f"{name}_weight": np.ones(channels), f"{name}_bias": np.zeros(channels)}


def of_lane(stacked: Tensor, lane: int) -> Tensor:
    """What belongs to one lane, lying in memory as it would if the lane were alone.

    Products of matrices round differently for data that do not begin at a multiple of 64 bytes.
    A lane that is alone is not picked, because the gradient of picking is a copy.
    """
    part = stacked.squeeze(0) if len(stacked) == 1 else stacked[lane]
    return part if part.data_ptr() % 64 == 0 else part.clone()


class Looped(Stack):
    """The abstract stack of looped lanes, with layers that go by the names of their parameters."""

    channels_last: ClassVar[bool] = False
    """Whether images lie in memory pixel by pixel before every layer: PyTorch then need not lay
    them anew for its convolutions, which takes a fifth of the time of a residual network."""
    halves: Halves | None = None
    """Set by a network for the layers of a pass that are to hold halves."""

    def __init__(
        self, seeds: Sequence[int], drawn: Sequence[Drawn], batch_norms: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self._seeds = tuple(seeds)
        for name in drawn[0]:
            stacked = np.stack([one[name] for one in drawn]).astype(np.float32)
            self.register_parameter(name, nn.Parameter(torch.from_numpy(stacked)))
        for name in batch_norms:
            shape = getattr(self, f"{name}_weight").shape
            self.register_buffer(f"{name}_mean", torch.zeros(shape))
            self.register_buffer(f"{name}_variance", torch.ones(shape))
        self.step: Tensor
        self.register_buffer("step", torch.zeros(len(seeds), dtype=torch.int64))

    @property
    def lanes(self) -> int:
        return len(self._seeds)

    def each(self, layer: Callable[[int, Tensor], Tensor], h: Tensor) -> Tensor:
        """A layer applied lane by lane; inputs that are the same for all lanes come once."""
        outputs = [
            layer(lane, self._laid(of_lane(h, lane if len(h) > 1 else 0)))
            for lane in range(self.lanes)
        ]
        return outputs[0].unsqueeze(0) if len(outputs) == 1 else torch.stack(outputs)

    def _laid(self, x: Tensor) -> Tensor:
        pixels = self.channels_last and x.dim() == 4
        return x.contiguous(memory_format=torch.channels_last) if pixels else x

    def convolved(self, name: str, h: Tensor, *, stride: int = 1, padding: int = 0) -> Tensor:
        """A convolution, with a bias if there is one of that name."""
        weight, bias = getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias", None)

        def layer(lane: int, x: Tensor) -> Tensor:
            offset = None if bias is None else of_lane(bias, lane)
            kernels = of_lane(weight, lane)
            if self.halves is not None:
                return half_convolution(*self.halves.entered(lane, x, kernels, offset))
            if stride == 1 and padding == 0 and pays(kernels):
                return spectral_convolution(x, kernels, offset)
            return F.conv2d(x, kernels, offset, stride=stride, padding=padding)

        return self.each(layer, h)

    def dense(self, name: str, h: Tensor) -> Tensor:
        """A dense layer, with a bias if there is one of that name."""
        weight, bias = getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias", None)

        def layer(lane: int, x: Tensor) -> Tensor:
            offset = None if bias is None else of_lane(bias, lane)
            weights = of_lane(weight, lane)
            if self.halves is not None:
                x, weights, offset = self.halves.entered(lane, x, weights, offset)
            return F.linear(x, weights, offset)

        return self.each(layer, h)

    def batch_normed(self, name: str, h: Tensor) -> Tensor:
        """Batch norm: by the batch in training, by running means otherwise."""
        weight, bias, mean, variance = (
            getattr(self, f"{name}_{part}") for part in ("weight", "bias", "mean", "variance")
        )

        def layer(lane: int, x: Tensor) -> Tensor:
            running, learned = (mean[lane], variance[lane]), (weight[lane], bias[lane])
            if self.halves is not None:
                learned = self.halves.beside(lane, learned[0]), self.halves.beside(lane, learned[1])
            return F.batch_norm(x, *running, *learned, training=self.training)

        return self.each(layer, h)

    def layer_normed(self, name: str, h: Tensor) -> Tensor:
        """Layer norm over the last dimension."""
        weight, bias = getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias")

        def layer(lane: int, x: Tensor) -> Tensor:
            return F.layer_norm(x, x.shape[-1:], of_lane(weight, lane), of_lane(bias, lane))

        return self.each(layer, h)

    def generator(self, lane: int, purpose: str) -> torch.Generator:
        """The random numbers of a lane for this step of training."""
        seed = torch_seed(self._seeds[lane], purpose, int(self.step[lane]))
        return torch.Generator(device=self.step.device).manual_seed(seed)

    def counted(self) -> None:
        """Another step of training has been taken."""
        if self.training:
            self.step += 1

    def augmented(
        self, inputs: Float[Tensor, "seeds_or_1 batch channel h w"]
    ) -> Float[Tensor, "seed batch channel h w"]:
        """In training, each image (three channels) is moved by up to 4 pixels, perhaps mirrored."""
        if not self.training:
            return inputs
        return self.each(lambda lane, x: _jolted(x, self.generator(lane, "augment")), inputs)


def _jolted(x: Float[Tensor, "batch channel h w"], rng: torch.Generator) -> Tensor:
    """Random crops of the images padded with 0, half of them mirrored, each block on its own."""
    batch, channels, height, width = x.shape
    images = F.pad(x.reshape(batch * channels // 3, 3, height, width), [PADDING] * 4)
    n = len(images)
    moves = torch.randint(2 * PADDING + 1, (n, 2), generator=rng, device=rng.device)
    mirrored = torch.randint(2, (n, 1), generator=rng, device=rng.device).bool()
    rows = moves[:, :1] + torch.arange(height, device=x.device)
    columns = moves[:, 1:] + torch.arange(width, device=x.device)
    columns = torch.where(mirrored, columns.flip(1), columns)
    each = torch.arange(n, device=x.device).reshape(n, 1, 1, 1)
    channel = torch.arange(3, device=x.device).reshape(1, 3, 1, 1)
    return images[each, channel, rows[:, None, :, None], columns[:, None, None, :]].reshape(x.shape)
