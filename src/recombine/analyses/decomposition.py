"""Contextual decomposition (Murdoch, Liu & Yu 2018): how much of a prediction is a phrase's doing?

The state h of a recurrent network after some word is split in two, h = h_r + h_q: what is due to a
phrase of the text, in its context, and the rest. With a linear last layer W h + b the scores split
too; the phrase's are W h_r, and P(x | phrase) = softmax(W h_r); b is in neither (docs/spans.md).

    network = of_module(lstm, linear, embedding)
    found = decompose(network, text, phrases=[(0, 2, 5), (0, 3, 4)], at=[7, 7])
    found.relevant     # [phrase, read, word]: scores that words 2, 3, 4 and word 3 alone give at 7

Many phrases of many sequences go in one pass, in pieces that bound the memory. What a sequence's
phrases share (the network's own forward pass) is computed once, and nothing is done for a phrase
before it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from recombine.analyses.decomposition_lean import Lean
from recombine.analyses.decomposition_steps import (
    Shared,
    gru_pass,
    gru_step,
    lstm_pass,
    lstm_step,
)  # fmt: skip
from recombine.analyses.decomposition_variant import Variant
from recombine.analyses.recurrent_network import Network
from recombine.errors import BadValue

SHARED_BYTES = 2**27
"""What is kept of forward passes at a time."""
TOGETHER = 2**14
"""Phrases whose parts are carried at a time."""
STRIDE = 512
"""Phrases that take a step at once: few enough for the cache, enough for the product."""

Phrases = Sequence[Sequence[int]] | Int[np.ndarray, "phrase 3"]
"""Sequence, first word, and the word after the last of each phrase."""
Places = Sequence[int] | Sequence[Sequence[int]] | Int[np.ndarray, "phrase *read"]
"""After which word of its sequence a phrase's state is read: one or more for each phrase."""


@dataclass(frozen=True)
class Decomposition:
    """What phrases contribute to the scores of words, at the states asked for."""

    relevant: Float[Tensor, "phrase read word"]
    """The phrase's part of the scores, W h_r."""
    rest: Float[Tensor, "phrase read word"]
    """The rest, W h_q; with the last layer's bias, the two sum to the logits."""
    probability: Float[Tensor, "phrase read word"]
    """softmax(W h_r), over all words of the vocabulary."""


@torch.no_grad()
def decompose(
    network: Network,
    sequences: Shaped[Tensor, "a b *in"],
    phrases: Phrases,
    at: Places,
    *,
    words: Sequence[int] | None = None,
    variant: Variant | None = None,
) -> Decomposition:
    """Decompose phrases of sequences (word numbers or vectors, in the network's own layout).

    `at` says after which word of the sequence the state is read, one or more for each phrase;
    `words` which words' scores are wanted, none: all. Before its phrase begins, a relevant part
    is 0.
    """
    wanted = torch.arange(len(network.last_weight)) if words is None else _words(network, words)
    found = [
        (rows, *_scores(network, relevant, whole, wanted))
        for rows, relevant, whole in parts(network, sequences, phrases, at, variant=variant)
    ]
    order = np.argsort(np.concatenate([rows for rows, *_ in found])) if found else np.array([], int)
    reads = np.asarray(at).reshape(len(order), -1).shape[1] if len(order) else 1
    if not found:
        nothing = network.last_weight.new_zeros(0, reads, len(wanted))
        return Decomposition(nothing, nothing, nothing)
    pieces = (torch.cat(each)[order] for each in zip(*(f[1:] for f in found), strict=True))
    return Decomposition(*pieces)


def _words(network: Network, words: Sequence[int]) -> Tensor:
    size = len(network.last_weight)
    wanted = whole_numbers("words", words)
    if wanted.ndim != 1 or not len(wanted) or ((wanted < 0) | (wanted >= size)).any():
        raise BadValue("words", words, f"a list of numbers from 0 to {size - 1}")
    return torch.from_numpy(wanted)


