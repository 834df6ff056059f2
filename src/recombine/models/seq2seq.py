"""Sequence to sequence: a recurrent encoder, a recurrent decoder and attention between them.

Inputs are one-hot rows [seed, batch, time, word]; a row of zeros after the end is padding: the
encoder's state is held there and attention does not look at it. The decoder is fed its own best
word (`forward`) or the right one (`forced`). With attention *before* the cell, the query is the
state before and the context goes into the cell with the embedded word e:

    `focus`:        cell input = c ⊙ ReLU(W[c; e] + b)
    `concatenate`:  cell input = [c; e]

With attention *after* the cell, the query is the new state and the words are read from [h; c].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor

from recombine.errors import BadValue
from recombine.models import seq2seq_kernel
from recombine.models.attention import Attention, Dot, Perceptron
from recombine.models.cells import GRU, LSTM, Cell, Convention
from recombine.models.decoder import Decoder, Layout
from recombine.models.encoder import Encoder
from recombine.models.initial import Init, Initial
from recombine.models.model import Model, Reads
from recombine.models.sequence import SequenceStack
from recombine.models.stack import Tap, sees_all, untouched


@dataclass(frozen=True)
class Seq2Seq(Model):
    """A recurrent encoder and decoder, with attention or without."""

    name: ClassVar[str] = "seq2seq"
    reads: ClassVar[Reads] = "sequences"

    cell: Literal["gru", "lstm"] = "gru"
    embedding: int = 16
    """Size of a source word's embedding."""
    hidden: int = 64
    """Units of the encoder, in each direction."""
    both_directions: bool = False
    """A second encoder reads from the end; its states stand beside the first one's."""
    bridge: Literal["last", "ends"] = "last"
    """The decoder starts from the encoder's final states, or from those at its first and last
    word; through a linear layer if the decoder has another size."""
    decoder_hidden: int | None = None
    """Units of the decoder; none: as many as the bridge gives."""
    output_embedding: int = 64
    """Size of a target word's embedding."""
    attention: Literal["mlp", "dot", "none"] = "mlp"
    attend: Literal["before", "after"] = "before"
    """Before or after the decoder's cell."""
    combine: Literal["focus", "concatenate"] = "focus"
    """How context and word meet before the cell."""
    start: Literal["own", "last-word"] = "own"
    """The word before the first: an embedding of its own, or the last of the target words."""
    convention: Convention = "torch"
    """What the update gate of a GRU does when it is 1: keeps the state, or overwrites it."""
    init: Init = "uniform"
    """`uniform`: everything U(−bound, bound). `glorot`: biases 0. `pytorch`: as nn.Linear, nn.GRU
    and nn.Embedding draw theirs."""
    bound: float = 0.08
    """Of the uniform draw."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        small = cls(embedding=3, hidden=5, output_embedding=4)
        lstm = replace(small, cell="lstm")
        return (
            cls(hidden=9, output_embedding=9, start="last-word"),
            replace(small, combine="concatenate", convention="printed", init="pytorch"),
            replace(lstm, attend="after", both_directions=True, bridge="ends"),
            replace(lstm, decoder_hidden=7, attention="none", init="glorot"),
            replace(small, attention="dot", combine="concatenate", both_directions=True),
        )

    def validate(self) -> None:
        where = "models/seq2seq"
        for field in ("embedding", "hidden", "output_embedding"):
            if getattr(self, field) < 1:
                raise BadValue(f"{where}.{field}", getattr(self, field), "at least 1")
        if self.decoder_hidden is not None and self.decoder_hidden < 1:
            raise BadValue(f"{where}.decoder_hidden", self.decoder_hidden, "at least 1, or none")
        if self.bound <= 0:
            raise BadValue(f"{where}.bound", self.bound, "a positive number")
        if self.attention == "dot" and self.decoder_units != self.values:
            legal = f"{self.values}, the size of the encoder's outputs, with dot attention"
            raise BadValue(f"{where}.decoder_hidden", self.decoder_units, legal)

    @property
    def values(self) -> int:
        """Size of the encoder's outputs."""
        return self.hidden * (1 + self.both_directions)

    @property
    def bridged(self) -> int:
        """Size of what the encoder hands over."""
        return self.values * (1 + (self.bridge == "ends"))

    @property
    def decoder_units(self) -> int:
        """Units of the decoder."""
        return self.decoder_hidden or self.bridged

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> SequenceStack:
        if len(input_shape) != 2:
            raise BadValue("models/seq2seq", input_shape, "inputs of shape (length, words)")
        initial = Initial(seeds, self.init, self.bound)
        length, words = input_shape
        cells = [
            self._cell(initial, self.embedding, self.hidden)
            for _ in range(1 + self.both_directions)
        ]
        encoder = Encoder(initial, cells, words, self.embedding)
        decoder = self._decoder(initial, classes)
        return StackedSeq2Seq(encoder, decoder, length, outputs)

    def _decoder(self, initial: Initial, classes: int) -> Decoder:
        before = self.attention != "none" and self.attend == "before"
        layout = Layout(
            classes=classes,
            embedding=self.output_embedding,
            values=self.values,
            before=before,
            focus=before and self.combine == "focus",
            own_start=self.start == "own",
            bridged=self.bridged,
            ends=self.bridge == "ends",
        )
        cell = self._cell(initial, layout.cell_inputs, self.decoder_units)
        return Decoder(initial, cell, self._attention(initial), layout)

    def _cell(self, initial: Initial, inputs: int, hidden: int) -> Cell:
        if self.cell == "lstm":
            return LSTM(initial, inputs, hidden)
        return GRU(initial, inputs, hidden, self.convention)

    def _attention(self, initial: Initial) -> Attention | None:
        if self.attention == "none":
            return None
        if self.attention == "dot":
            return Dot()
        return Perceptron(initial, self.values, self.decoder_units, self.decoder_units)

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return raw.softmax(-1)


class StackedSeq2Seq(SequenceStack):
    """The networks of many seeds.

    Sites: `encoder.{t}.` and, from the end, `backward.{t}.` with the gates and `state` of the cell;
    `decoder.start`, the state the decoder starts from; then for each decoder step
    `decoder.{t}.attention`, `.context`, `.combined`, gates, `state` and `.logits`, in the order in
    which they come about.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder, length: int, outputs: int) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self._length, self._outputs = length, outputs

    @property
    def lanes(self) -> int:
        return len(self.encoder.embedding)

    @property
    def sites(self) -> tuple[str, ...]:
        return (*self.encoder.sites(self._length), *self.decoder.sites(self._outputs))

    def unroll(
        self,
        inputs: Float[Tensor, "seeds_or_1 batch time word"],
        tap: Tap = untouched,
        *,
        targets: Tensor | None = None,
        steps: int | None = None,
    ) -> Float[Tensor, "seed batch output class"]:
        inputs = inputs.expand(self.lanes, *inputs.shape[1:])
        steps = self._outputs if steps is None else steps
        if not sees_all(tap) and seq2seq_kernel.serves(self.encoder, self.decoder):
            logits, looks = seq2seq_kernel.unroll(
                self.encoder, self.decoder, inputs, targets, steps
            )
            for t, look in enumerate(looks.unbind(2)):
                tap(f"decoder.{t}.attention", look)
            return logits
        raw: Tensor = self.decoder(self.encoder(inputs, tap), tap, targets, steps)
        return raw
