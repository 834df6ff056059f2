"""Sparse linear teachers of two related tasks, and the two cells that learn from them.

A seed draws everything: which inputs the auxiliary teacher uses, which of them the main teacher
shares (with their signs), and the examples. Inputs are standard normal, teachers have norm 1, so
the test loss is |β − β*|² and 1 is what answering zero would cost. Larger sample sizes contain the
smaller ones.

`ExactReuse` solves for where gradient flow ends (`theory/interpolation.py`); `DescentReuse` trains,
for what the theory does not cover (several tasks at once, linear probing) and to check it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue, RecombineError
from recombine.models.diagonal import Diagonal
from recombine.seeds import stream
from recombine.theory.finetuning import exact_mirror
from recombine.theory.interpolation import interpolate
from recombine.theory.mirror import Mirror
from recombine.training.diagonal import Descended, Descent, Task, descend

SIZES = (16, 32, 64, 128, 256, 512)


@dataclass(frozen=True)
class Draw:
    """The two tasks of one seed."""

    aux: np.ndarray
    """Auxiliary teacher [d]."""
    main: np.ndarray
    """Main teacher [d]."""
    aux_inputs: np.ndarray
    main_inputs: np.ndarray


@dataclass(frozen=True)
class SparseCell(Cell):
    """What both cells are told."""

    dimension: int = 1000
    active: int = 40
    """Inputs that the auxiliary teacher uses."""
    main_active: int = 40
    """Inputs that the main teacher uses."""
    overlap: int = 40
    """How many of them the auxiliary teacher uses too, with the same sign."""
    aux_samples: int = 1024
    samples: tuple[int, ...] = SIZES
    """Sample sizes of the main task."""
    gamma: float = 1e-3
    """Initial weights; the readout of finetuning starts at γ times the rescaling."""
    rescalings: tuple[float, ...] = (1.0,)
    """Factors on the pretrained layer before finetuning."""
    tolerance: float = 1e-10
    """How exactly the examples are fitted."""

    def validate(self) -> None:
        where = f"cells/{self.name}"
        if not 0 <= self.overlap <= min(self.active, self.main_active):
            raise BadValue(f"{where}.overlap", self.overlap, "0 up to the smaller active number")
        used = self.active + self.main_active - self.overlap
        if min(self.active, self.main_active) < 1 or used > self.dimension:
            raise BadValue(f"{where}.dimension", self.dimension, f"at least {max(used, 1)}")
        if not self.samples or min(self.samples) < 0 or self.aux_samples < 0:
            raise BadValue(f"{where}.samples", list(self.samples), "numbers from 0 up")
        if self.gamma <= 0 or not self.rescalings or min(self.rescalings) <= 0:
            raise BadValue(f"{where}.gamma or rescalings", self.gamma, "positive numbers")
        if self.tolerance <= 0:
            raise BadValue(f"{where}.tolerance", self.tolerance, "a positive number")

    def draw(self, seed: int) -> Draw:
        """The teachers and examples of a seed."""
        rng = stream(seed, "teacher")
        places = rng.permutation(self.dimension)
        signs = rng.choice([-1.0, 1.0], self.dimension)
        first = places[: self.active]
        fresh = places[self.active : self.active + self.main_active - self.overlap]
        second = np.concatenate([first[: self.overlap], fresh])
        aux, main = np.zeros(self.dimension), np.zeros(self.dimension)
        aux[first] = signs[first] / np.sqrt(self.active)
        main[second] = signs[second] / np.sqrt(self.main_active)
        return Draw(
            aux,
            main,
            stream(seed, "data", "aux").standard_normal((self.aux_samples, self.dimension)),
            stream(seed, "data", "main").standard_normal((max(self.samples), self.dimension)),
        )


@dataclass(frozen=True)
class ExactReuse(SparseCell):
    """Single-task learning, and pretraining with finetuning, solved exactly."""

    name: ClassVar[str] = "reuse-exact"

    @property
    def seeds_per_job(self) -> int:
        return 1

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        return {seed: self._solve(self.draw(seed), context) for seed in seeds}

    def _solve(self, draw: Draw, context: Context) -> Outcome:
        fresh = Mirror.of_scale(np.full(self.dimension, 4 * self.gamma**2))
        aux = self._fit(draw.aux_inputs, draw.aux_inputs @ draw.aux, fresh)
        mirrors = [fresh] + [
            exact_mirror(aux, gamma=self.gamma, rescaling=c, readout=c * self.gamma)
            for c in self.rescalings
        ]
        test = np.empty((len(mirrors), len(self.samples)))
        for i, mirror in enumerate(mirrors):
            for j, n in enumerate(self.samples):
                inputs = draw.main_inputs[:n]
                beta = self._fit(inputs, inputs @ draw.main, mirror)
                test[i, j] = np.square(beta - draw.main).sum()
                context.progress(i * len(self.samples) + j + 1, test.size)
        arrays = {"test/stl": test[0], "test/ptft": test[1:], "samples": np.array(self.samples)}
        return Outcome({"aux": float(np.square(aux - draw.aux).sum())}, arrays)

    def _fit(self, inputs: np.ndarray, targets: np.ndarray, mirror: Mirror) -> np.ndarray:
        found = interpolate(inputs, targets, mirror, tolerance=self.tolerance)
        if not found.converged:
            raise RecombineError(f"cells/{self.name}: {found.reason}")
        return found.beta


@dataclass(frozen=True)
class DescentReuse(SparseCell):
    """The same by gradient descent, with multi-task learning and linear probing beside it."""

    name: ClassVar[str] = "reuse-descent"

    steps: int = 15_000
    """The most updates of each training."""
    rate: float = 0.2

    @property
    def seeds_per_job(self) -> int:
        return 8 if self.dimension <= 200 else 1

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        draws = [self.draw(seed) for seed in seeds]
        stack = _Stack(self, draws, context)
        found = stack.every_method()
        outcomes = {}
        for lane, seed in enumerate(seeds):
            arrays = {name: value[lane].numpy() for name, value in found.items()}
            outcomes[seed] = Outcome({}, {**arrays, "samples": np.array(self.samples)})
        return outcomes


class _Stack:
    """The tasks of all seeds as tensors, and the four ways to learn them."""

    def __init__(self, cell: DescentReuse, draws: Sequence[Draw], context: Context) -> None:
        self.cell, self.context = cell, context
        self.main_inputs = _stacked([d.main_inputs for d in draws])
        self.aux_inputs = _stacked([d.aux_inputs for d in draws])
        self.main_targets = _stacked([d.main_inputs @ d.main for d in draws])
        self.aux_targets = _stacked([d.aux_inputs @ d.aux for d in draws])
        self.teacher = _stacked([d.main for d in draws])[:, None]

    def every_method(self) -> dict[str, Tensor]:
        """Final and best test losses of each method, and its final training losses."""
        cell, sizes = self.cell, len(self.cell.samples)
        pretrained = self._descend(self._fresh(1), "pretraining", aux=1).net
        finetunable = [
            pretrained.finetunable(c, c * cell.gamma, runs=sizes) for c in cell.rescalings
        ]
        found: dict[str, Tensor] = {}
        alone = Diagonal.beside([self._fresh(sizes), *finetunable])  # all learn the main task only
        parts = self._losses("", self._descend(alone, "single task and finetuning"))
        for name, value in parts.items():
            cut = value.reshape(len(value), -1, sizes)
            found |= {f"{name}stl": cut[:, 0], f"{name}ptft": cut[:, 1:]}
        probe = pretrained.finetunable(1.0, cell.gamma, runs=sizes)
        found |= self._losses("lp", self._descend(probe, "linear probing", readout_only=True))
        both = self._fresh(sizes, tasks=2)
        found |= self._losses("mtl", self._descend(both, "multi-task", aux=sizes))
        return found

    def _fresh(self, runs: int, *, tasks: int = 1) -> Diagonal:
        shape = (len(self.teacher), runs, self.cell.dimension)
        return Diagonal.at(torch.full(shape, self.cell.gamma, dtype=torch.float64), tasks=tasks)

    def _descend(
        self, net: Diagonal, stage: str, *, aux: int = 0, readout_only: bool = False
    ) -> Descended:
        """Train on the main task, the auxiliary one, or both, as the net has readouts."""
        cell, tasks = self.cell, []
        if len(net.v) == 2 or not aux:
            runs = cell.samples * (net.w[0].shape[1] // len(cell.samples))
            tasks.append(Task.prefixes(self.main_inputs, self.main_targets, runs))
        if aux:
            tasks.append(Task.prefixes(self.aux_inputs, self.aux_targets, [cell.aux_samples] * aux))
        how = Descent(cell.steps, cell.rate, cell.tolerance, readout_only=readout_only)
        return descend(net, tasks, how, watch=self._test, context=self.context, stage=stage)

    def _test(self, net: Diagonal) -> Tensor:
        return (net.betas()[0] - self.teacher).square().sum(-1)

    def _losses(self, method: str, end: Descended) -> dict[str, Tensor]:
        return {
            f"test/{method}": self._test(end.net),
            f"best/{method}": end.least,
            f"loss/{method}": end.loss,
        }


def _stacked(arrays: Sequence[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.stack(arrays))
