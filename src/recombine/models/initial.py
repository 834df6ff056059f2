"""First weights of a stack, drawn seed by seed: each seed from its own `init` stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import torch
from torch import nn

from recombine.seeds import stream

Init = Literal["uniform", "glorot", "pytorch"]


class Initial:
    """Draws the parameters of all seeds of a stack, always in the order they are asked for."""

    def __init__(self, seeds: Sequence[int], init: Init, bound: float) -> None:
        self._streams = [stream(seed, "init") for seed in seeds]
        self._init, self._bound = init, bound

    def weight(self, fan_in: int, fan_out: int, *, gates: int = 1, width: int = 0) -> nn.Parameter:
        """A matrix [seed, in, gates × out]; `width` is the layer's own, where it is not `in`."""
        if self._init == "uniform":
            bound = self._bound
        elif self._init == "glorot":
            bound = math.sqrt(6 / (fan_in + fan_out))
        else:
            bound = 1 / math.sqrt(width or fan_in)
        return self._draw(lambda rng: rng.uniform(-bound, bound, (fan_in, gates * fan_out)))

    def bias(self, size: int, *, width: int) -> nn.Parameter:
        """A vector [seed, size]; zero with Glorot's rule."""
        if self._init == "glorot":
            return self._draw(lambda rng: np.zeros(size))
        bound = self._bound if self._init == "uniform" else 1 / math.sqrt(width)
        return self._draw(lambda rng: rng.uniform(-bound, bound, size))

    def embedding(self, words: int, size: int) -> nn.Parameter:
        """A row a word: [seed, word, size]; standard normal with PyTorch's rule."""
        if self._init == "pytorch":
            return self._draw(lambda rng: rng.standard_normal((words, size)))
        return self.weight(words, size)

    def _draw(self, draw: Callable[[np.random.Generator], np.ndarray]) -> nn.Parameter:
        drawn = np.stack([draw(rng).astype(np.float32) for rng in self._streams])
        # NumPy's memory begins at multiples of 16 bytes, PyTorch's at multiples of 64: see `shared`
        return nn.Parameter(torch.from_numpy(drawn).clone())
