"""Cells of `gated`: the long-time limit, and the tables on digits.

A seed is a draw of points, gates and first weights. Networks of many seeds train as lanes of one
stack; the convex problems are solved seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float

from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue
from recombine.models.gated import Gated, StackedGated
from recombine.studies.gated_data import Sample, images, lanes, predictors, synthetic, toy
from recombine.tasks.digits import Source, ready
from recombine.theory import gated
from recombine.theory.homogeneous import stationarity
from recombine.theory.max_margin import FINE, REASONS
from recombine.training.normalised import Descent, Normalised, Points

LANES = 40
"""Seeds a job of the small networks."""


@dataclass(frozen=True)
class Limit(Cell):
    """Normalised descent of gated networks, measured against the convex limit on the way."""

    name: ClassVar[str] = "gated-limit"

    problem: Literal["toy", "synthetic"] = "synthetic"
    points: int = 40
    """Points of the synthetic problem; the toy has 16."""
    dim: int = 6
    """Inputs of the synthetic problem, without the constant."""
    model: Gated = Gated(widths=(5,), init="normal", scale=0.01)
    training: Normalised = Normalised()

    def validate(self) -> None:
        if self.points < 1 or self.dim < 1:
            raise BadValue("cells/gated-limit", (self.points, self.dim), "at least 1 and 1")
        if self.model.gates != "random":
            raise BadValue("cells/gated-limit.model.gates", self.model.gates, "random")
        if self.problem == "toy" and (self.model.widths, self.model.planes) != ((2,), 1):
            raise BadValue("cells/gated-limit.model", self.model.widths, "two units for the toy")

    @property
    def seeds_per_job(self) -> int:
        return LANES

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        samples = [self.sample(seed) for seed in seeds]
        stack, points = lanes(self.model, seeds, samples, torch.float64)
        limits = [self._limits(sample) for sample in samples]

        def measure() -> Mapping[str, np.ndarray]:
            rows = [
                self._measure(stack, points, k, samples[k], limits[k]) for k in range(len(seeds))
            ]
            return {name: np.array([row[name] for row in rows]) for name in rows[0]}

        curves = self.training.train(stack, points, measure, context)
        return {
            seed: self._outcome(lane, curves, stack, samples[lane], limits[lane])
            for lane, seed in enumerate(seeds)
        }

    def sample(self, seed: int) -> Sample:
        """The points of a seed."""
        if self.problem == "toy":
            return toy(seed)
        return synthetic(seed, n=self.points, dim=self.dim, model=self.model)

    def _limits(self, sample: Sample) -> Mapping[str, gated.Solution]:
        """The convex limits there are: none where gates stand in more than one layer."""
        data = (sample.x, sample.y, sample.on[0])
        if not self.model.widths:
            return {"svm": gated.shallow(*data)}
        if len(self.model.widths) == 1:
            return {"svm": gated.svm_gln(*data), "l2": gated.svm_l2(*data)}
        return {}

    def _measure(
        self,
        stack: StackedGated,
        points: Points,
        lane: int,
        sample: Sample,
        limits: Mapping[str, gated.Solution],
    ) -> dict[str, float]:
        theta, margins, slopes = example_gradients(stack, points, lane)
        found = stationarity(theta, margins, slopes, degree=self.model.degree)
        row = {"margin": found.margin, "residual": found.residual, "least": float(margins.min())}
        if limits:
            zeta = predictors(stack, lane)
            norm = gated.group_norm(zeta) if self.model.widths else float(np.linalg.norm(zeta))
            least = row["least"]
            row["ratio"] = norm / least / limits["svm"].norm if least > 0 else math.nan
        return row | {f"cosine/{k}": gated.cosine(zeta, s.predictors) for k, s in limits.items()}

    def _outcome(
        self,
        lane: int,
        curves: Mapping[str, Mapping[int, np.ndarray]],
        stack: StackedGated,
        sample: Sample,
        limits: Mapping[str, gated.Solution],
    ) -> Outcome:
        scalars, arrays = {}, {"x": sample.x, "y": sample.y}
        for name, by_step in curves.items():
            arrays[name] = np.array([values[lane] for values in by_step.values()])
            arrays[f"{name}@steps"] = np.array(list(by_step))
            scalars[name] = float(arrays[name][-1])
        for name, solution in limits.items():
            scalars |= {f"reason/{name}": reason(solution), f"gap/{name}": solution.gap}
            arrays[f"predictors/{name}"] = solution.predictors
        if limits:
            arrays["predictors/gd"] = predictors(stack, lane)
        return Outcome(scalars, arrays)


def example_gradients(
    stack: StackedGated, points: Points, lane: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A lane's weights, its margins, and the gradient of every margin in the weights."""
    layers = [p.detach()[lane : lane + 1].clone().requires_grad_() for p in stack.layers]
    one = StackedGated(stack.blueprint, [p.detach().numpy() for p in layers])
    alone = Points(
        points.x[lane : lane + 1],
        points.y[lane : lane + 1],
        tuple(on[lane : lane + 1] for on in points.on),
    )
    margins = alone.margins(one)
    weights = list(one.parameters())
    rows = []
    for i in range(margins.shape[1]):
        slopes = torch.autograd.grad(margins[0, i], weights, retain_graph=True)
        rows.append(torch.cat([slope.flatten() for slope in slopes]).numpy())
    theta = torch.cat([w.detach().flatten() for w in weights]).numpy()
    return theta, margins[0].detach().numpy(), np.array(rows)


