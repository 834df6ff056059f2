"""`attentive` on packed batches, one seed at a time: for training and for quick evaluation.

A `Pack` is a batch of answers sorted by length, its rows of all steps below one another (see
`attentive_kernel`). Written answers are decoded in the same order: a sentence needs no step beyond
the length of its right answer to be known right or wrong, so evaluation wastes nothing on padding;
and all seeds take the same steps, so that a seed's answers do not depend on its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from recombine.models.attentive import Read, Weights, cell, encode, word_table
from recombine.models.attentive_kernel import Decode

TOGETHER = 2048
"""Sentences decoded at once: more do not fit the cache."""


@dataclass(frozen=True)
class Pack:
    """Sentences and right answers in order of length, packed."""

    order: Int[np.ndarray, " n"]
    """Which of the given examples each row is."""
    inputs: Float[Tensor, "n word kind"]
    previous: Int[Tensor, " row"]
    """The word before each packed row; `start` at the first step."""
    wanted: Int[Tensor, " row"]
    counts: tuple[int, ...]
    """Rows of each step, falling."""


def pack(
    inputs: Float[np.ndarray, "n word kind"],
    targets: Int[np.ndarray, "n output"],
    start: int,
    device: str = "cpu",
) -> Pack:
    """Pack examples; targets are −1 after the end."""
    lengths = (targets >= 0).sum(1)
    order = np.argsort(-lengths, kind="stable")
    lengths, answers = lengths[order], targets[order]
    steps = np.arange(int(lengths[0]))
    alive = steps[:, None] < lengths
    before = np.concatenate([np.full((len(answers), 1), start), answers[:, :-1]], axis=1)
    return Pack(
        order,
        torch.from_numpy(inputs[order]).to(device),
        torch.from_numpy(before.T[: len(steps)][alive]).to(device),
        torch.from_numpy(answers.T[: len(steps)][alive]).to(device),
        tuple(alive.sum(1).tolist()),
    )


def forced_logits(w: Weights, batch: Pack) -> Float[Tensor, "row class"]:
    """Teacher-forced logits of every packed row; `w` holds one seed."""
    read = encode(w, batch.inputs.unsqueeze(0))
    vectors: Tensor = Decode.apply(  # type: ignore[no-untyped-call]
        word_table(w)[0],
        w["decoder_state"][0],
        read.keys[0],
        read.memory[0],
        read.hidden[0].unsqueeze(2),
        w["mixer"][0],
        read.h[0],
        read.c[0],
        batch.previous,
        batch.counts,
    )
    return torch.addmm(w["output_bias"][0], vectors, w["output"][0])


def loss(w: Weights, batch: Pack) -> Float[Tensor, ""]:
    """Cross entropy, summed over an answer's words and its end, averaged over sentences."""
    total = torch.nn.functional.cross_entropy(
        forced_logits(w, batch), batch.wanted, reduction="sum"
    )
    return total / len(batch.inputs)


def right(guesses: Int[Tensor, " row"], batch: Pack) -> Int[Tensor, " n"]:
    """Which sentences are right in all their rows (1) and which are not (0), in packed order."""
    correct = torch.ones(len(batch.inputs), dtype=torch.int64, device=guesses.device)
    start = 0
    for n in batch.counts:
        now = slice(start, start + n)
        correct[:n] *= guesses[now] == batch.wanted[now]
        start += n
    return correct


@torch.no_grad()
def forced_right(w: Weights, batch: Pack) -> Int[Tensor, " n"]:
    """Which sentences are right when every step is told the right words before it."""
    return right(forced_logits(w, batch).argmax(-1), batch)


@torch.no_grad()
def written(w: Weights, batch: Pack) -> Int[Tensor, " row"]:
    """Free-running words, each sentence only as far as its right answer goes."""
    read, guesses = encode(w, batch.inputs.unsqueeze(0)), []
    writer = _Writer(w, read)
    for n in batch.counts:
        guesses.append(writer.step(n))
    return torch.cat(guesses)


@torch.no_grad()
def answers(
    w: Weights, inputs: Float[Tensor, "n word kind"], longest: int
) -> Int[Tensor, "n longest"]:
    """Free-running answers in full, ended or not; the end stands in all places after itself."""
    starts = range(0, len(inputs), TOGETHER)
    return torch.cat([_answers(w, inputs[s : s + TOGETHER], longest) for s in starts])


def _answers(w: Weights, inputs: Tensor, longest: int) -> Tensor:
    end = w["output"].shape[-1] - 1
    writer = _Writer(w, encode(w, inputs.unsqueeze(0)))
    given = torch.full((len(inputs), longest), end, device=inputs.device)
    over = torch.zeros(len(inputs), dtype=torch.bool, device=inputs.device)
    for t in range(longest):
        word = writer.step(len(inputs))
        given[:, t] = torch.where(over, end, word)
        over |= word == end
        if bool(over.all()):
            break
    return given


class _Writer:
    """The decoder of one seed, fed with its own words."""

    def __init__(self, w: Weights, read: Read) -> None:
        self._w, self._table = w, word_table(w)[0]
        self._keys, self._memory, self._hidden = read.keys[0], read.memory[0], read.hidden[0]
        self._h, self._c = read.h[0], read.c[0]
        self._vector = torch.zeros_like(self._h)
        start = w["output"].shape[-1]
        self._word = torch.full((len(self._h),), start, device=self._h.device)

    def step(self, n: int) -> Int[Tensor, " n"]:
        """The next words of the first n sentences; the others are done."""
        w = self._w
        fed = torch.cat([self._h[:n], self._vector[:n]], dim=1)
        gates = self._table[self._word[:n]].addmm_(fed, w["decoder_state"][0])
        h, self._c = cell(gates, self._c[:n])
        scores = torch.bmm(self._keys[:n], h.unsqueeze(2)).squeeze(2) + self._hidden[:n]
        context = torch.bmm(scores.softmax(1).unsqueeze(1), self._memory[:n]).squeeze(1)
        self._vector = torch.mm(torch.cat([h, context], dim=1), w["mixer"][0])
        logits = torch.addmm(w["output_bias"][0], self._vector, w["output"][0])
        self._h, self._word = h, logits.argmax(1)
        return self._word
