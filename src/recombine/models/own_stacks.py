"""Stacks of a user's modules, one a kind, each tried on a few examples before it is used.

A wrong shape, a missing argument or a decoder that looks ahead is found here, before anything is
trained, and told in one line that says what was expected.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from recombine.errors import UsageError
from recombine.models.modules import Modules
from recombine.models.sequence import SequenceStack
from recombine.models.stack import Stack, Tap, untouched

if TYPE_CHECKING:
    from recombine.models.own import Kind

TRIED = 2
"""Examples that a module is tried on."""
ROWS = 7
"""Examples by whose number a layer that has a row an example is known."""


def make(
    form: Kind,
    modules: Sequence[nn.Module],
    input_shape: tuple[int, ...],
    outputs: int,
    classes: int,
    name: str,
) -> Stack:
    """The stack of that kind."""
    inner = Modules(modules)
    if form == "classes":
        return OwnClasses(inner, input_shape, outputs, classes, name)
    if len(input_shape) != 2:
        raise UsageError(f"{name} reads sequences, but the task's inputs are {input_shape}")
    if form == "sequence":
        return OwnSequence(inner, input_shape, outputs, classes, name)
    return OwnNextToken(inner, input_shape, outputs, classes, name)


def tried(inner: Modules, name: str, wanted: tuple[int, ...], said: str, *inputs: Tensor) -> Tensor:
    """The answer to a few examples; an error in plain words if it is not of the wanted shape."""
    try:
        answer = inner.settle(*inputs)
    except Exception as error:  # whatever a stranger's forward raises
        shapes = ", ".join(f"{tuple(x.shape[1:])} {str(x.dtype)[6:]}" for x in inputs)
        raise UsageError(
            f"{name} failed on inputs {shapes}: {type(error).__name__}: "
            f"{str(error).strip().splitlines()[0] if str(error).strip() else error!r}; {said}"
        ) from error
    if not answer.is_floating_point():
        raise UsageError(f"{name} gave numbers of {answer.dtype}, expected scores; {said}")
    if tuple(answer.shape[1:]) != wanted:
        raise UsageError(f"{name} gave {tuple(answer.shape[1:])}, expected {wanted}; {said}")
    return answer


class OwnClasses(Stack):
    """Inputs to classes; its sites are `output`, and `hidden`: what its last nn.Linear reads."""

    def __init__(
        self, inner: Modules, input_shape: tuple[int, ...], outputs: int, classes: int, name: str
    ) -> None:
        super().__init__()
        self.inner, self._outputs, self._classes = inner, outputs, classes
        said = f"scores must be [batch, {outputs} outputs, {classes} classes]"
        if outputs == 1:
            said += f" or [batch, {classes}]"
        x = torch.zeros(1, TRIED, *input_shape)
        inner_shape = (TRIED, outputs, classes)
        try:
            shape = tuple(inner.settle(x).shape[1:])
        except Exception:
            shape = inner_shape
        flat = shape in ((TRIED, outputs * classes), (TRIED, classes) if outputs == 1 else ())
        tried(inner, name, shape if flat else inner_shape, said, x)
        self._read_out = inner.read_out(x.new_zeros(1, ROWS, *input_shape))

    @property
    def lanes(self) -> int:
        return self.inner.lanes

    @property
    def looped(self) -> bool:
        """Run seed after seed, because vmap cannot."""
        return self.inner.looped

    @property
    def sites(self) -> tuple[str, ...]:
        return ("output",) if self._read_out is None else ("hidden", "output")

    def forward(
        self, inputs: Shaped[Tensor, "seeds_or_1 batch *shape"], tap: Tap = untouched
    ) -> Float[Tensor, "seed batch output class"]:
        if self._read_out is None or tap is untouched:
            raw = self.inner(inputs)
        else:
            raw, hidden = self.inner.watched(self._read_out, inputs)
            instead = tap("hidden", hidden)
            if instead is not hidden:
                raw, _ = self.inner.watched(self._read_out, inputs, put=instead)
        return tap("output", raw.reshape(*raw.shape[:2], self._outputs, self._classes))


class _OwnSequences(SequenceStack):
    """What both kinds of sequence model share: words in numbers, decoding word by word."""

    def __init__(
        self, inner: Modules, input_shape: tuple[int, ...], outputs: int, classes: int, name: str
    ) -> None:
        super().__init__()
        self.inner, self._outputs, self._classes, self._name = inner, outputs, classes, name
        self._words = input_shape[1]
        source = torch.zeros(1, TRIED, *input_shape)
        source[..., 0] = 1.0
        self._try(source)

    @property
    def lanes(self) -> int:
        return self.inner.lanes

    @property
    def looped(self) -> bool:
        """Run seed after seed, because vmap cannot."""
        return self.inner.looped

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(f"decoder.{t}.logits" for t in range(self._outputs))

    def unroll(
        self,
        inputs: Float[Tensor, "seeds_or_1 batch time word"],
        tap: Tap = untouched,
        *,
        targets: Int[Tensor, "seeds_or_1 batch output"] | None = None,
        steps: int | None = None,
    ) -> Float[Tensor, "seed batch step class"]:
        steps = self._outputs if steps is None else steps
        source = (inputs.argmax(-1) + 1) * inputs.any(-1)
        if targets is not None:
            before = targets[..., : steps - 1].clamp(min=0)
            raw = self._scores(source, before)
            each = [tap(f"decoder.{t}.logits", raw[:, :, t]) for t in range(steps)]
            return torch.stack(each, dim=2)
        words = source.new_zeros(self.lanes, source.shape[1], 0)
        each = []
        for t in range(steps):
            # only the words so far: a network that looks ahead has nothing to see
            raw = tap(f"decoder.{t}.logits", self._scores(source, words)[:, :, t])
            each.append(raw)
            words = torch.cat([words, raw.argmax(-1, keepdim=True)], dim=-1)
        return torch.stack(each, dim=2)

    def _scores(self, source: Tensor, words: Tensor) -> Tensor:
        """The scores after each of 0, 1, … words: [seed, batch, words + 1, class]."""
        return self._read(self.inner(*self._given(source, words)), source)

    def _try(self, source: Tensor) -> None:
        index = (source.argmax(-1) + 1) * source.any(-1)
        words = index.new_zeros(1, TRIED, self._outputs - 1)
        given = self._given(index, words)
        answer = tried(self.inner, self._name, self._wanted(given), self._said(), *given)
        if self._outputs < 2:
            return
        words[..., -1] = self._classes - 1
        other = self.inner(*self._given(index, words))
        first = self._read(answer, index)[:, :, 0]
        if not torch.allclose(first, self._read(other, index)[:, :, 0], atol=1e-4, rtol=1e-3):
            raise UsageError(
                f"{self._name} looks ahead: the scores of the first word changed with the last; "
                "mask later words (torch.nn.Transformer.generate_square_subsequent_mask)"
            )

    @abstractmethod
    def _given(self, source: Tensor, words: Tensor) -> tuple[Tensor, ...]:
        """What the module is called with: source words, and the words so far."""

    @abstractmethod
    def _wanted(self, given: tuple[Tensor, ...]) -> tuple[int, ...]:
        """The shape its answer must have."""

    @abstractmethod
    def _read(self, answer: Tensor, source: Tensor) -> Tensor:
        """Its answer as scores of target words after each of 0, 1, … words."""

    @abstractmethod
    def _said(self) -> str:
        """What is expected of it, for a message."""


class OwnSequence(_OwnSequences):
    """Source and words so far to the next word at each step."""

    def _given(self, source: Tensor, words: Tensor) -> tuple[Tensor, ...]:
        shape = (max(len(source), len(words)), *source.shape[1:])
        start = words.new_zeros(*words.shape[:2], 1)
        return source.expand(shape), torch.cat([start, words + 1], dim=-1)

    def _wanted(self, given: tuple[Tensor, ...]) -> tuple[int, ...]:
        return (TRIED, self._outputs, self._classes)

    def _read(self, answer: Tensor, source: Tensor) -> Tensor:
        return answer

    def _said(self) -> str:
        return (
            "a sequence model takes source [batch, time] and words so far [batch, step] and gives "
            f"scores [batch, step, {self._classes} target words]"
        )


class OwnNextToken(_OwnSequences):
    """One sequence of tokens: source, separator, words so far."""

    def _given(self, source: Tensor, words: Tensor) -> tuple[Tensor, ...]:
        lanes = max(len(source), len(words))
        source = source.expand(lanes, *source.shape[1:])
        words = words.expand(lanes, *words.shape[1:])
        middle = source.new_full((*source.shape[:2], 1), self._words + 1)
        return (torch.cat([source, middle, words + self._words + 2], dim=-1),)

    def _wanted(self, given: tuple[Tensor, ...]) -> tuple[int, ...]:
        return (TRIED, given[0].shape[-1], self._words + self._classes + 2)

    def _read(self, answer: Tensor, source: Tensor) -> Tensor:
        return answer[:, :, source.shape[-1] :, self._words + 2 :]

    def _said(self) -> str:
        tokens = self._words + self._classes + 2
        return (
            f"a next-token model takes tokens [batch, time], gives [batch, time, {tokens} tokens]"
        )
