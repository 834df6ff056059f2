"""Part `kernel/dense`: networks of one hidden layer, from lazy to rich, beside the theory.

All weights and biases of the first network are multiplied by σ. At σ = 1 a wide network is
*lazy*: it is a kernel model, and theory says what it answers. At small σ it is *rich*: it learns
features, and solves equivalence, which no kernel model can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recombine import stats
from recombine.analyses.additivity import Additivity
from recombine.analyses.alignment import Alignment
from recombine.analyses.salience import Salience
from recombine.models.mlp import MLP
from recombine.stats import Verdict
from recombine.studies import kernel_dense_shown as shown
from recombine.studies.figure import Figure
from recombine.studies.kernel_reading import (
    by_split,
    last,
    lazy_leak,
    lazy_margin,
    relative_margin,
    shrinkage,
)
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.items import ItemTask
from recombine.tasks.relations import Equivalence
from recombine.training.optimizers import SGD
from recombine.training.recipe import Recipe
from recombine.training.stopping import Stop
from recombine.training.trial import Probe, Trial

Loss = Literal["squared", "logistic-sign"]
ADDITION = ("extrapolation", "interpolation", "both", "asymmetric")
LAZY, RICH = "1", "1e-3"
QUICK_SCALES = (LAZY, "1e-1", "1e-2", RICH)
PAPER_SCALES = (LAZY, "1e-1", "1e-2", RICH, "1e-4", "1e-5", "1e-6")
CLOSE, ALIGNED, CHANCE = 0.04, 0.9, 0.75
"""The lines of claims A1, F3 and F2."""
CD_WIDTH = 500
"""Hidden units for context dependence at quick scale; the paper has 1,000, as for addition."""
EQUIVALENCE_WIDTH = {"quick": 1000, "paper": 10_000}
"""Hidden units for equivalence."""


def rate(task: ItemTask, scale: str, loss: Loss, width: int) -> float:
    """Learning rates: the authors search them, these are the largest round ones that are stable.

    A lazy net's largest eigenvalue grows with its width.
    """
    sigma = float(scale)
    if isinstance(task, Addition):
        return {1.0: 0.002, 0.1: 0.01}.get(sigma, 0.02)
    if isinstance(task, Equivalence):
        base = {1.0: 0.02 * 1000 / width, 0.1: 0.1}.get(sigma, 0.3)
    else:
        base = {1.0: 0.02 * CD_WIDTH / width, 0.1: 0.05}.get(sigma, 0.1)
    return base * (5 if loss == "logistic-sign" else 1)


def trial(task: ItemTask, scale: str, loss: Loss, *, width: int, steps: int, goal: float) -> Trial:
    """Full-batch gradient descent on every trained combination, until the loss is small."""
    sizes = [len(task.combinations(split)) for split in ("train", "test")]
    model = MLP(widths=(width,), init="kaiming", readout="linear", scale=float(scale))
    recipe = Recipe(
        steps=steps,
        batch=sizes[0],
        sampling="in-order",
        examples=sizes[0],
        loss=loss,
        optimizer=SGD(rate=rate(task, scale, loss, width)),
        stop=Stop(goal=goal),
        evaluate_at=tuple(range(0, steps, 50)),
        evaluation_examples=max(sizes),
        # Else pairs to fill up 64 examples would count more in the loss that stops training.
        evaluate_whole=isinstance(task, Addition),
    )
    probes = [Probe(Additivity()), Probe(Salience(), (0, steps))]
    if isinstance(task, Equivalence):
        probes.append(Probe(Alignment(), (0, steps)))
    return Trial(task, model, recipe, tuple(probes))


@dataclass(frozen=True)
class DensePart(Part):
    """Addition, context dependence and equivalence in dense networks."""

    name: ClassVar[str] = "dense"
    title: ClassVar[str] = "Dense networks from lazy to rich, beside the theory"
    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 6, "paper": 6}
    smallest: ClassVar[tuple[str, ...]] = ("recipe.steps=20", "model.widths=30")

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        quick = scale == "quick"
        some = (LAZY, RICH) if quick else PAPER_SCALES
        cells: dict[str, Trial] = {}
        for name in ADDITION:
            for sigma in some:
                cells[f"{name} {sigma}"] = trial(
                    Addition(trained_items=SETS[name]),
                    sigma,
                    "squared",
                    width=1000,
                    steps=2000 if quick else 20_000,
                    goal=1e-4,
                )
        for sigma in QUICK_SCALES if quick else PAPER_SCALES:
            for loss, name in shown.EQUIVALENCE.items():
                if loss == "squared" or not quick:
                    cells[f"{name} {sigma}"] = trial(
                        Equivalence(),
                        sigma,
                        loss,
                        width=EQUIVALENCE_WIDTH[scale],
                        steps=3000 if quick else 10_000,
                        goal=1e-6,
                    )
        for left_out in (3, 2, 1):
            for loss in ("squared", "logistic-sign"):
                # Rich nets at quick scale only where the shortcut is.
                for sigma in some if left_out == 3 or not quick else (LAZY,):
                    cells[f"CD-{left_out} {loss} {sigma}"] = trial(
                        ContextDependence(left_out=left_out),
                        sigma,
                        loss,
                        width=CD_WIDTH if quick else 1000,
                        steps=1500 if quick else 5000,
                        goal=1e-4,
                    )
        return {name: Need(cell, range(seeds)) for name, cell in cells.items()}

    def judges(self) -> Mapping[str, Judge]:
        return {
            "A1": lazy_is_theory,
            "A2": rich_interpolates,
            "A3": rich_fails_asymmetric,
            "F1": rich_transfers,
            "F2": lazy_does_not,
            "F3": weights_align,
            "G1": cross_entropy_takes_the_shortcut,
            "G2": the_loss_decides,
            "G3": theory_calls_it,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (
            shown.addition_table(results),
            shown.context_table(results),
            shown.equivalence_table(results),
            shown.salience_table(results),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (
            shown.addition_figure(results),
            shown.context_figure(results),
            shown.equivalence_figure(results),
            shown.shares_figure(results),
        )


def _slopes(results: Results, name: str, sigma: str) -> np.ndarray:
    return shrinkage(results[f"{name} {sigma}"], Addition(trained_items=SETS[name]))[0]


def lazy_is_theory(results: Results, level: float) -> Verdict:
    """A1: the slope of lazy nets is the leak's, on average over the three symmetric sets."""
    gaps = [
        _slopes(results, name, LAZY) - lazy_leak(Addition(trained_items=SETS[name])).slopes[0]
        for name in ("extrapolation", "interpolation", "both")
    ]
    return stats.equal_within(stats.mean(np.mean(gaps, axis=0), level=level), 0.0, CLOSE)


