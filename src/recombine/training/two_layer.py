"""Gradient descent on stacked two-layer ReLU nets for regression, its gradient written out.

A stack is `first` [seed, d, hidden] and one `readouts` [seed, hidden] a task: f_t(x) =
relu(x W)·a_t. The loss is Σ_t mean (f_t − y_t)²/2 over a batch. Batches are fixed blocks of the
examples, taken in turn; a seed's products are its own, so no seed feels its neighbours. (Products
with a vector are not: BLAS rounds them differently in a batch of one. So vectors are doubled.)
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

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        """The block whose turn it is."""
        turn = step % len(self.inputs)
        return self.inputs[turn], self.targets[turn]


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
    net = net.copy()
    going = torch.ones_like(net.first[:, 0, 0])
    state = {"going": going} | {f"weight.{i}": v for i, v in enumerate(net.tensors())}
    at, saved = _resume(state, context, stage), time.monotonic()
    while True:
        loss = _loss(net, tasks)
        going[loss < course.tolerance] = 0.0
        if at >= course.steps or not going.any():
            return net, loss
        for step in range(at, min(at + LOOK_EVERY, course.steps)):
            _update(net, tasks, step, course.rate * going, readout_only=course.readout_only)
        at = min(at + LOOK_EVERY, course.steps)
        try:
            context.progress(at, course.steps)
        except Interrupted:
            _save(state, at, context, stage)
            raise
        if time.monotonic() - saved > context.checkpoint_every:
            _save(state, at, context, stage)
            saved = time.monotonic()


def answers(net: TwoLayer, task: int, inputs: Float[Tensor, "seed batch d"]) -> Tensor:
    """f_t of every seed on its own inputs."""
    hidden = torch.bmm(inputs, net.first).relu_()
    return _read(hidden, net.readouts[task])


def _read(hidden: Tensor, readout: Tensor) -> Float[Tensor, "seed batch"]:
    return torch.bmm(hidden, readout[..., None].expand(-1, -1, 2))[..., 0]


def _loss(net: TwoLayer, tasks: Sequence[Blocks]) -> Tensor:
    """Half the mean square over all examples, summed over tasks."""
    total = torch.zeros_like(net.first[:, 0, 0])
    for t, task in enumerate(tasks):
        count = sum(y.shape[1] for y in task.targets)
        for x, y in zip(task.inputs, task.targets, strict=True):
            total = total + (answers(net, t, x) - y).square().sum(1) / (2 * max(count, 1))
    return total


def _update(
    net: TwoLayer, tasks: Sequence[Blocks], step: int, pace: Tensor, *, readout_only: bool
) -> None:
    by_first, by_readout = torch.zeros_like(net.first), []
    for a, task in zip(net.readouts, tasks, strict=True):
        x, y = task.at(step)
        hidden = torch.bmm(x, net.first).relu_()
        residual = (_read(hidden, a) - y) * (pace / max(y.shape[1], 1))[:, None]
        by_readout.append(torch.bmm(residual[:, None].expand(-1, 2, -1), hidden)[:, 0])
        if not readout_only:
            back = (residual[..., None] * a[:, None]).mul_(hidden > 0)
            by_first.baddbmm_(x.transpose(1, 2), back)
    for a, move in zip(net.readouts, by_readout, strict=True):
        a.sub_(move)
    if not readout_only:
        net.first.sub_(by_first)


def _save(state: dict[str, Tensor], at: int, context: Context, stage: str) -> None:
    if context.checkpoint is None:
        return
    arrays = {name: value.cpu().numpy() for name, value in state.items()}
    mark = np.frombuffer(stage.encode(), dtype=np.uint8).copy()
    context.checkpoint.save({**arrays, "at": np.asarray(at), "stage": mark})


def _resume(state: dict[str, Tensor], context: Context, stage: str) -> int:
    """The update to go on from, with its state put in place: 0 if none was left by this stage."""
    found = context.checkpoint.load() if context.checkpoint else None
    if found is None or found["stage"].tobytes() != stage.encode():
        return 0
    for name, value in state.items():
        value.copy_(torch.from_numpy(np.array(found[name])))
    return int(found["at"])