def reason(solution: gated.Solution) -> float:
    """Why there is no solution, as an index into REASONS; 0 where there is one."""
    if solution.feasible:
        return float(REASONS.index(FINE))
    return float(next(i for i, r in enumerate(REASONS) if r and solution.reason.endswith(r)))


@dataclass(frozen=True)
class GatedTable(Cell):
    """One entry of the tables: descent on images, and the machines that should predict it."""

    name: ClassVar[str] = "gated-table"

    source: Source = "small"
    n: int = 200
    """Training images."""
    cut: Literal["median", "random"] = "median"
    """Thresholds of the gates."""
    model: Gated = Gated()
    training: Descent = Descent()
    together: int = 5
    """Seeds a job."""

    def validate(self) -> None:
        if self.n < 1:
            raise BadValue("cells/gated-table.n", self.n, "at least 1")
        if len(self.model.widths) > 1 or self.model.gates != "random":
            raise BadValue("cells/gated-table.model", self.model.widths, "one gated layer at most")

    def ready(self) -> None:
        ready(self.source)

    @property
    def seeds_per_job(self) -> int:
        return self.together

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        pairs = [
            images(seed, source=self.source, n=self.n, model=self.model, cut=self.cut)
            for seed in seeds
        ]
        stack, points = lanes(self.model, seeds, [train for train, _ in pairs], torch.float32)
        self.training.train(stack, points, seeds, context)
        found = {}
        for lane, seed in enumerate(seeds):
            found[seed] = self._compare(predictors(stack, lane), *pairs[lane])
            context.progress(lane + 1, len(seeds))
        return found

    def _compare(
        self, zeta: Float[np.ndarray, "unit context dim"], train: Sample, test: Sample
    ) -> Outcome:
        data = (train.x, train.y, train.on[0])
        if self.model.widths:
            machines = {"svm": gated.svm_gln(*data), "l2": gated.svm_l2(*data)}
        else:
            machines = {"svm": gated.shallow(*data)}
        guess = labels(gated.respond(zeta, test.x, test.on[0]))
        fitted = labels(gated.respond(zeta, train.x, train.on[0]))
        scalars = {"error/gd": apart(guess, test.y), "train/gd": apart(fitted, train.y)}
        for name, solution in machines.items():
            answer = labels(gated.respond(solution.predictors, test.x, test.on[0]))
            scalars |= against(name, solution, answer, guess, test.y)
        return Outcome(scalars)


def labels(outputs: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """±1, or NaN where there is no predictor."""
    return np.where(np.isnan(outputs), math.nan, np.where(outputs > 0, 1.0, -1.0))


def apart(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float:
    """The share of points on which two answers differ; NaN if one of them is missing."""
    if np.isnan(a).any() or np.isnan(b).any():
        return math.nan
    return float((a != b).mean())


def against(
    name: str,
    solution: gated.Solution,
    answer: Float[np.ndarray, " n"],
    guess: Float[np.ndarray, " n"],
    truth: Float[np.ndarray, " n"],
) -> dict[str, float]:
    """Where a machine errs and where it differs from the network, and why if it has no solution."""
    return {
        f"error/{name}": apart(answer, truth),
        f"inconsistency/{name}": apart(answer, guess),
        f"reason/{name}": reason(solution),
    }
