"""`bench lm`: training the published language model, in lanes against nn.LSTM in a plain loop.

Hidden 200, vocabulary 1,002, batch 20, stretches of 35 words, SGD with clipping, no dropout, one
thread. Both sides do the same updates; they take turns, and the fastest turn of each counts, so
that whatever else runs on the machine disturbs both alike. The share of the products says how near
this comes to the time that matrix products of these sizes take by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from recombine.bench.benchmark import Measured
from recombine.models.language_model import LanguageModel
from recombine.seeds import stream
from recombine.training.language import Reader, Reading

WORDS, UPDATES, TURNS = 1002, 4, 7
AIM = 0.9
RECIPE = Reading(dropout=0.0)


def measure() -> Measured:
    """Tokens a second and lane: a plain loop, one lane, four lanes."""
    torch.set_num_threads(1)
    sides = {
        "nn.LSTM, plain loop": (1, _loop()),
        "one lane": (1, _lanes(1)),
        "four lanes": (4, _lanes(4)),
    }
    best = dict.fromkeys((*sides, "products"), float("inf"))
    for _ in range(TURNS):
        for name, (lanes, update) in sides.items():
            best[name] = min(best[name], _seconds(update) / lanes)
        best["products"] = min(best["products"], _seconds(_products))
    tokens = RECIPE.batch * RECIPE.stretch
    plain = best["nn.LSTM, plain loop"]
    rows = tuple(
        (
            name,
            f"{tokens / best[name]:,.0f}",
            f"{plain / best[name]:.2f}",
            f"{best['products'] / best[name]:.0%}",
        )
        for name in sides
    )
    ratio = plain / best["four lanes"]
    return Measured(
        "training the published language model, one thread",
        ("way", "tokens a second and lane", "times nn.LSTM", "share of the products' rate"),
        rows,
        {f"four lanes at least {AIM} of nn.LSTM's throughput a lane": ratio >= AIM},
    )


def _seconds(update: Callable[[], None]) -> float:
    start = time.perf_counter()
    for _ in range(UPDATES):
        update()
    return (time.perf_counter() - start) / UPDATES


def _text(lanes: int) -> np.ndarray:
    return stream(0, "bench").integers(WORDS, size=(lanes, 20 * 35 * 40))


def _lanes(count: int) -> Callable[[], None]:
    seeds = range(count)
    stack = LanguageModel().of_words(seeds, WORDS)
    reader, step = Reader(stack, RECIPE, seeds, RECIPE.columns(_text(count))), 0

    def update() -> None:
        nonlocal step
        reader.update(step)
        step += 1

    return update


def _loop() -> Callable[[], None]:
    """What one would write by hand, as the original code does."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        embedding, lstm, last = nn.Embedding(WORDS, 200), nn.LSTM(200, 200), nn.Linear(200, WORDS)
    text = RECIPE.columns(_text(1))[0]
    parameters = [*embedding.parameters(), *lstm.parameters(), *last.parameters()]
    state: tuple[torch.Tensor, torch.Tensor] | None = None
    step = 0

    def update() -> None:
        nonlocal state, step
        begin = step % 30 * 35
        out, after = lstm(embedding(text[begin : begin + 35]), state)
        following = text[begin + 1 : begin + 36].flatten()
        loss = F.cross_entropy(last(out).flatten(0, 1), following)
        for parameter in parameters:
            parameter.grad = None
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(parameters, RECIPE.clip)
        with torch.no_grad():
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.add_(parameter.grad, alpha=-RECIPE.rate)
        state, step = (after[0].detach(), after[1].detach()), step + 1

    return update


_ROWS, _STEP = torch.ones(700, 200), torch.ones(20, 200)
_WIDE, _GATES, _SMALL = torch.ones(200, 800), torch.ones(700, 800), torch.ones(20, 800)
_TABLE, _LOGITS = torch.ones(200, WORDS), torch.ones(700, WORDS)


def _products() -> None:
    """The matrix products of one update: input, recurrent and last layer, forward and backward."""
    for _ in range(35):
        torch.mm(_STEP, _WIDE)
        torch.mm(_SMALL, _WIDE.T)
    torch.mm(_ROWS, _WIDE)
    torch.mm(_GATES, _WIDE.T)
    torch.mm(_ROWS.T, _GATES)
    torch.mm(_ROWS.T, _GATES)
    torch.mm(_ROWS, _TABLE)
    torch.mm(_LOGITS, _TABLE.T)
    torch.mm(_ROWS.T, _LOGITS)
