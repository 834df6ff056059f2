"""Training of language models: text in columns, truncated backpropagation, plain SGD with clipping.

A text is cut into `batch` columns that are read side by side, `stretch` words an update. The state
goes on from one stretch to the next, the gradient does not. An epoch is one reading of the columns;
it begins from an empty state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from recombine.cell import Context
from recombine.errors import BadValue, Interrupted
from recombine.models.language_model import Drop, StackedLanguageModel, keep
from recombine.seeds import stream
from recombine.spec import Spec
from recombine.training.lanes import clip

Measure = Callable[[int], Mapping[str, np.ndarray]]
"""From the number of epochs done to named arrays whose first dimension is the seed."""
Curves = dict[str, dict[int, np.ndarray]]


@dataclass(frozen=True)
class Reading(Spec):
    """How a language model is trained."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "reading"

    epochs: int = 40
    batch: int = 20
    """Columns read side by side."""
    stretch: int = 35
    """Words an update: the gradient goes back no further."""
    rate: float = 1.0
    """Learning rate of SGD, the same throughout."""
    clip: float = 0.25
    """Largest norm of a lane's gradient."""
    dropout: float = 0.2
    """Of the embedding and after every layer; 0: none."""

    def validate(self) -> None:
        for field, least in {"epochs": 0, "batch": 1, "stretch": 1}.items():
            if getattr(self, field) < least:
                raise BadValue(
                    f"training/reading.{field}", getattr(self, field), f"{least} or more"
                )
        for field in ("rate", "clip"):
            if getattr(self, field) <= 0:
                raise BadValue(f"training/reading.{field}", getattr(self, field), "positive")
        if not 0 <= self.dropout < 1:
            raise BadValue("training/reading.dropout", self.dropout, "a number in [0, 1)")

    def require(self, tokens: int) -> None:
        """Refuse a text that does not fill two rows."""
        if tokens < 2 * self.batch:
            legal = f"at most half of the {tokens:,} tokens"
            raise BadValue("training/reading.batch", self.batch, legal)

    def columns(self, text: Int[np.ndarray, "seed token"]) -> Int[Tensor, "seed time batch"]:
        """The text in columns; what does not fill a row is left out."""
        self.require(text.shape[1])
        rows = text.shape[1] // self.batch
        cut = text[:, : rows * self.batch].reshape(len(text), self.batch, rows)
        return torch.from_numpy(np.ascontiguousarray(cut.swapaxes(1, 2)))


class Reader:
    """A stack of language models in training, and everything that changes from update to update."""

    def __init__(
        self,
        stack: StackedLanguageModel,
        recipe: Reading,
        seeds: Sequence[int],
        text: Int[Tensor, "seed time batch"],
    ) -> None:
        self.stack, self.recipe, self.seeds, self.text = stack, recipe, tuple(seeds), text
        self.updates = -(-(text.shape[1] - 1) // recipe.stretch)
        """Updates an epoch."""
        self._parameters = list(stack.parameters())
        self._state = stack.start(recipe.batch)
        self.loss = torch.zeros(stack.lanes, dtype=torch.float64, device=text.device)
        """Sum over this epoch's words so far."""

    def update(self, step: int) -> None:
        """One update of every lane; `step` counts from the beginning of training."""
        within = step % self.updates
        if within == 0:
            self._state = self.stack.start(self.recipe.batch)
            self.loss.zero_()
        begin = within * self.recipe.stretch
        end = min(begin + self.recipe.stretch, self.text.shape[1] - 1)
        read, following = self.text[:, begin:end], self.text[:, begin + 1 : end + 1]
        losses, after = self.stack.next_word_losses(
            read, following, self._state, drop=self._drop(step)
        )
        gradients = torch.autograd.grad(losses.sum(), self._parameters)
        self._state = tuple(tuple(part.detach() for part in state) for state in after)
        self.loss += losses.detach().double() * (end - begin)
        with torch.no_grad():
            for value, gradient in zip(
                self._parameters, clip(gradients, self.recipe.clip), strict=True
            ):
                value.add_(gradient, alpha=-self.recipe.rate)

    def mean_loss(self) -> np.ndarray:
        """The loss a word in the epoch that has just ended."""
        return np.asarray((self.loss / (self.text.shape[1] - 1)).cpu().numpy())

    def _drop(self, step: int) -> Drop:
        """The dropout of one update: every lane, update and place has its own stream."""
        share = self.recipe.dropout
        if not share:
            return keep

        def drop(place: int, value: Tensor) -> Tensor:
            shape = tuple(value.shape[1:])
            kept = np.stack([
                stream(seed, "dropout", step, place).random(shape, dtype=np.float32) >= share
                for seed in self.seeds
            ])  # fmt: skip
            return value * torch.from_numpy(kept).to(value.device).mul(1 / (1 - share))

        return drop

    def tensors(self) -> dict[str, Tensor]:
        """Everything needed to go on from here, by name."""
        named = {f"parameter.{i}": p.detach() for i, p in enumerate(self._parameters)}
        for layer, state in enumerate(self._state):
            named |= {f"state.{layer}.{i}": part for i, part in enumerate(state)}
        return {**named, "loss": self.loss}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from there."""
        for name, tensor in self.tensors().items():
            tensor.copy_(torch.from_numpy(arrays[name]))


def read(reader: Reader, measure: Measure, context: Context) -> Curves:
    """Train; what was measured before the first epoch and after each, by name and epoch."""
    curves: Curves = {}
    total = reader.recipe.epochs * reader.updates
    first, saved = _resume(reader, curves, context), time.monotonic()
    if first == 0:
        _note(curves, 0, measure(0))
    for step in range(first, total):
        reader.update(step)
        if (step + 1) % reader.updates == 0:
            epoch = (step + 1) // reader.updates
            _note(curves, epoch, {"loss": reader.mean_loss(), **measure(epoch)})
        try:
            context.progress(step + 1, total)
        except Interrupted:
            _save(reader, curves, step + 1, context)
            raise
        if time.monotonic() - saved > context.checkpoint_every:
            _save(reader, curves, step + 1, context)
            saved = time.monotonic()
    return curves


def _note(curves: Curves, epoch: int, measures: Mapping[str, np.ndarray]) -> None:
    for name, values in measures.items():
        curves.setdefault(name, {})[epoch] = values


def _save(reader: Reader, curves: Curves, step: int, context: Context) -> None:
    if context.checkpoint is None:
        return
    state = {f"reader:{name}": value.cpu().numpy() for name, value in reader.tensors().items()}
    for name, by_epoch in curves.items():
        state |= {f"curve:{at}:{name}": values for at, values in by_epoch.items()}
    context.checkpoint.save({**state, "step": np.asarray(step)})


def _resume(reader: Reader, curves: Curves, context: Context) -> int:
    """The update to start at: 0, or where the checkpoint left off, with its state put in place."""
    found = context.checkpoint.load() if context.checkpoint else None
    if found is None:
        return 0
    noted = [name.split(":", 2) for name in found if name.startswith("curve:")]
    for _, at, name in sorted(noted, key=lambda parts: int(parts[1])):
        curves.setdefault(name, {})[int(at)] = found[f"curve:{at}:{name}"]
    prefix = "reader:"
    reader.restore({n.removeprefix(prefix): v for n, v in found.items() if n.startswith(prefix)})
    return int(found["step"])
