"""`bench scan`: SCAN at the paper's setting, packed, against a plain PyTorch loop over seeds.

Both sides train the same network on the same batches of 256: bidirectional LSTM, attention with
input feeding, clipping at 1, Adam at .01. The plain loop is what one would write by hand: nn.LSTM,
nn.LSTMCell step by step, sentences padded to the longest of the batch, `torch.optim.Adam`.

What limits the packed side: its products are a third of the plain ones (answers have 14 words on
average and up to 49), so that about half of its time goes to calling small operations. Times are
of the processor, not of the clock; steps of the two sides alternate and the least time of each
counts: a busy machine slows both alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from recombine.bench.benchmark import Measured
from recombine.cell import Context
from recombine.models import attentive_packed as packed
from recombine.models.attentive import Attentive
from recombine.seeds import stream, torch_seed
from recombine.tasks.scan import Scan
from recombine.tasks.scan_grammar import commands
from recombine.training import Adam, Exponential, Recipe
from recombine.training.translation import Lesson, Translation

SEEDS = 5
ROUNDS = 4
BATCH = 256
AIM = 1.5
GENERATED = 1.0
"""Seconds for all commands with their factors."""


def measure() -> Measured:
    """Steps of five seeds on either side, then generation and evaluation."""
    torch.set_num_threads(1)
    task, model = Scan(), Attentive()
    recipe = Recipe(
        batch=BATCH, loss="sequence-cross-entropy", optimizer=Adam(rate=0.01),
        schedule=Exponential(stairs=True), clip=1.0, evaluation_examples=1,
    )  # fmt: skip
    lessons = [Lesson(Translation(task, model, recipe), s, Context()) for s in range(SEEDS)]
    plain = [_Loop(seed, task, model) for seed in range(SEEDS)]
    ours, theirs = [], []
    for step in range(ROUNDS + 1):
        for lesson, loop in zip(lessons, plain, strict=True):
            ours.append(_timed(partial(lesson.update, step)))
            theirs.append(_timed(partial(loop.update, step)))
    # The first round warms up; of the others the least time of each seed counts.
    packed_time, plain_time = (
        float(np.reshape(times, (ROUNDS + 1, SEEDS))[1:].min(0).mean()) for times in (ours, theirs)
    )
    generated = min(_timed(lambda: commands.__wrapped__()) for _ in range(3))
    z = task.combinations("test")
    inputs = torch.from_numpy(task.show(z, task.draw_noise(len(z), stream(0, "bench"))).inputs)
    weights = [model.stack([s], task.input_shape, 49, task.classes).lane(0) for s in range(SEEDS)]
    evaluated = min(
        _timed(lambda: [packed.answers(w, inputs, len(task.outputs)) for w in weights])
        for _ in range(2)
    )
    answered = SEEDS * len(inputs)
    ratio = plain_time / packed_time
    rows = (
        (
            "a step of one seed, plain loop",
            f"{plain_time * 1e3:.0f} ms",
            f"{1 / plain_time:.1f} /s",
        ),
        ("a step of one seed, packed", f"{packed_time * 1e3:.0f} ms", f"{1 / packed_time:.1f} /s"),
        ("times faster a seed", f"{ratio:.2f}", ""),
        ("all 20,910 commands with factors", f"{generated:.2f} s", ""),
        (
            f"greedy answers to {len(inputs):,} commands, {SEEDS} seeds",
            f"{evaluated:.1f} s",
            f"{answered / evaluated:,.0f} answers/s",
        ),
    )
    return Measured(
        f"SCAN, batch {BATCH}, {SEEDS} seeds in turn, one thread",
        ("what", "time", "rate"),
        rows,
        {
            f"training at least {AIM} times faster a seed than a plain loop": ratio >= AIM,
            f"all of SCAN with factors under {GENERATED:g} s": generated < GENERATED,
        },
    )


def _timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


class _Loop:
    """One seed, as one would write it by hand."""

    def __init__(self, seed: int, task: Scan, model: Attentive) -> None:
        self._seed, self._task = seed, task
        with torch.random.fork_rng():
            torch.manual_seed(torch_seed(seed, "init"))
            self._net = _Plain(model, len(task.source_words), task.classes)
        self._optimizer = torch.optim.Adam(self._net.parameters(), lr=0.01)

    def update(self, step: int) -> None:
        z, noise = self._task.draw("train", BATCH, stream(self._seed, "data", step))
        shown = self._task.show(z, noise)
        words = torch.from_numpy(self._task.words_of(shown.inputs))
        longest = int((shown.targets >= 0).sum(1).max())
        targets = torch.from_numpy(shown.targets)[:, :longest]
        logits = self._net(words, targets)
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum"
        )
        self._optimizer.zero_grad()
        (loss / BATCH).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._net.parameters(), 1.0)
        self._optimizer.step()


class _Plain(nn.Module):
    """The network of `attentive` out of PyTorch's own modules, padded."""

    def __init__(self, model: Attentive, words: int, classes: int) -> None:
        super().__init__()
        h, d = model.encoder, model.decoder
        self.source = nn.Embedding(words + 1, model.embedding, padding_idx=words)
        self.encoder = nn.LSTM(model.embedding, h, bidirectional=True, batch_first=True)
        self.target = nn.Embedding(classes + 1, model.output_embedding)
        self.cell = nn.LSTMCell(model.output_embedding + d, d)
        self.memory = nn.Linear(2 * h, d, bias=False)
        self.mixer = nn.Linear(d + 2 * h, d, bias=False)
        self.output = nn.Linear(d, classes)

    def forward(self, words: Tensor, targets: Tensor) -> Tensor:
        """Teacher-forced logits [batch, step, class]."""
        hidden = words < 0
        lengths = (~hidden).sum(1)
        embedded = self.source(words.masked_fill(hidden, self.source.num_embeddings - 1))
        sentences = nn.utils.rnn.pack_padded_sequence(
            embedded, lengths, batch_first=True, enforce_sorted=False
        )
        packed_states, (h, c) = self.encoder(sentences)
        states, _ = nn.utils.rnn.pad_packed_sequence(
            packed_states, batch_first=True, total_length=words.shape[1]
        )
        keys = self.memory(states)
        h, c = (x.transpose(0, 1).flatten(1) for x in (h, c))
        vector = torch.zeros_like(h)
        word = torch.full_like(targets[:, 0], self.target.num_embeddings - 1)
        logits = []
        for t in range(targets.shape[1]):
            h, c = self.cell(torch.cat([self.target(word), vector], dim=1), (h, c))
            scores = torch.bmm(keys, h.unsqueeze(2)).squeeze(2).masked_fill(hidden, -torch.inf)
            context = torch.bmm(scores.softmax(1).unsqueeze(1), states).squeeze(1)
            vector = self.mixer(torch.cat([h, context], dim=1))
            logits.append(self.output(vector))
            word = targets[:, t].clamp(min=0)
        return torch.stack(logits, dim=1)
