"""`bench lanes`: time per seed of the two-dimensional problem, stacked against a plain loop.

Both sides do the same training: MLP 2-8-8-8-2, 1,024 updates on batches of ten fresh examples,
cross entropy, rate .1, one thread. The plain loop is what one would write by hand: a module, an
optimizer, `backward()`, `step()`. Also shown: the same stack through vmap, as a user's own module
would run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import nn

from recombine.bench.benchmark import Measured
from recombine.models import Stack, Vmapped
from recombine.models.mlp import MLP
from recombine.seeds import stream, torch_seed
from recombine.tasks.corners import Corners
from recombine.training import Recipe
from recombine.training.feed import Feed
from recombine.training.lanes import Lanes

STEPS = 1024
SEEDS = (1, 10, 100, 1000)
AIM = 60
REPEATS = 2


def measure() -> Measured:
    """Time 1, 10, 100 and 1,000 seeds, best of two, against one seed in a loop, best of five."""
    torch.set_num_threads(1)
    _loop(0, 50)  # first use of an optimizer imports half of torch
    looped = min(_loop(seed, STEPS) for seed in range(5))
    rows, ratios = [], {}
    for count in SEEDS:
        seeds = range(count)
        stacked = min(_stacked(seeds, MLP().stack(seeds, (2,), 1, 2)) for _ in range(REPEATS))
        mapped = min(_stacked(seeds, _vmapped(count)) for _ in range(REPEATS))
        ratios[count] = looped * count / stacked
        rows.append(
            (
                f"{count:,}",
                f"{looped * 1e3:.1f}",
                f"{stacked / count * 1e3:.2f}",
                f"{ratios[count]:.1f}",
                f"{mapped / count * 1e3:.2f}",
                f"{looped * count / mapped:.1f}",
            )
        )
    return Measured(
        "two-dimensional problem, 1,024 updates, one thread: milliseconds a seed",
        ("seeds", "plain loop", "stacked", "times faster", "stacked by vmap", "times faster"),
        tuple(rows),
        {f"1,000 seeds in one stack at least {AIM} times faster a seed": ratios[1000] >= AIM},
    )


def _stacked(seeds: Sequence[int], stack: Stack) -> float:
    """Seconds to train these seeds in one stack, data included."""
    recipe = Recipe(steps=STEPS)
    start = time.perf_counter()
    lanes, feed = Lanes(stack, recipe), Feed(Corners(), recipe, seeds, "cpu")
    for step in range(STEPS):
        lanes.update(step, *feed.batch(step))
    return time.perf_counter() - start


def _plain(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(torch_seed(seed, "init"))
        layers = [
            nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(),
            nn.Linear(8, 2), nn.Unflatten(1, (1, 2)),
        ]  # fmt: skip
        return nn.Sequential(*layers)


def _vmapped(count: int) -> Stack:
    return Vmapped([_plain(seed) for seed in range(count)])


def _loop(seed: int, steps: int) -> float:
    """Seconds to train one seed in plain eager PyTorch."""
    network = _plain(seed)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    loss = nn.CrossEntropyLoss()
    task, rng = Corners(), stream(seed, "data", 0)
    start = time.perf_counter()
    # All data at once: the loop is not charged for drawing ten examples at a time.
    examples = task.sample("train", steps * 10, rng)
    inputs = torch.from_numpy(examples.inputs).reshape(steps, 10, 2)
    targets = torch.from_numpy(examples.targets).reshape(steps, 10)
    for x, y in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        loss(network(x).squeeze(1), y).backward()
        optimizer.step()
    return time.perf_counter() - start
