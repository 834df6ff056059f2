"""Gradient descent on margins: as it is run, and sped up until its infinite-time limit shows.

Plain descent on a logistic loss reaches its limit as 1 / log(steps): a hundred thousand steps are
not long. Normalised descent follows the same path faster. Write q_i = y_i f(x_i) and p for the
softmin of the margins, p_i ∝ exp(−q_i). Then Σ_i p_i ∇q_i is the gradient of −log Σ exp(−q_i):
descent on the exponential loss, each step divided by the loss. Its curvature grows as ‖∇q‖², that
is as ‖θ‖^{2(L−1)} in a network of degree L, so the step is `rate` / max(1, ‖θ‖^{2(L−1)}). Margins
then grow linearly in steps, not in their logarithm.

Every lane has its own points and gates. Sums run over dimensions after the lane.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from recombine.cell import Context
from recombine.errors import BadValue
from recombine.models.gated import StackedGated
from recombine.seeds import stream
from recombine.spec import Spec
from recombine.training.lanes import along
from recombine.training.optimizers import SGD, Slots

Curves = dict[str, dict[int, np.ndarray]]
"""Measurements by name and step, the lane first."""


@dataclass(frozen=True)
class Points:
    """What each lane is trained on: inputs with their constant, labels ±1, contexts a layer."""

    x: Float[Tensor, "seed n dim"]
    y: Float[Tensor, "seed n"]
    on: tuple[Tensor, ...]

    def margins(self, stack: StackedGated) -> Float[Tensor, "seed n"]:
        """q = y f(x)."""
        return self.y * stack.respond(self.x, self.on)[:, :, 0, 0]

    def gradients(
        self, stack: StackedGated, slopes: Callable[[Tensor], Float[Tensor, "seed n"]]
    ) -> list[Tensor]:
        """The gradient of Σ_i s_i q_i in every weight, where s = slopes(q) is held still."""
        return stack.gradients(self.x, self.on, lambda f: self.y * slopes(self.y * f))

    def batch(self, rows: Sequence[np.ndarray]) -> Points:
        """The points of these rows, lane by lane."""
        pick = torch.from_numpy(np.stack(rows))
        lane = torch.arange(len(pick)).unsqueeze(1)
        return Points(self.x[lane, pick], self.y[lane, pick], tuple(o[lane, pick] for o in self.on))


@dataclass(frozen=True)
class Descent(Spec):
    """Plain gradient descent on the logistic loss; the rate falls to a quarter halfway."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "descent"

    steps: int = 4000
    optimizer: SGD = SGD(rate=0.04)
    batch: int | None = None
    """Points an update, shuffled every epoch; none: all of them."""

    def validate(self) -> None:
        if self.steps < 0:
            raise BadValue("training/descent.steps", self.steps, "0 or more")
        if self.batch is not None and self.batch < 1:
            raise BadValue("training/descent.batch", self.batch, "at least 1, or none")

    def train(
        self, stack: StackedGated, points: Points, seeds: Sequence[int], context: Context
    ) -> None:
        """Train all lanes to the end."""
        values = [p.detach() for p in stack.parameters()]
        slots = self.optimizer.slots(values)

        def move(step: int) -> None:
            shown = points if self.batch is None else points.batch(self._rows(step, points, seeds))
            gradients = shown.gradients(stack, logistic_slopes)
            factor = 1.0 if 2 * step < self.steps else 0.25
            self.optimizer.update(values, gradients, slots, step=step, factor=factor)

        follow(stack, move, self.steps, {}, _nothing, context, slots=slots)

    def _rows(self, step: int, points: Points, seeds: Sequence[int]) -> list[np.ndarray]:
        n = points.x.shape[1]
        size = min(self.batch or n, n)
        epoch, at = divmod(step, n // size)
        rows = [_order(seed, epoch, n) for seed in seeds]
        return [row[at * size : (at + 1) * size] for row in rows]


@functools.lru_cache(maxsize=64)
def _order(seed: int, epoch: int, n: int) -> np.ndarray:
    return stream(seed, "order", epoch).permutation(n)


@dataclass(frozen=True)
class Normalised(Spec):
    """Normalised gradient descent on the exponential loss: the long-time limit."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "normalised"

    steps: int = 30_000
    rate: float = 0.1
    """Stable below about 2 / max‖x‖²: in a balanced network ‖∇q‖² is at most
    L ‖x‖² (‖θ‖² / L)^{L−1}."""
    marks: int = 3
    """Measurements a decade of steps, evenly on a log scale; the last step always is one."""

    def validate(self) -> None:
        if self.steps < 1 or self.marks < 1:
            raise BadValue("training/normalised", (self.steps, self.marks), "at least 1 and 1")
        if self.rate <= 0:
            raise BadValue("training/normalised.rate", self.rate, "a positive number")

    @property
    def measured(self) -> tuple[int, ...]:
        """The steps at which everything is measured: from 10 on."""
        decades = np.log10(max(self.steps, 10)) - 1
        grid = np.logspace(1, 1 + decades, max(2, 1 + round(decades * self.marks)))
        return tuple(sorted({round(float(s)) for s in grid if s < self.steps} | {self.steps}))

    def train(
        self, stack: StackedGated, points: Points, measure: Measure, context: Context
    ) -> Curves:
        """Train all lanes, measured on the way."""
        values = [p.detach() for p in stack.parameters()]
        power = stack.blueprint.degree - 1

        def move(step: int) -> None:
            gradients = points.gradients(stack, lambda margins: torch.softmax(-margins, dim=1))
            squares = [value.flatten(1).square().sum(1) for value in values]
            length = functools.reduce(torch.add, squares)
            size = self.rate / torch.clamp(length**power, min=1.0)
            for value, gradient in zip(values, gradients, strict=True):
                value.add_(gradient * along(size, gradient))

        due = {step: step for step in self.measured}
        return follow(stack, move, self.steps, due, measure, context, slots={})


def logistic_slopes(margins: Float[Tensor, "seed n"]) -> Float[Tensor, "seed n"]:
    """The derivative of the mean of log(1 + exp(−q)) in each margin, −σ(−q) / n.

    By a softmax over the pair (q, 0): `sigmoid` works through all lanes at once and rounds the
    last few numbers of the stack differently: a lane's bits would depend on its neighbours.
    """
    pairs = torch.stack([margins, torch.zeros_like(margins)], dim=-1)
    return torch.softmax(pairs, dim=-1)[..., 1] / -max(margins.shape[1], 1)


Measure = Callable[[], Mapping[str, np.ndarray]]
"""Reads the stack as it stands; arrays whose first dimension is the lane."""


def _nothing() -> Mapping[str, np.ndarray]:
    return {}


def follow(
    stack: StackedGated,
    move: Callable[[int], None],
    steps: int,
    due: Mapping[int, int],
    measure: Measure,
    context: Context,
    *,
    slots: Slots,
) -> Curves:
    """Make all moves, measuring where it is due; a kill in between loses half a minute."""
    tensors = {f"parameter.{i}": p.detach() for i, p in enumerate(stack.parameters())}
    tensors |= {f"{name}.{i}": t for name, many in slots.items() for i, t in enumerate(many)}
    curves: Curves = {}
    first, saved = _resume(tensors, curves, context), time.monotonic()
    for step in range(first, steps + 1):
        if step in due:
            for name, values in measure().items():
                curves.setdefault(name, {})[step] = values
        if step == steps:
            break
        move(step)
        if step % 100 == 99:
            context.progress(step + 1, steps)
            if time.monotonic() - saved > context.checkpoint_every:
                _save(tensors, curves, step + 1, context)
                saved = time.monotonic()
    return curves


def _save(tensors: Mapping[str, Tensor], curves: Curves, step: int, context: Context) -> None:
    if context.checkpoint is None:
        return
    state = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
    for name, by_step in curves.items():
        state |= {f"curve:{at}:{name}": values for at, values in by_step.items()}
    context.checkpoint.save({**state, "step": np.asarray(step)})


def _resume(tensors: Mapping[str, Tensor], curves: Curves, context: Context) -> int:
    found = context.checkpoint.load() if context.checkpoint else None
    if found is None:
        return 0
    noted = [name.split(":", 2) for name in found if name.startswith("curve:")]
    for _, at, name in sorted(noted, key=lambda parts: int(parts[1])):
        curves.setdefault(name, {})[int(at)] = found[f"curve:{at}:{name}"]
    for name, tensor in tensors.items():
        tensor.copy_(torch.from_numpy(found[name]))
    return int(found["step"])
