"""`bench seq2seq`: updates a second of the guided GRU as published, against plain PyTorch.

Both sides train the same network (3,451,708 parameters, batch 1) on the same sentences with the
same losses, one thread. The plain version is what one would write by hand: nn.GRU as encoder,
attention computed anew at each step, `backward()`, `clip_grad_norm_`, torch.optim.Adam with its
defaults. Looped lanes are trained one after another on both sides, here each by a block of updates.
Both sides take turns, each is counted by its fastest block, and time is that of this process on
its core, so that a busy machine disturbs both alike.

Also stated: the share of an update that goes into the optimizer, the recurrent cells and the
attention, each timed by itself (cells and attention as modules, with the book-keeping of autograd
that the written-out pass does without: their shares are upper bounds), and how far the update is
from the limit of memory: the bytes that it must move, at the speed at which this machine copies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import nn

from recombine.bench.benchmark import Measured
from recombine.bench.plain_seq2seq import PlainSeq2Seq, plain_update
from recombine.models.attention import Perceptron
from recombine.models.cells import GRU
from recombine.models.initial import Initial
from recombine.models.seq2seq import Seq2Seq
from recombine.models.stack import untouched
from recombine.tasks.lookup import LookupTables
from recombine.training import Adam, Guidance, Recipe
from recombine.training.feed import Feed
from recombine.training.lanes import Lanes

HIDDEN, EMBEDDING, ENCODED, DECODED = 512, 16, 4, 3
"""Sizes, and the time steps of a sentence with two tables."""
BLOCK, BLOCKS = 8, 12
AIM = 1.5


def measure() -> Measured:
    """One lane and five, ours against the plain version; then where the time goes."""
    torch.set_num_threads(1)
    ours = {n: _ours(range(n), "looped") for n in (1, 5)}
    stacked = _ours(range(5), "stacked")
    plain = {n: _plain(range(n)) for n in (1, 5)}
    best = _in_turns(
        {
            **{f"ours {n}": update for n, update in ours.items()},
            **{f"plain {n}": update for n, update in plain.items()},
            "stacked 5": stacked,
        }
    )
    rows: list[tuple[object, ...]] = []
    for n in (1, 5):
        for name, words in [("ours", "ours, lanes looped"), ("plain", "plain PyTorch, looped")]:
            each = best[f"{name} {n}"] / n
            ratio = f"{best[f'plain {n}'] / best[f'{name} {n}']:.2f}"
            rows.append((words, n, f"{1 / each:.0f}", f"{each * 1e3:.2f}", ratio))
    each = best["stacked 5"] / 5
    ratio = f"{best['plain 5'] / best['stacked 5']:.2f}"
    rows.append(("ours, lanes in one stack", 5, f"{1 / each:.0f}", f"{each * 1e3:.2f}", ratio))
    rows += _shares(best["ours 1"])
    ratios = {n: best[f"plain {n}"] / best[f"ours {n}"] for n in (1, 5)}
    return Measured(
        "guided GRU as published, batch 1, one thread",
        ("what", "lanes", "updates a second and seed", "milliseconds an update", "times faster"),
        tuple(rows),
        {f"{n} lanes at least {AIM} times faster a seed": r >= AIM for n, r in ratios.items()},
    )


def _recipe(lanes: str) -> Recipe:
    return Recipe(
        batch=1,
        sampling="each-once",
        loss="sequence-cross-entropy",
        optimizer=Adam(1e-3, fused=lanes == "looped"),
        clip=5.0,
        guidance=Guidance(),
        lanes=lanes,  # type: ignore[arg-type]
    )


def _model() -> Seq2Seq:
    return Seq2Seq(embedding=EMBEDDING, hidden=HIDDEN, output_embedding=HIDDEN, start="last-word")


Update = Callable[[int], None]
"""One update, or a part of one, given its number."""


def _ours(seeds: range, lanes: str) -> list[Update]:
    """An update of every stack of seeds: of each seed by itself if they are looped."""
    task, recipe = LookupTables(), _recipe(lanes)
    groups = [list(seeds)] if lanes == "stacked" else [[seed] for seed in seeds]
    shape = (task.input_shape, len(task.outputs), task.classes)
    trained = [Lanes(_model().stack(group, *shape), recipe) for group in groups]
    feeds = [Feed(task, recipe, group, "cpu") for group in groups]

    def update(step: int, *, of: int) -> None:
        trained[of].update(step, *feeds[of].batch(step))

    return [partial(update, of=i) for i in range(len(groups))]


def _plain(seeds: range) -> list[Update]:
    """An update of each seed, as written by hand."""
    task = LookupTables()
    feeds = [Feed(task, _recipe("looped"), [seed], "cpu") for seed in seeds]
    networks = [PlainSeq2Seq(len(task.source_words), task.classes, HIDDEN) for _ in seeds]
    optimizers = [torch.optim.Adam(network.parameters(), lr=1e-3) for network in networks]

    def update(step: int, *, of: int) -> None:
        sentence = (values[0, 0] for values in feeds[of].batch(step))
        plain_update(networks[of], optimizers[of], *sentence)

    return [partial(update, of=i) for i in range(len(networks))]


def _in_turns(sides: dict[str, list[Update]]) -> dict[str, float]:
    """Seconds of one update of all of each side, the best of blocks taken in turn."""
    best = dict.fromkeys(sides, float("inf"))
    for updates in sides.values():
        for update in updates:
            update(0)
    for _ in range(BLOCKS):
        for name, updates in sides.items():
            start = time.process_time()
            for update in updates:
                for step in range(BLOCK):
                    update(step)
            best[name] = min(best[name], (time.process_time() - start) / BLOCK)
    return best


def _shares(whole: float) -> list[tuple[object, ...]]:
    """Parts of one of our updates by themselves, and the limit of memory."""
    parts = _in_turns(
        {"optimizer": [_optimizer()], "cells": [_cells()], "attention": [_attention()]}
    )
    names = {
        "optimizer": "clipping and optimizer",
        "cells": "recurrent cells, both passes",
        "attention": "attention, both passes",
    }
    rows: list[tuple[object, ...]] = [
        (f"… of which {words}", 1, "", f"{parts[name] * 1e3:.2f}", f"{parts[name] / whole:.0%}")
        for name, words in names.items()
    ]
    limit = _bytes() / _speed()
    rows.append(
        ("limit of memory", 1, f"{1 / limit:.0f}", f"{limit * 1e3:.2f}", f"{limit / whole:.0%}")
    )
    return rows


def _optimizer() -> Update:
    task, recipe = LookupTables(), _recipe("looped")
    stack = _model().stack([0], task.input_shape, len(task.outputs), task.classes)
    lanes = Lanes(stack, recipe)
    gradients = tuple(parameter.room for parameter in stack.parameters())  # type: ignore[attr-defined]

    def update(step: int) -> None:
        lanes.move(step, gradients)

    return update


def _cells() -> Update:
    initial = Initial([0], "uniform", 0.08)
    read, write = GRU(initial, EMBEDDING, HIDDEN), GRU(initial, HIDDEN, HIDDEN)
    _give_room([*read.parameters(), *write.parameters()])
    words, inputs = torch.randn(1, ENCODED, EMBEDDING), torch.randn(1, 1, HIDDEN)

    def run(step: int) -> None:
        project, recur = read.open()
        projected = torch.split(project(words), 1, dim=1)
        state = read.start(inputs)
        for t, x in enumerate(projected):
            state = read.step(x, state, recur, untouched, "", first=t == 0)
        project, recur = write.open()
        for _ in range(DECODED):
            state = write.step(project(inputs), state, recur, untouched, "")
        torch.autograd.grad(state[0].sum(), [*read.parameters(), *write.parameters()])

    return run


def _attention() -> Update:
    attention = Perceptron(Initial([0], "uniform", 0.08), HIDDEN, HIDDEN, HIDDEN)
    parameters = list(attention.parameters())
    _give_room(parameters)
    outputs = torch.randn(1, 1, ENCODED, HIDDEN, requires_grad=True)
    query = torch.randn(1, 1, HIDDEN, requires_grad=True)

    def run(step: int) -> None:
        memory = attention.open(outputs, None)
        contexts = [
            attention.context(memory, attention.weights(memory, query)) for _ in range(DECODED)
        ]
        torch.autograd.grad(torch.stack(contexts).sum(), [*parameters, outputs, query])

    return run


def _give_room(parameters: Sequence[nn.Parameter]) -> None:
    """Memory for gradients, as training gives it."""
    for parameter in parameters:
        parameter.room = torch.zeros_like(parameter)  # type: ignore[attr-defined]


def _bytes() -> float:
    """What an update must move: Adam reads four numbers a parameter and writes three, clipping
    reads one, the backward pass writes one; each use of a matrix reads it forward and back."""
    square = HIDDEN * HIDDEN
    everything = 3_451_708 * (4 + 3 + 1 + 1)
    encoder = (2 * ENCODED - 1 - 1) * 3 * square
    decoder = 2 * DECODED * (3 + 3 + 2 + 1) * square
    keys = 2 * square
    return 4.0 * (everything + encoder + decoder + keys)


def _speed() -> float:
    """Bytes a second, reading and writing, of the fastest copy of 64 MB."""
    source, target = torch.ones(2**24), torch.zeros(2**24)
    best = float("inf")
    for _ in range(10):
        start = time.process_time()
        target.copy_(source)
        best = min(best, time.process_time() - start)
    return 8 * source.numel() / best