def _scores(
    network: Network, relevant: Tensor, whole: Tensor, words: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    every = relevant @ network.last_weight.T
    rest = (whole - relevant) @ network.last_weight[words].T
    return every[..., words], rest, every.softmax(-1)[..., words]


@torch.no_grad()
def parts(
    network: Network,
    sequences: Shaped[Tensor, "a b *in"],
    phrases: Phrases,
    at: Places,
    *,
    variant: Variant | None = None,
) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
    """Pieces of the answer: phrases' numbers, their h_r and the whole h [phrase, read, hidden]."""
    network.check(sequences)
    given = sequences if network.batch_first else sequences.transpose(0, 1)
    table, reads = _checked(phrases, at, given.shape[0], given.shape[1])
    variant = Variant() if variant is None else variant
    if not isinstance(variant, Variant):
        raise BadValue("variant", variant, "a Variant, such as Variant(order='all')")
    order = np.argsort(table[:, 0], kind="stable")
    for start in range(0, len(order), TOGETHER):
        group = order[start : start + TOGETHER]
        kept = _kept(network)
        per_sequence = max(1, SHARED_BYTES // (kept * given.shape[1]))
        here = np.unique(table[group, 0])
        for low in range(0, len(here), per_sequence):
            some = here[low : low + per_sequence]
            mine = group[np.isin(table[group, 0], some)]
            local = np.column_stack([np.searchsorted(some, table[mine, 0]), table[mine, 1:]])
            yield mine, *_Pass(network, given[some], local, reads[mine], variant).run()


def _kept(network: Network) -> int:
    """Bytes kept of a forward pass for each word: 16 rows in `Shared`, 9 more in `Lean`."""
    each = 25 * network.hidden * network.last_weight.element_size()
    return each * len(network.layers)


def _checked(
    phrases: Phrases, at: Places, sequences: int, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Phrases and places as tables, or a sentence about the first that does not fit."""
    table, reads = whole_numbers("phrases", phrases), whole_numbers("at", at)
    if table.size == 0:
        table = table.reshape(0, 3)
    if table.ndim != 2 or table.shape[1] != 3:
        legal = "triples (sequence, first word, word after the last)"
        raise BadValue("phrases", f"a table of {list(table.shape)}", legal)
    if reads.ndim not in (1, 2) or len(reads) != len(table) or (len(table) and not reads.size):
        given = f"a table of {list(reads.shape)}"
        raise BadValue("at", given, f"one or more places for each of {len(table)} phrases")
    reads = reads.reshape(len(table), -1) if len(table) else reads.reshape(0, 1)
    sequence, first, last = table.T
    wrong = (sequence < 0) | (sequence >= sequences)
    if wrong.any():
        row = int(wrong.argmax())
        raise BadValue(
            f"phrase {row}", table[row].tolist(), f"a sequence from 0 to {sequences - 1}"
        )
    wrong = (first < 0) | (first > last) | (last > length)
    if wrong.any():
        row = int(wrong.argmax())
        legal = f"(sequence, first, after the last) with 0 ≤ first ≤ after ≤ {length}"
        raise BadValue(f"phrase {row}", table[row].tolist(), legal)
    wrong = np.asarray(((reads < 0) | (reads >= length)).any(1))
    if wrong.any():
        row = int(wrong.argmax())
        raise BadValue(f"at[{row}]", reads[row].tolist(), f"places from 0 to {length - 1}")
    return table, reads


def whole_numbers(what: str, given: Any) -> np.ndarray:
    """Whole numbers as a table of any shape; anything else is refused rather than rounded."""
    try:
        table = np.asarray(given)
    except ValueError:  # rows of different lengths
        table = np.asarray(None)
    if table.size and table.dtype.kind not in "iu":
        raise BadValue(what, given, "whole numbers, as many in each row")
    return table.astype(np.int64)


class _Pass:
    """Some sequences with all their phrases, from the first word to the last state read."""

    def __init__(
        self, network: Network, given: Tensor, table: np.ndarray, reads: np.ndarray,
        variant: Variant,
    ) -> None:  # fmt: skip
        self.network, self.given, self.table, self.variant = network, given, table, variant
        self.reads = torch.from_numpy(reads)
        last = network.last_weight
        shape = (len(table), len(network.layers), network.hidden)
        self.h, self.c = last.new_zeros(2, *shape)
        self.relevant, self.whole = last.new_zeros(2, *reads.shape, network.hidden)
        self.length = int(reads.max()) + 1
        """Words that matter."""

    def run(self) -> tuple[Tensor, Tensor]:
        """The relevant and the whole states that were asked for."""
        count = len(self.given)
        block = max(1, SHARED_BYTES // (_kept(self.network) * count))
        zero = self.h.new_zeros(count, self.network.hidden)
        carried = [(zero, zero) for _ in self.network.layers]
        forward = lstm_pass if self.network.cell == "lstm" else gru_pass
        for begin in range(0, self.length, block):
            end = min(begin + block, self.length)
            rows, shared = self.network.rows(self.given[:, begin:end]), []
            for i, layer in enumerate(self.network.layers):
                known, carried[i] = forward(layer, rows, carried[i])
                rows = known.state.reshape(count, end - begin, -1)
                shared.append(known)
            self._collect(begin, end, shared[-1].state)
            self._advance(begin, end, self._steppers(shared))
        return self.relevant, self.whole

    def _steppers(self, shared: Sequence[Shared]) -> Sequence[Shared | Lean]:
        """The layers in the form in which phrases are carried over them."""
        usual = self.variant.usual and self.variant.order == "bias-first"
        if not (usual and self.network.cell == "lstm" and self.variant.output_gate == "whole"):
            return shared
        most = min(STRIDE, len(self.table))
        return [Lean(*each, most) for each in zip(self.network.layers, shared, strict=True)]

    def _collect(self, begin: int, end: int, states: Tensor) -> None:
        """The network's own states at the places read."""
        due = (self.reads >= begin) & (self.reads < end)
        phrase, read = due.nonzero(as_tuple=True)
        sequence = torch.from_numpy(self.table[:, 0])[phrase]
        row = sequence * (end - begin) + self.reads[phrase, read] - begin
        self.whole[phrase, read] = states[row]

    def _advance(self, begin: int, end: int, shared: Sequence[Shared | Lean]) -> None:
        """Carry every phrase that has begun through these words; the longest go first."""
        _, first, last = self.table.T
        start = np.maximum(first, begin)
        stop = np.minimum(self.reads.numpy().max(1) + 1, end)
        steps = np.where(first == last, 0, stop - start)  # an empty phrase does nothing
        order = np.argsort(-steps, kind="stable")
        order = order[: int((steps > 0).sum())]
        for low in range(0, len(order), STRIDE):
            some = order[low : low + STRIDE]
            self._carry(some, start[some] - begin, steps[some], begin, end, shared)

    def _carry(
        self, some: np.ndarray, start: np.ndarray, steps: np.ndarray, begin: int, end: int,
        shared: Sequence[Shared | Lean],
    ) -> None:  # fmt: skip
        """A few phrases, in step with one another; those with fewer steps drop out at the end."""
        until = {"inside": 0, "but-last": -1, "never": -(2**60)}[self.variant.bias_product]
        last = self.table[some, 2] - begin
        row = torch.from_numpy(self.table[some, 0] * (end - begin) + start)
        index = torch.from_numpy(some)
        h = [self.h[index, i] for i in range(len(shared))]
        c = [self.c[index, i] for i in range(len(shared))]
        due = self.reads[index] - begin - torch.from_numpy(start).unsqueeze(1)
        for j in range(int(steps[0])):
            active = int((steps > j).sum())
            inside = start[:active] + j < last[:active]
            biased = start[:active] + j < last[:active] + until
            self._step(
                shared, row[:active] + j, h, c, active,
                torch.from_numpy(inside), torch.from_numpy(biased),
            )  # fmt: skip
            which, read = (due[:active] == j).nonzero(as_tuple=True)
            if len(which):
                self.relevant[index[which], read] = h[-1][which]
        for i in range(len(shared)):
            self.h[index, i], self.c[index, i] = h[i], c[i]

    def _step(
        self, shared: Sequence[Shared | Lean], rows: Tensor, h: list[Tensor], c: list[Tensor],
        active: int, inside: Tensor, biased: Tensor,
    ) -> None:  # fmt: skip
        """One word for the first `active` phrases, through all layers, in place."""
        within = inside.to(self.h.dtype).unsqueeze(1) if inside.any() else None
        weight = biased.to(self.h.dtype).unsqueeze(1)
        for i, (layer, everything) in enumerate(zip(self.network.layers, shared, strict=True)):
            mine, memory = h[i][:active], c[i][:active]
            # Relevant input: the phrase's own words in the first layer, above it what the layer
            # below has made of them.
            below = h[i - 1][:active] if i else None
            if isinstance(everything, Lean):
                everything.step(rows, below, within, 1 - weight, mine, memory)
                continue
            known = everything.take(rows, inside=within is not None and i == 0)
            past = mine @ layer.hidden_weight.T
            read = torch.zeros_like(past)
            if below is not None:
                read = below @ layer.input_weight.T
            elif known.read is not None and within is not None:
                read = known.read * within
            if self.network.cell == "lstm":
                h[i][:active], c[i][:active] = lstm_step(
                    layer, known, past + read, memory, weight, self.variant
                )
            else:
                h[i][:active] = gru_step(layer, known, (read, past), mine, weight, self.variant)