def rich_interpolates(results: Results, level: float) -> Verdict:
    """A2: interpolation and both: rich above lazy."""
    rich, lazy = (
        np.mean([_slopes(results, name, sigma) for name in ("interpolation", "both")], axis=0)
        for sigma in (RICH, LAZY)
    )
    return stats.above(stats.paired(rich, lazy, level=level).difference, 0.0)


def rich_fails_asymmetric(results: Results, level: float) -> Verdict:
    """A3: asymmetric: rich below lazy."""
    rich, lazy = (_slopes(results, "asymmetric", sigma) for sigma in (RICH, LAZY))
    return stats.below(stats.paired(rich, lazy, level=level).difference, 0.0)


def _held_out_accuracy(results: Results, name: str, task: ItemTask) -> np.ndarray:
    return by_split(results[name], task, "answers/accuracy", trained=False)


def rich_transfers(results: Results, level: float) -> Verdict:
    """F1: rich nets solve equivalence on held-out pairs."""
    accuracy = _held_out_accuracy(results, f"equivalence {RICH}", Equivalence())
    return stats.above(stats.mean(accuracy, level=level), 0.95)


def lazy_does_not(results: Results, level: float) -> Verdict:
    """F2: lazy nets do not."""
    accuracy = _held_out_accuracy(results, f"equivalence {LAZY}", Equivalence())
    return stats.below(stats.mean(accuracy, level=level), CHANCE)


def weights_align(results: Results, level: float) -> Verdict:
    """F3: in rich nets items of one class have the same weights."""
    same = last(results[f"equivalence {RICH}"], "alignment/same")
    return stats.above(stats.mean(same, level=level), ALIGNED)


def cross_entropy_takes_the_shortcut(results: Results, level: float) -> Verdict:
    """G1: lazy, CD-3, cross-entropy: the held-out cells are wrong."""
    margin = relative_margin(results[f"CD-3 logistic-sign {LAZY}"], ContextDependence())
    return stats.below(stats.mean(margin, level=level), 0.0)


def the_loss_decides(results: Results, level: float) -> Verdict:
    """G2: the same nets with a squared loss are right."""
    margin = relative_margin(results[f"CD-3 squared {LAZY}"], ContextDependence())
    return stats.above(stats.mean(margin, level=level), 0.0)


def theory_calls_it(results: Results, level: float) -> Verdict:
    """G3: lazy nets are right and wrong where theory says so, over splits and losses."""
    agree, total = 0, 0
    for left_out in (3, 2, 1):
        for loss in ("squared", "logistic-sign"):
            task = ContextDependence(left_out=left_out)
            margin = relative_margin(results[f"CD-{left_out} {loss} {LAZY}"], task)
            agree += int((np.sign(margin) == np.sign(lazy_margin(left_out, loss))).sum())
            total += len(margin)
    return stats.above(stats.share(agree, total, level=level), 0.8)
