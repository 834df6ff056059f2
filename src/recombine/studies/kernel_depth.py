"""Part `kernel/depth`: equivalence in deeper dense networks, and the steps in which it is learned.

The authors' deep networks have 100 units a layer, σ = .1 and Adam. The course of learning is that
of the rich network of one wide hidden layer, in small steps. While its answers are still tiny, the
output's bias decides every sign, and half are right. Trained pairs pass it together. Held-out pairs
do not follow, as in a kernel model, until features have formed; they do so one after another, and
accuracy rises in the published steps, .5, .75, 1. How long a step lasts is not stated: it is shown
here and not judged. At σ = 1e-6 float32 cannot show it, because a target of 1 minus an answer below
6e-8 is 1: the bias stands still, and signs are those of rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.analyses.additivity import Additivity
from recombine.models.mlp import MLP
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Bars, Colour, Figure, Line, Mark, Panel, Rule
from recombine.studies.kernel_dense import EQUIVALENCE_WIDTH, RICH, rate
from recombine.studies.kernel_reading import by_split, relative_margin
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part, Runs
from recombine.studies.table import Table, Value
from recombine.tasks.relations import Equivalence
from recombine.training.optimizers import SGD, Adam
from recombine.training.recipe import Recipe
from recombine.training.stopping import Stop
from recombine.training.trial import Probe, Trial

TASK = Equivalence()
DEPTHS = (1, 2, 3, 4)
STEPS = (0.5, 0.75)
"""Published: where accuracy rests on its way to 1."""


def trial(model: MLP, optimizer: SGD | Adam, *, steps: int, every: int) -> Trial:
    """Full-batch descent on the squared loss of all trained pairs, until it is 1e-6."""
    pairs = len(TASK.combinations("train"))
    recipe = Recipe(
        steps=steps,
        batch=pairs,
        sampling="in-order",
        examples=pairs,
        loss="squared",
        optimizer=optimizer,
        stop=Stop(goal=1e-6),
        evaluate_at=tuple(range(0, steps, every)),
        evaluation_examples=pairs,
    )
    return Trial(TASK, model, recipe, (Probe(Additivity()),))


@dataclass(frozen=True)
class DepthPart(Part):
    """One to four hidden layers, and one wide one from small weights."""

    name: ClassVar[str] = "depth"
    title: ClassVar[str] = "Equivalence in deeper networks, and the steps in which it is learned"
    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 6, "paper": 6}
    runs: ClassVar[Runs] = "with its study"
    smallest: ClassVar[tuple[str, ...]] = ("recipe.steps=20", "model.widths=30")

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        cells = {
            f"depth {depth}": trial(
                MLP(widths=(100,) * depth, init="kaiming", readout="linear", scale=0.1),
                Adam(rate=1e-4),
                steps=10_000,
                every=100,
            )
            for depth in DEPTHS
        }
        width = EQUIVALENCE_WIDTH[scale]
        rich = MLP(widths=(width,), init="kaiming", readout="linear", scale=float(RICH))
        descent = SGD(rate=rate(TASK, RICH, "squared", width) / 10)
        cells["steps"] = trial(rich, descent, steps=200, every=1)
        return {name: Need(cell, range(seeds)) for name, cell in cells.items()}

    def judges(self) -> Mapping[str, Judge]:
        return {"F7": every_depth_transfers}

    def tables(self, results: Results) -> tuple[Table, ...]:
        rows: list[tuple[Value, ...]] = []
        for depth in DEPTHS:
            cell = results[f"depth {depth}"]
            rows.append(
                (
                    depth,
                    1.0,
                    stats.mean(by_split(cell, TASK, "answers/accuracy", trained=False)),
                    stats.mean(by_split(cell, TASK, "answers/accuracy", trained=True)),
                    stats.mean(relative_margin(cell, TASK)),
                )
            )
        return (
            Table(
                id="depth",
                title="Equivalence over depth",
                columns=(
                    "hidden layers",
                    "published test accuracy",
                    "test accuracy",
                    "train accuracy",
                    "relative margin",
                ),
                rows=tuple(rows),
                where="Appendix: deeper networks",
                note="Layers of 100 units, σ = .1, Adam. Relative margin: mean on held-out pairs "
                "over mean on trained ones.",
            ),
            course_table(results),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (course_figure(results),)


def held_out(results: Results, depth: int) -> Float[np.ndarray, " seed"]:
    """Accuracy on held-out pairs at the end."""
    return by_split(results[f"depth {depth}"], TASK, "answers/accuracy", trained=False)


def every_depth_transfers(results: Results, level: float) -> Verdict:
    """F7: networks of one to four hidden layers answer held-out pairs, also at the worst depth."""
    accuracy = np.min([held_out(results, depth) for depth in DEPTHS], axis=0)
    return stats.above(stats.mean(accuracy, level=level), 0.95)


def course_table(results: Results) -> Table:
    """How long accuracy is at each of the published steps."""
    rows: list[tuple[Value, ...]] = []
    for split, pairs in (("train", "trained"), ("test", "held out")):
        accuracy = results["steps"].array(f"accuracy/{split}")
        for step in STEPS:
            at = updates_at(accuracy, step)
            seen = stats.share(int((at > 0).sum()), len(at))
            rows.append((pairs, step, "shown", seen, stats.mean(at)))
    return Table(
        id="steps",
        title="Learning in steps: rich, one wide layer",
        columns=("pairs", "accuracy", "published", "share of seeds that show it", "updates at it"),
        rows=tuple(rows),
        where="Section on transitive equivalence",
        note="Updates before all pairs of the kind are right for good. σ = 1e-3.",
    )


def updates_at(accuracy: Float[np.ndarray, "seed time"], step: float) -> Float[np.ndarray, " seed"]:
    """For how many evaluations accuracy is at a step before it is 1 for good."""
    after = np.minimum.accumulate(accuracy[:, ::-1] == 1, axis=1)[:, ::-1]
    return np.asarray((np.isclose(accuracy, step) & ~after).sum(axis=1), dtype=float)


def course_figure(results: Results) -> Figure:
    """Accuracy over updates, rich; accuracy over depth."""
    cell = results["steps"]
    updates = np.asarray(cell.steps("accuracy/train"))
    splits: tuple[tuple[str, str, Colour], ...] = (
        ("train", "trained pairs", "first"),
        ("test", "held-out pairs", "second"),
    )
    course: list[Mark] = [
        Line(updates, values, label=label if seed == 0 else "", colour=colour)
        for split, label, colour in splits
        for seed, values in enumerate(cell.array(f"accuracy/{split}"))
    ]
    depths = tuple(str(depth) for depth in DEPTHS)
    spans = [stats.mean(held_out(results, depth)) for depth in DEPTHS]
    bars = (Bars.of(depths, spans, "", "second"), Rule(0.5, "y", "any kernel model"))
    accuracy = Axis("accuracy", limits=(0.0, 1.05))
    return Figure(
        id="depth",
        title="Equivalence: how it is learned, and that depth does not hinder it",
        caption="Left: each line is a seed of one wide hidden layer with σ = 1e-3. Right: accuracy "
        "on held-out pairs of networks of 100 units a layer, with 95% intervals over seeds.",
        where="Section on transitive equivalence",
        panels=(
            Panel(Axis("update"), accuracy, tuple(course), title="rich, one layer"),
            Panel(Axis("hidden layers"), accuracy, bars, title="deeper networks"),
        ),
        columns=2,
    )
