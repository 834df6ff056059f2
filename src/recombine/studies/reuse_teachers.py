"""ReLU teachers with shared, nearby or unrelated units, and the cell that learns from them.

The auxiliary teacher has `units` hidden units: rows W_j of a random rotation, readouts ±1/√units.
Unit j of the main teacher is ρW_j + √(1−ρ²)W_{units+j}: at ρ = 1 the same unit, at 0 an unrelated
one. The student has one hidden layer. Inputs are standard normal, so its test loss is an exact sum
over pairs of units (`theory/relu_unit.py`); it is given in units of the variance of the target.

Two baselines need no training: regression with the tangent kernel of the net as it starts, fresh or
with the pretrained first layer (`theory/relu_tangent.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue
from recombine.seeds import stream
from recombine.spec import later
from recombine.theory.relu_tangent import GatedSum, tangent_regression
from recombine.theory.relu_unit import relu_distance, relu_overlap
from recombine.training.two_layer import Blocks, Course, TwoLayer, answers, fit

METHODS = ("stl", "lp", "mtl", "ptft", "ntk")
Teacher = tuple[np.ndarray, np.ndarray]
"""Hidden weights [unit, d] and readout [unit]."""


@dataclass(frozen=True)
class ReluReuse(Cell):
    """Single-task, multi-task, pretraining with finetuning, and linear probing, all by descent."""

    name: ClassVar[str] = "reuse-relu"

    inputs: int = 15
    hidden: int = 100
    units: int = 6
    """Of the auxiliary teacher."""
    main_units: int = 6
    """Of the main teacher: the first of the auxiliary one's, turned."""
    correlation: float = 1.0
    """ρ, the cosine between a unit of the main teacher and its counterpart."""
    magnitude: float = 1.0
    """Factor on the main teacher's readout."""
    aux_samples: int = 1024
    samples: tuple[int, ...] = (16, 32, 64, 256)
    rescalings: tuple[float, ...] = (1.0,)
    """Factors on the pretrained layer before finetuning."""
    init: float = 1e-3
    """Initial weights have a standard deviation of this times √(2/fan-in)."""
    batch: int = 128
    rate: float = 0.8
    pretrain_steps: int = 3_000
    steps: int = 3_000
    """The most updates of each training after pretraining."""
    tolerance: float = 1e-8
    shared: int | None = later(None)
    """How many units of the main teacher have a counterpart, the first ones; none: all of them."""

    methods: tuple[str, ...] = later(METHODS)
    main_rate: float | None = later(None)
    """Rate of all training after pretraining; a net that diverges begins again with a tenth of it.
    A target of magnitude m is learned from scratch m times as fast: rate / m makes up for that."""

    def validate(self) -> None:
        if not self.methods or set(self.methods) - set(METHODS):
            raise BadValue("cells/reuse-relu.methods", list(self.methods), f"some of {METHODS}")
        if self.shared is not None and not 0 <= self.shared <= self.main_units:
            raise BadValue("cells/reuse-relu.shared", self.shared, "from 0 to main_units")
        if self.magnitude == 0 or not np.isfinite(self.magnitude):
            raise BadValue("cells/reuse-relu.magnitude", self.magnitude, "a number that is not 0")
        if self.rate <= 0 or (self.main_rate or 1.0) <= 0:
            raise BadValue("cells/reuse-relu.rate", self.rate, "positive rates")
        if not 1 <= self.main_units <= self.units or self.inputs < self.units + self.main_units:
            raise BadValue("cells/reuse-relu.main_units", self.main_units, "units that fit inputs")
        if not -1 <= self.correlation <= 1:
            raise BadValue("cells/reuse-relu.correlation", self.correlation, "from -1 to 1")
        if min(self.samples, default=0) < 1 or self.aux_samples < 1 or self.batch < 1:
            raise BadValue("cells/reuse-relu.samples", list(self.samples), "positive numbers")

    @property
    def seeds_per_job(self) -> int:
        return 3 if self.hidden <= 200 else 1

    def teachers(self, seed: int) -> tuple[Teacher, Teacher]:
        """The auxiliary and the main teacher of a seed."""
        rng = stream(seed, "teacher")
        rotation, upper = np.linalg.qr(rng.standard_normal((self.inputs, self.inputs)))
        rotation = (rotation * np.sign(np.diag(upper))).T
        signs = rng.choice([-1.0, 1.0], self.units)
        k = self.main_units
        alike = np.arange(k) < (k if self.shared is None else self.shared)
        rho = np.where(alike, self.correlation, 0.0)[:, None]
        turned = rho * rotation[:k] + np.sqrt(1 - rho**2) * rotation[self.units : self.units + k]
        aux = rotation[: self.units], signs / np.sqrt(self.units)
        return aux, (turned, self.magnitude * signs[:k] / np.sqrt(k))

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        stack = _Stack(self, seeds, context)
        found = stack.every_method()
        return {
            seed: Outcome(
                {},
                {
                    **{name: value[lane] for name, value in found.items()},
                    "samples": np.array(self.samples),
                },
            )
            for lane, seed in enumerate(seeds)
        }


