"""`bench pairs`: time per seed of the paper's convolutional network, against a plain loop of seeds.

Both sides do the same training: the network of 1,150,090 parameters on pairs of digits, batches of
64, categorical hinge, Adam, one thread. The plain loop is what one would write by hand: PyTorch's
layers, `backward()`, torch.optim's Adam. It is not charged for drawing its batches; ours is. The
seeds of the two take turns, so that a busy machine is busy for both. Also shown: the same layers
stacked by vmap, which is why lanes are looped here.

What limits it: the arithmetic of an update, counted, over its time, as a share of the rate at which
this machine multiplies two large matrices in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from recombine.bench.benchmark import Measured
from recombine.models import Vmapped
from recombine.models.convnet import ConvNet
from recombine.seeds import stream, torch_seed
from recombine.tasks.digit_pairs import DigitPairs
from recombine.training import Recipe
from recombine.training.feed import Feed
from recombine.training.lanes import Lanes
from recombine.training.losses import categorical_hinge
from recombine.training.optimizers import Adam

STEPS = 200
SEEDS = (5, 20)
STACK_STEPS = 20
"""Updates of the stack by vmap: enough to time one."""
BATCH = 64
SHAPE = (28, 56)
RECIPE = Recipe(steps=STEPS, batch=BATCH, loss="categorical-hinge", optimizer=Adam())


def operations() -> int:
    """Multiplications and additions of one update, by layer: forward, weights, and inputs.

    The gradient in the image itself is not needed.
    """
    height, width = SHAPE
    first = (height - 2) * (width - 2) * 32 * 9
    pooled_height, pooled_width = (height - 2) // 2, (width - 2) // 2
    flat = (pooled_height - 2) * (pooled_width - 2) * 64
    rest = flat * 32 * 9 + flat * 64 + 64 * 64 + 64 * 10
    return 2 * BATCH * (2 * first + 3 * rest)


def measure(steps: int = STEPS, seeds: tuple[int, ...] = SEEDS) -> Measured:
    """Time 5 and 20 seeds of each side, turn by turn."""
    torch.set_num_threads(1)
    _plain(0, 3)  # first use of an optimizer imports half of torch
    _ours(0, 3)
    rate, most = _matrix_rate(), max(seeds)
    ours, plain = [], []
    for seed in range(most):
        ours.append(_ours(seed, steps))
        plain.append(_plain(seed, steps))
    stacked = _vmapped(5, min(steps, STACK_STEPS)) / min(steps, STACK_STEPS) * steps / 5
    rate, rows, ratios = max(rate, _matrix_rate()), [], {}
    for count in seeds:
        a, b = sum(ours[:count]) / count, sum(plain[:count]) / count
        ratios[count] = b / a
        share = operations() * steps / a / rate
        rows.append(
            (count, f"{b:.2f}", f"{a:.2f}", f"{b / a:.2f}", f"{stacked:.2f}", f"{share:.0%}")
        )
    update = min(ours) / steps
    best = operations() / update / rate
    return Measured(
        f"digit pairs, {steps} updates of the paper's network, one thread: seconds a seed "
        f"(two large matrices multiply at {rate / 1e9:.0f} GFLOP/s here; the fastest seed reaches "
        f"{best:.0%} of that; of its time the second convolution takes "
        f"{_second_convolution() / update:.0%} and Adam {_adam() / update:.0%}, the rest is mostly "
        "the dense layers and the pooling)",
        ("seeds", "plain loop", "ours", "times faster", "stacked by vmap", "of matrix rate"),
        tuple(rows),
        {
            f"{count} seeds: not slower a seed than the plain loop": ratios[count] >= 1
            for count in seeds
        },
    )


def _ours(seed: int, steps: int) -> float:
    """Seconds to train one seed as a looped recipe does, data included."""
    start = time.perf_counter()
    lanes = Lanes(ConvNet().stack([seed], SHAPE, 1, 10), RECIPE)
    feed = Feed(DigitPairs(), RECIPE, [seed], "cpu")
    for step in range(steps):
        lanes.update(step, *feed.batch(step))
    return time.perf_counter() - start


def _network(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(torch_seed(seed, "init"))
        return nn.Sequential(
            nn.Unflatten(1, (1, SHAPE[0])), nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(17_600, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10), nn.Unflatten(1, (1, 10)),
        )  # fmt: skip


def _plain(seed: int, steps: int) -> float:
    """Seconds to train one seed in plain eager PyTorch, without those for its data."""
    task, rng = DigitPairs(), stream(seed, "data", 0)
    network = _network(seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    spent = 0.0
    for _ in range(steps):
        examples = task.sample("train", BATCH, rng)
        x, y = torch.from_numpy(examples.inputs), torch.from_numpy(examples.targets)
        start = time.perf_counter()
        optimizer.zero_grad()
        torch.autograd.backward(_hinge(network(x), y))
        optimizer.step()
        spent += time.perf_counter() - start
    return spent


def _hinge(scores: Tensor, targets: Tensor) -> Tensor:
    return categorical_hinge(scores.unsqueeze(0), targets.unsqueeze(0)).sum()


def _vmapped(count: int, steps: int) -> float:
    """Seconds to train so many seeds of the plain layers in one stack."""
    lanes = Lanes(Vmapped([_network(seed) for seed in range(count)]), RECIPE)
    feed = Feed(DigitPairs(), RECIPE, range(count), "cpu")
    lanes.update(0, *feed.batch(0))
    start = time.perf_counter()
    for step in range(steps):
        lanes.update(step, *feed.batch(step))
    return time.perf_counter() - start


def _matrix_rate(size: int = 1024) -> float:
    """Operations a second of one large matrix product."""
    a = torch.ones(size, size)
    return 2 * size**3 / _best(lambda: a @ a)


def _second_convolution() -> float:
    """Seconds of the second convolution in one update, forward and backward."""
    h = torch.rand(BATCH, 13, 27, 32).permute(0, 3, 1, 2).requires_grad_()
    weight, bias = (torch.rand(*shape, requires_grad=True) for shape in ((64, 32, 3, 3), (64,)))
    gradient = torch.rand(BATCH, 11, 25, 64).permute(0, 3, 1, 2)

    def both() -> None:
        out = torch.nn.functional.conv2d(h, weight, bias)
        torch.autograd.grad(out, (h, weight, bias), gradient)

    return _best(both)


def _adam() -> float:
    """Seconds that Adam takes of one update."""
    values = [p.detach() for p in ConvNet().stack([0], SHAPE, 1, 10).parameters()]
    gradients, slots = [torch.ones_like(v) for v in values], Adam().slots(values)
    return _best(lambda: Adam().update(values, gradients, slots, step=0, factor=1.0))


def _best(work: Callable[[], object], repeats: int = 10) -> float:
    """Seconds, the best of a few."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best
