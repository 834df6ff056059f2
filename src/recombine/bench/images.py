"""`bench images`: the convolutional network of `kernel` against the same network of torch.nn.

An update's gradients at batch 128, on canvases of images side by side, far apart, and of three
factors far apart, one thread. Ours convolves in frequencies (`models.spectral`); theirs with
nn.Conv2d. They take turns, and the fastest turn of each counts. Beside them ours in half precision
(`models.halves`), which gains on processors with units for 16-bit matrices only.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn

from recombine.bench.benchmark import Measured
from recombine.models.deep_conv import DeepConv, Precision

CANVASES = {"two factors, d = 0": (2, 28), "two, d = 20": (2, 48), "three, d = 20": (3, 68)}
"""Channels and width of what a network sees; it is 28 pixels high."""
BATCH, TURNS = 128, 4
AIM = 1.5


def measure() -> Measured:
    """Milliseconds of an update's gradients, theirs and ours, on every canvas."""
    torch.set_num_threads(1)
    rows, ratios = [], []
    for name, (channels, width) in CANVASES.items():
        x = torch.randn(BATCH, channels, 28, width, generator=torch.Generator().manual_seed(0))
        sides = {"plain": _plain(x), "ours": _ours(x, "single"), "halves": _ours(x, "half")}
        best = dict.fromkeys(sides, float("inf"))
        for _ in range(TURNS):
            for side, update in sides.items():
                best[side] = min(best[side], _seconds(update))
        ratios.append(best["plain"] / best["ours"])
        plain, ours, halves = (f"{1000 * best[side]:.0f}" for side in sides)
        in_halves = f"{best['plain'] / best['halves']:.2f}"
        rows.append((name, plain, ours, f"{ratios[-1]:.2f}", halves, in_halves))
    return Measured(
        "gradients of the convolutional network at batch 128, one thread",
        (
            "canvas",
            "torch.nn, ms",
            "ours, ms",
            "times faster",
            "in halves, ms",
            "times faster, halves",
        ),
        tuple(rows),
        {f"at least {AIM} times faster on every canvas": min(ratios) >= AIM},
    )


def _seconds(update: Callable[[], object]) -> float:
    start = time.perf_counter()
    update()
    return time.perf_counter() - start


def _ours(x: torch.Tensor, precision: Precision) -> Callable[[], object]:
    stack = DeepConv(precision=precision).stack([0], tuple(x.shape[1:]), 1, 2)
    parameters = list(stack.parameters())
    stack.train()
    return lambda: torch.autograd.grad(stack(x.unsqueeze(0)).square().mean(), parameters)


def _plain(x: torch.Tensor) -> Callable[[], object]:
    """What one would write by hand."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers: list[nn.Module] = []
        for before, after in ((x.shape[1], 32), (32, 32), (32, 64), (64, 64)):
            layers += [nn.Conv2d(before, after, 5), nn.ReLU(), nn.BatchNorm2d(after)]
        dense = (nn.LazyLinear(512), nn.ReLU(), nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1))
        network = nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), *dense)
        network(x)
    parameters = list(network.parameters())
    return lambda: torch.autograd.grad(network(x).square().mean(), parameters)