class _Stack:
    """The teachers and examples of all seeds, and the ways to learn from them."""

    def __init__(self, cell: ReluReuse, seeds: Sequence[int], context: Context) -> None:
        self.cell, self.seeds, self.context = cell, seeds, context
        both = [cell.teachers(seed) for seed in seeds]
        self.teachers = [main for _, main in both]
        self.variances = [_variance(main) for _, main in both]
        self.aux = self._examples("aux", [aux for aux, _ in both], cell.aux_samples)
        self.main = self._examples("main", self.teachers, max(cell.samples))

    def every_method(self) -> dict[str, np.ndarray]:
        """Test losses [seed, size] and training losses of each method."""
        cell = self.cell
        aux = Blocks.of(*self.aux, batch=cell.batch)
        course = Course(cell.pretrain_steps, cell.rate, cell.tolerance)
        pretrained, _ = fit(
            self._fresh(1), [aux], course, context=self.context, stage="pretraining"
        )
        by_size = [self._at(n, aux, pretrained) for n in cell.samples]
        found = {name: np.stack([part[name] for part in by_size], -1) for name in by_size[0]}
        for kind in ("test", "loss") if "ptft" in cell.methods else ():
            tuned = [found.pop(f"{kind}/ptft/{i}") for i in range(len(cell.rescalings))]
            found[f"{kind}/ptft"] = np.stack(tuned, 1)
        return found

    def _at(self, n: int, aux: Blocks, pretrained: TwoLayer) -> dict[str, np.ndarray]:
        """Every method on the first n examples of the main task."""
        cell = self.cell
        main = Blocks.of(self.main[0][:, :n], self.main[1][:, :n], batch=cell.batch)
        fresh, readout = self._fresh(2), self._readout("finetuning")
        starts: dict[str, tuple[TwoLayer, bool]] = {
            "stl": (TwoLayer(fresh.first, fresh.readouts[:1]), False),
            "lp": (TwoLayer(pretrained.first, (readout,)), True),
            "mtl": (fresh, False),
        }
        for i, c in enumerate(cell.rescalings):
            starts[f"ptft/{i}"] = TwoLayer(pretrained.first * c, (readout,)), False
        found: dict[str, np.ndarray] = {}
        for method, (net, readout_only) in starts.items():
            if method.partition("/")[0] not in cell.methods:
                continue
            tasks = [main, aux] if method == "mtl" else [main]
            rate = cell.main_rate or cell.rate
            course = Course(cell.steps, rate, cell.tolerance, readout_only)
            stage = f"{method} {n}"
            net, loss = fit(net, tasks, course, context=self.context, stage=stage)
            found |= {f"test/{method}": self._test(net), f"loss/{method}": loss.double().numpy()}
        lazy = {"ntk": "stl", "ntk-pretrained": "lp"} if "ntk" in cell.methods else {}
        for name, start in lazy.items():
            found[f"test/{name}"] = self._lazy(starts[start][0], n)
        return found

    def _lazy(self, net: TwoLayer, n: int) -> np.ndarray:
        """The exact test loss of regression with the tangent kernel of a net as it starts."""
        first, readout, x, y = (
            v.double().numpy() for v in (net.first, net.readouts[0], *self.main)
        )
        losses = []
        for i, (teacher, variance) in enumerate(zip(self.teachers, self.variances, strict=True)):
            fitted = tangent_regression(first[i].T, readout[i], x[i, :n], y[i, :n])
            losses.append(fitted.distance(GatedSum.of_net(*teacher)) / variance)
        return np.array(losses)

    def _test(self, net: TwoLayer) -> np.ndarray:
        """The exact test loss of the first task, over the variance of its target."""
        first, readout = net.first.double().numpy(), net.readouts[0].double().numpy()
        losses = [
            relu_distance((first[i].T, readout[i]), teacher) / variance
            for i, (teacher, variance) in enumerate(zip(self.teachers, self.variances, strict=True))
        ]
        return np.array(losses)

    def _examples(self, name: str, teachers: Sequence[Teacher], n: int) -> tuple[Tensor, Tensor]:
        shape = (n, self.cell.inputs)
        drawn = [stream(seed, "data", name).standard_normal(shape) for seed in self.seeds]
        x = torch.from_numpy(np.stack(drawn))
        first = torch.from_numpy(np.stack([weights.T for weights, _ in teachers]))
        readout = torch.from_numpy(np.stack([a for _, a in teachers]))
        y = answers(TwoLayer(first, (readout,)), 0, x)
        return x.float(), y.float()

    def _fresh(self, tasks: int) -> TwoLayer:
        cell = self.cell
        size = cell.init * np.sqrt(2 / cell.inputs)
        shape = (cell.inputs, cell.hidden)
        drawn = [size * stream(seed, "init").standard_normal(shape) for seed in self.seeds]
        first = torch.from_numpy(np.stack(drawn)).float()
        return TwoLayer(first, tuple(self._readout(f"task {t}") for t in range(tasks)))

    def _readout(self, name: str) -> Tensor:
        size, hidden = self.cell.init * np.sqrt(2 / self.cell.hidden), self.cell.hidden
        drawn = [size * stream(s, "init", name).standard_normal(hidden) for s in self.seeds]
        return torch.from_numpy(np.stack(drawn)).float()


def _variance(teacher: Teacher) -> float:
    """The variance of a ReLU net's answer on standard normal inputs."""
    weights, readout = teacher
    mean = float(readout @ np.linalg.norm(weights, axis=1)) / np.sqrt(2 * np.pi)
    return float(readout @ relu_overlap(weights, weights) @ readout - mean**2)
