"""`bench decomposition`: phrases decomposed a second, batched against one phrase at a time.

1,000 phrases of one to five words in 100 sequences of 35 words, the published model's sizes, read
at the end of the sequence, two threads. One at a time runs the same code. The products are those
that the batch needs: the phrases' recurrent ones, the shared forward pass and the scores. Memory
is the most that a request of 30,000 phrases takes beyond what was there before.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np
import torch

from recombine.analyses.decomposition import STRIDE, decompose
from recombine.analyses.recurrent_network import Network, of_lane
from recombine.bench.benchmark import Measured
from recombine.models.language_model import LanguageModel
from recombine.seeds import stream

WORDS, LENGTH, SEQUENCES, PHRASES, MANY = 1002, 35, 100, 1000, 30_000
TURNS, SINGLES = 5, 40
FASTER, SLOWER, GIGABYTES = 20, 3, 2


def measure() -> Measured:
    """Time a batch, single phrases and bare products in turns; the fastest of each counts."""
    torch.set_num_threads(2)
    network = of_lane(LanguageModel().of_words([0], WORDS), 0)
    text, phrases = _request(SEQUENCES, PHRASES)
    last = np.full(PHRASES, LENGTH - 1)
    steps = np.sort(LENGTH - phrases[:, 1])[::-1]
    sides: dict[str, Callable[[], object]] = {
        "batched": lambda: decompose(network, text, phrases, last, words=[0]),
        "one at a time": lambda: _singly(network, text, phrases),
        "products alone": lambda: _products(network, steps),
    }
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(TURNS):
        for name, run in sides.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    best["one at a time"] *= PHRASES / SINGLES
    memory = _memory(network)
    rows = tuple((name, f"{PHRASES / best[name]:,.0f}") for name in sides)
    faster = best["one at a time"] / best["batched"]
    slower = best["batched"] / best["products alone"]
    summary = (
        ("times faster than one at a time", f"{faster:.0f}"),
        ("times the products alone", f"{slower:.1f}"),
        (f"memory for {MANY:,} phrases", f"{memory:.2f} GB"),
    )
    return Measured(
        f"decomposing {PHRASES:,} phrases of {LENGTH}-word sequences, two threads",
        ("", "phrases a second"),
        (*rows, *summary),
        {
            f"at least {FASTER} times faster than one at a time": faster >= FASTER,
            f"at most {SLOWER} times its matrix products alone": slower <= SLOWER,
            f"under {GIGABYTES} GB whatever is asked": memory < GIGABYTES,
        },
    )


def _request(sequences: int, count: int) -> tuple[torch.Tensor, np.ndarray]:
    rng = stream(0, "bench")
    text = torch.from_numpy(rng.integers(WORDS, size=(sequences, LENGTH)))
    first = rng.integers(LENGTH - 1, size=count)
    last = np.minimum(first + rng.integers(1, 6, size=count), LENGTH)
    return text, np.stack([rng.integers(sequences, size=count), first, last], 1)


def _singly(network: Network, text: torch.Tensor, phrases: np.ndarray) -> None:
    for sequence, first, last in phrases[:SINGLES]:
        one = text[sequence : sequence + 1]
        decompose(network, one, [(0, int(first), int(last))], [LENGTH - 1], words=[0])


def _products(network: Network, steps: np.ndarray) -> None:
    """What has to be multiplied, with operands of the same sizes and nothing else."""
    layer, n = network.layers[0], network.hidden
    recurrent = layer.hidden_weight[: 3 * n].T
    states, forward = torch.ones(STRIDE, n), torch.ones(SEQUENCES, n)
    for low in range(0, len(steps), STRIDE):
        some = steps[low : low + STRIDE]
        for j in range(int(some[0])):
            torch.mm(states[: int((some > j).sum())], recurrent)
    for _ in range(LENGTH):
        torch.mm(forward, layer.hidden_weight.T)
    torch.mm(torch.ones(SEQUENCES * LENGTH, n), layer.input_weight.T)
    torch.mm(torch.ones(len(steps), n), network.last_weight.T)


def _memory(network: Network) -> float:
    """Gigabytes that a large request adds to the most this process has ever held."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text, phrases = _request(SEQUENCES * 100, MANY)
    decompose(network, text, phrases, np.full(MANY, LENGTH - 1), words=[0])
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
