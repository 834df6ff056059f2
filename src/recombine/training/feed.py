"""The feed: which examples each lane sees at each step, every lane from its own streams.

Randomness is drawn in blocks of steps addressed by (seed, stream, block), so the batch of a step
depends on the seed and the step alone: not on the other lanes, not on where training resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from recombine.seeds import stream
from recombine.tasks.sequence import SequenceTask, StatesAttention
from recombine.tasks.task import IGNORE, Task
from recombine.training.recipe import Recipe

BLOCK = 256
"""Steps (or epochs) whose randomness is drawn at once. It is part of what a seed means."""

Batch = tuple[Tensor, ...]
"""Inputs [seed, batch, …] and targets [seed, batch, output]; with guidance also where to look."""


class Feed:
    """The batches of a set of seeds, step by step."""

    def __init__(self, task: Task, recipe: Recipe, seeds: Sequence[int], device: str) -> None:
        self._task, self._recipe, self._seeds, self._device = task, recipe, seeds, device
        self._block = -1
        if recipe.sampling != "fresh":
            z, noise = (
                self._whole() if recipe.examples is None else self._draw("data", 0, recipe.examples)
            )
            self._examples = z.shape[1]
            self._set = self._render(z, noise)

    def batch(self, step: int) -> Batch:
        """What each lane trains on at this step (the first is 0)."""
        if self._recipe.sampling == "fresh":
            return self._trim(self._fresh(step))
        rows = torch.from_numpy(self._rows(step)).to(self._device)
        lanes = torch.arange(len(self._seeds), device=self._device).unsqueeze(1)
        return self._trim(tuple(values[lanes, rows] for values in self._set))

    def _trim(self, batch: Batch) -> Batch:
        """Alone, a sequence model need not run on to the end of sentences that are not there.

        In a stack it does: how far would depend on the neighbours, and products of other shapes
        are rounded differently.
        """
        if self._recipe.lanes != "looped" or not isinstance(self._task, SequenceTask):
            return batch
        inputs, *answers = batch
        length = int(inputs.any(-1).sum(-1).max())
        steps = int((answers[0] != IGNORE).sum(-1).max())
        return inputs[:, :, :length], *(values[..., :steps] for values in answers)

    def _fresh(self, step: int) -> Batch:
        block, offset = divmod(step, BLOCK)
        size = self._recipe.batch
        if block != self._block:
            self._z, self._noise = self._draw("data", block, BLOCK * size)
            self._block = block
        window = slice(offset * size, (offset + 1) * size)
        return self._render(self._z[:, window], self._noise[:, window])

    def _rows(self, step: int) -> Int[np.ndarray, "seed batch"]:
        """Which of a lane's fixed examples make up the batch."""
        size, examples = self._recipe.batch, self._examples
        if self._recipe.sampling == "each-once":
            epoch, batch = divmod(step, -(-examples // size))
            self._shuffle(epoch, lambda rng: rng.permutation(examples))
            return self._order[:, batch * size : (batch + 1) * size]
        if self._recipe.sampling == "with-replacement":
            block, offset = divmod(step, BLOCK)
            self._shuffle(block, lambda rng: rng.integers(examples, size=(BLOCK, size)))
            return self._order[:, offset]
        # An epoch is the whole batches that fit; the rest of the examples waits for another order.
        epoch, batch = divmod(step, examples // size)
        window = slice(batch * size, (batch + 1) * size)
        if self._recipe.sampling == "in-order":
            return np.tile(np.arange(examples)[window], (len(self._seeds), 1))
        block, offset = divmod(epoch, BLOCK)
        rows = np.broadcast_to(np.arange(examples), (BLOCK, examples))
        self._shuffle(block, lambda rng: rng.permuted(rows, axis=1))
        return self._order[:, offset, window]

    def _shuffle(self, block: int, draw: Callable[[np.random.Generator], np.ndarray]) -> None:
        if block != self._block:
            self._order = np.stack([draw(stream(seed, "order", block)) for seed in self._seeds])
            self._block = block

    def _whole(self) -> tuple[np.ndarray, np.ndarray]:
        """The combinations of the training split themselves, and noise for each lane's own."""
        z = self._task.combinations("train")
        noise = [
            self._task.draw_noise(len(z), stream(seed, "data", 0), split="train")
            for seed in self._seeds
        ]
        return np.broadcast_to(z, (len(noise), *z.shape)), np.stack(noise)

    def _draw(self, name: str, block: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Combinations and noise of n training examples for each lane."""
        z, noise = self._task.draw("train", n, stream(self._seeds[0], name, block))
        every_z = np.empty((len(self._seeds), *z.shape), z.dtype)
        every_noise = np.empty((len(self._seeds), *noise.shape), noise.dtype)
        for lane, seed in enumerate(self._seeds):
            every_z[lane], every_noise[lane] = self._task.draw(
                "train", n, stream(seed, name, block)
            )
        return every_z, every_noise

    def _render(self, z: np.ndarray, noise: np.ndarray) -> Batch:
        """Rendered in one call for all lanes: calls cost more than examples."""
        lanes, size = z.shape[:2]
        flat = z.reshape(lanes * size, -1)
        inputs = self._task.render(flat, noise.reshape(lanes * size, *noise.shape[2:]))
        parts = [inputs, self._task.targets(flat)]
        if self._recipe.guidance is not None and isinstance(self._task, StatesAttention):
            parts.append(self._task.attention(flat))
        return tuple(
            torch.from_numpy(part.reshape(lanes, size, *part.shape[1:])).to(self._device)
            for part in parts
        )
