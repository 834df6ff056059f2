"""Gradient descent on two-layer ReLU nets for regression, its gradient written out.

A stack is `first` [seed, d, hidden] and one `readouts` [seed, hidden] a task: f_t(x) =
relu(x W)·a_t. The loss is Σ_t mean (f_t − y_t)²/2 over a batch. Batches are fixed blocks of the
examples, taken in turn. Seeds are trained one after another: a wide net fills the core alone, one
that is done costs nothing more, and no seed can feel its neighbours.

A unit that is on is linear. So one product, G = Σ_i r_i x_i 1[w·x_i > 0] with r the residuals,
gives both gradients: a G for the first layer and w·G for the readout. That, and writing the gates
as the sign of what they let through, makes an update four times as fast as the obvious way.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from recombine.cell import Context
from recombine.errors import Interrupted

LOOK_EVERY = 100
"""Updates between two looks at the loss."""
DIVERGED = 10.0
"""A net whose loss exceeds its first by this factor begins again with a tenth of the rate."""


@dataclass(frozen=True)
class TwoLayer:
    """The weights of a stack of nets; training changes the tensors in place."""

    first: Float[Tensor, "seed d hidden"]
    readouts: tuple[Float[Tensor, "seed hidden"], ...]

    def tensors(self) -> tuple[Tensor, ...]:
        """Every weight."""
        return (self.first, *self.readouts)

    def copy(self) -> TwoLayer:
        """The same weights in tensors of their own."""
        return TwoLayer(self.first.clone(), tuple(a.clone() for a in self.readouts))

    def only(self, seed: int) -> TwoLayer:
        """A stack of one seed, in the same memory."""
        at = slice(seed, seed + 1)
        return TwoLayer(self.first[at], tuple(a[at] for a in self.readouts))


@dataclass(frozen=True)
class Blocks:
    """The examples of one task for every seed, in blocks that are taken in turn."""

    inputs: tuple[Float[Tensor, "seed batch d"], ...]
    targets: tuple[Float[Tensor, "seed batch"], ...]

    @classmethod
    def of(cls, inputs: Tensor, targets: Tensor, *, batch: int) -> Blocks:
        """Cut into blocks of `batch`; what is left over makes a shorter last one."""
        starts = range(0, inputs.shape[1], batch)
        x, y = (
            tuple(value[:, at : at + batch].contiguous() for at in starts)
            for value in (inputs, targets)
        )
        return cls(x, y)

    def only(self, seed: int) -> Blocks:
        """The examples of one seed."""
        at = slice(seed, seed + 1)
        return Blocks(tuple(x[at] for x in self.inputs), tuple(y[at] for y in self.targets))

    def pairs(self) -> list[tuple[Tensor, Tensor]]:
        """The blocks of the first seed, in turn."""
        return [(x[0], y[0]) for x, y in zip(self.inputs, self.targets, strict=True)]


@dataclass(frozen=True)
class Course:
    """How long, how fast, and which weights."""

    steps: int
    rate: float
    tolerance: float = 0.0
    """A seed stops when its loss over all examples is below this."""
    readout_only: bool = False
    """Linear probing: the first layer stays as it is."""


def fit(
    net: TwoLayer, tasks: Sequence[Blocks], course: Course, *, context: Context, stage: str
) -> tuple[TwoLayer, Float[Tensor, " seed"]]:
    """A trained copy of the net, and the loss of each seed."""
    start, net = net, net.copy()
    seeds = len(net.first)
    rates = torch.full((seeds,), course.rate, dtype=torch.float64)
    state = {"rates": rates} | {f"weight.{i}": v for i, v in enumerate(net.tensors())}
    clock = _Clock(context, state, stage, seeds * course.steps)
    done = clock.resume()
    for seed in range(seeds):
        if done < (seed + 1) * course.steps:
            at = max(0, done - seed * course.steps)
            given = [task.only(seed) for task in tasks]
            _train(net.only(seed), start.only(seed), given, course, rates[seed], at, clock, seed)
    losses = [_loss(net.only(s), [task.only(s) for task in tasks]) for s in range(seeds)]
    return net, torch.cat([*losses, net.first[:0, 0, 0]])


def _train(
    net: TwoLayer,
    start: TwoLayer,
    tasks: Sequence[Blocks],
    course: Course,
    rate: Tensor,
    at: int,
    clock: _Clock,
    seed: int,
) -> None:
    """Train one seed from update `at` on; it begins again with a tenth of the rate if it must."""
    most = DIVERGED * float(_loss(start, tasks)) + 1e-6
    weights = _Probe(net, tasks) if course.readout_only else _Whole(net, tasks)
    while True:
        loss = float(_loss(net, tasks))
        if not loss <= most:
            rate /= 10
            for value, first in zip(net.tensors(), start.tensors(), strict=True):
                value.copy_(first)
        if at >= course.steps or loss < course.tolerance:
            return
        for step in range(at, min(at + LOOK_EVERY, course.steps)):
            weights.update(step, float(rate))
        at = min(at + LOOK_EVERY, course.steps)
        clock.tick(seed * course.steps + at)


def answers(net: TwoLayer, task: int, inputs: Float[Tensor, "seed batch d"]) -> Tensor:
    """f_t of every seed on its own inputs."""
    hidden = torch.bmm(inputs, net.first).relu_()
    pairs = zip(hidden, net.readouts[task], strict=True)
    return torch.stack([*(torch.mv(h, a) for h, a in pairs)])


def _loss(net: TwoLayer, tasks: Sequence[Blocks]) -> Float[Tensor, " seed"]:
    """Half the mean square over all examples, summed over tasks."""
    total = torch.zeros_like(net.first[:, 0, 0])
    for t, task in enumerate(tasks):
        count = sum(y.shape[1] for y in task.targets)
        for x, y in zip(task.inputs, task.targets, strict=True):
            total = total + (answers(net, t, x) - y).square().sum(1) / (2 * max(count, 1))
    return total


class _Whole:
    """Updates of all weights of one seed."""

    def __init__(self, net: TwoLayer, tasks: Sequence[Blocks]) -> None:
        self._first = net.first[0]
        self._readouts = [readout[0] for readout in net.readouts]
        self._tasks = [task.pairs() for task in tasks]

    def update(self, step: int, rate: float) -> None:
        first, moves = self._first, []
        for readout, blocks in zip(self._readouts, self._tasks, strict=True):
            x, y = blocks[step % len(blocks)]
            hidden, scale = torch.mm(x, first).relu_(), rate / max(len(y), 1)
            residual = torch.addmv(y, hidden, readout, beta=-scale, alpha=scale)
            moves.append(torch.mm(x.T * residual, hidden.sign_()))
        # What the readouts move by is taken from the layer as it was, and the other way round.
        by_readout = [(first * g).sum(0) for g in moves]
        for readout, g in zip(self._readouts, moves, strict=True):
            first.addcmul_(g, readout, value=-1.0)
        for readout, move in zip(self._readouts, by_readout, strict=True):
            readout.sub_(move)


class _Probe:
    """Updates of the readouts of one seed alone: the hidden layer is computed once."""

    def __init__(self, net: TwoLayer, tasks: Sequence[Blocks]) -> None:
        self._readouts = [readout[0] for readout in net.readouts]
        self._tasks = [
            [(torch.mm(x, net.first[0]).relu_(), y) for x, y in task.pairs()] for task in tasks
        ]

    def update(self, step: int, rate: float) -> None:
        for readout, task in zip(self._readouts, self._tasks, strict=True):
            hidden, y = task[step % len(task)]
            scale = rate / max(len(y), 1)
            residual = torch.addmv(y, hidden, readout, beta=-scale, alpha=scale)
            readout.addmv_(hidden.T, residual, alpha=-1.0)


class _Clock:
    """Tells how far training is, and leaves its state now and then."""

    def __init__(self, context: Context, state: dict[str, Tensor], stage: str, total: int) -> None:
        self._context, self._state, self._total = context, state, total
        self._stage = np.frombuffer(stage.encode(), dtype=np.uint8).copy()
        self._saved = time.monotonic()

    def tick(self, done: int) -> None:
        """So many updates of all seeds are made; raises if the user wants to stop."""
        try:
            self._context.progress(done, self._total)
        except Interrupted:
            self._save(done)
            raise
        if time.monotonic() - self._saved > self._context.checkpoint_every:
            self._save(done)

    def resume(self) -> int:
        """The update to go on from, state put in place: 0 if this stage left none."""
        found = self._context.checkpoint.load() if self._context.checkpoint else None
        if found is None or not np.array_equal(found["stage"], self._stage):
            return 0
        for name, value in self._state.items():
            value.copy_(torch.from_numpy(np.array(found[name])))
        return int(found["at"])

    def _save(self, done: int) -> None:
        self._saved = time.monotonic()
        if self._context.checkpoint is not None:
            arrays = {name: value.cpu().numpy() for name, value in self._state.items()}
            mark = {"at": np.asarray(done), "stage": self._stage}
            self._context.checkpoint.save({**arrays, **mark})
