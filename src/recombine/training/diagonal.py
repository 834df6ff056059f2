"""Gradient descent on stacked diagonal nets, its gradient written out.

The loss of a run is Σ_t |X_tβ_t − y_t|²/2n_t. With g_t = X_tᵀr_t/n_t its gradient is

    ∂w⁺ = Σ_t g_t v⁺_t,   ∂v⁺_t = g_t w⁺,   ∂w⁻ = −Σ_t g_t v⁻_t,   ∂v⁻_t = −g_t w⁻.

One batched product a task serves all runs of a seed; entry [seed] of it is that seed's own matrix
product, so a seed never feels its neighbours. That fails for products with a vector, which BLAS
rounds differently in a batch of one: a single run is therefore doubled for the product. A run stops
when its loss is small enough; one that diverges begins again with a tenth of the rate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from recombine.cell import Context
from recombine.errors import Interrupted
from recombine.models.diagonal import Diagonal

LOOK_EVERY = 50
"""Updates between two looks at the loss."""
DIVERGED = 1e3
"""A loss so many times its first value begins again with a smaller rate."""


@dataclass(frozen=True)
class Task:
    """The examples of one task, for every seed; a run sees them by its weights."""

    inputs: Float[Tensor, "seed n d"]
    targets: Float[Tensor, "seed n 1"]
    weights: Float[Tensor, "1 n run"]
    """1/n for each example that a run is trained on, 0 for the others."""

    @classmethod
    def prefixes(cls, inputs: Tensor, targets: Tensor, sizes: Sequence[int]) -> Task:
        """Run i is trained on the first `sizes[i]` examples."""
        position = torch.arange(inputs.shape[1])[:, None]
        count = torch.tensor(list(sizes))[None]
        weights = (position < count).to(inputs.dtype) / count.clamp(min=1)
        return cls(inputs, targets[..., None], weights[None])

    def residuals(self, beta: Float[Tensor, "seed run d"]) -> Float[Tensor, "seed n run"]:
        """What each run still misses."""
        runs = beta.shape[1]
        wide = beta.expand(-1, 2, -1) if runs == 1 else beta
        return torch.bmm(self.inputs, wide.transpose(1, 2))[..., :runs] - self.targets

    def losses(self, beta: Float[Tensor, "seed run d"]) -> Float[Tensor, "seed run"]:
        """Half the mean square, for each run."""
        squares = self.residuals(beta).square() * self.weights
        return squares.transpose(1, 2).contiguous().sum(-1) / 2

    def gradient(self, beta: Float[Tensor, "seed run d"]) -> Float[Tensor, "seed run d"]:
        """X^T r / n, for each run."""
        runs = beta.shape[1]
        weighed = (self.residuals(beta) * self.weights).transpose(1, 2)
        wide = weighed.expand(-1, 2, -1) if runs == 1 else weighed
        return torch.bmm(wide, self.inputs)[:, :runs]


@dataclass(frozen=True)
class Descent:
    """How long, how fast, and which weights."""

    steps: int
    rate: float = 0.2
    tolerance: float = 0.0
    """A run stops when its loss is below this."""
    decay: float = 0.0
    """λ of λ/2 times the squared weights."""
    readout_only: bool = False
    """Linear probing: w stays as it is."""


@dataclass(frozen=True)
class Descended:
    """Where the runs ended."""

    net: Diagonal
    loss: Float[Tensor, "seed run"]
    least: Float[Tensor, "seed run"]
    """The smallest value of the watched number at any look."""
    stopped: Float[Tensor, "seed run"]
    """The update at which a run's loss was small enough; NaN if it never was."""


def descend(
    net: Diagonal,
    tasks: Sequence[Task],
    how: Descent,
    *,
    watch: Callable[[Diagonal], Tensor] | None = None,
    context: Context | None = None,
    stage: str = "",
) -> Descended:
    """Train a copy of the net, and tell the least value of what is watched along the way."""
    context = context or Context()
    start, net = net, net.copy()
    rate = torch.full_like(net.w[0][..., :1], how.rate)
    first = _loss(start, tasks)
    least = torch.full_like(first, torch.inf)
    stopped = torch.full_like(first, torch.nan)
    state = {"rate": rate, "least": least, "stopped": stopped}
    state |= {f"weight.{i}": value for i, value in enumerate(net.tensors())}
    at, saved = _resume(state, context, stage), time.monotonic()
    while True:
        loss = _loss(net, tasks)
        lost = ~(loss <= DIVERGED * first + 1) & stopped.isnan()
        if lost.any():
            _begin_again(net, start, rate, lost)
            loss = torch.where(lost, first, loss)
        if watch is not None:
            least.copy_(torch.minimum(least, watch(net)))
        stopped[stopped.isnan() & (loss < how.tolerance)] = at
        if at >= how.steps or not stopped.isnan().any():
            break
        pace = torch.where(stopped.isnan()[..., None], rate, torch.zeros_like(rate))
        for _ in range(min(LOOK_EVERY, how.steps - at)):
            _update(net, tasks, pace, how)
        at = min(at + LOOK_EVERY, how.steps)
        try:
            context.progress(at, how.steps)
        except Interrupted:
            _save(state, at, context, stage)
            raise
        if time.monotonic() - saved > context.checkpoint_every:
            _save(state, at, context, stage)
            saved = time.monotonic()
    return Descended(net, loss, least, stopped)


def _loss(net: Diagonal, tasks: Sequence[Task]) -> Tensor:
    total = torch.zeros_like(net.w[0][..., 0])
    for task, beta in zip(tasks, net.betas(), strict=True):
        total = total + task.losses(beta)
    return total


def _update(net: Diagonal, tasks: Sequence[Task], pace: Tensor, how: Descent) -> None:
    plus, minus = net.w
    moves = [task.gradient(beta) * pace for task, beta in zip(tasks, net.betas(), strict=True)]
    by_plus, by_minus = torch.zeros_like(plus), torch.zeros_like(minus)
    for move, (up, down) in zip(moves, net.v, strict=True):
        by_plus.addcmul_(move, up)
        by_minus.addcmul_(move, down)
    if how.decay:
        for value in net.tensors():
            value.sub_(value * pace, alpha=how.decay)
    for move, (up, down) in zip(moves, net.v, strict=True):
        up.addcmul_(move, plus, value=-1)
        down.addcmul_(move, minus)
    if not how.readout_only:
        plus.sub_(by_plus)
        minus.add_(by_minus)


def _begin_again(net: Diagonal, start: Diagonal, rate: Tensor, lost: Tensor) -> None:
    """Put these runs back to their start, with a tenth of the rate."""
    for value, first in zip(net.tensors(), start.tensors(), strict=True):
        value.copy_(torch.where(lost[..., None], first, value))
    rate.copy_(torch.where(lost[..., None], rate / 10, rate))


def _save(state: dict[str, Tensor], at: int, context: Context, stage: str) -> None:
    if context.checkpoint is None:
        return
    arrays = {name: value.cpu().numpy() for name, value in state.items()}
    mark = np.frombuffer(stage.encode() or b"-", dtype=np.uint8).copy()
    context.checkpoint.save({**arrays, "at": np.asarray(at), "stage": mark})


def _resume(state: dict[str, Tensor], context: Context, stage: str) -> int:
    """The update to go on from, with its state put in place: 0 if none was left by this stage."""
    found = context.checkpoint.load() if context.checkpoint else None
    if found is None or found["stage"].tobytes() != (stage.encode() or b"-"):
        return 0
    for name, value in state.items():
        value.copy_(torch.from_numpy(np.array(found[name])))
    return int(found["at"])
