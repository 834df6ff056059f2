"""Parts of `kernel` that run only when named: the sweep over distances, and other architectures.

`kernel/images-distances` has every distance of the paper on MNIST, and every trained set but the
dispersed ones;
`kernel/architectures` the residual network and the vision transformer on CIFAR-10. At paper scale a
run takes many hours on a core, so `recombine reproduce kernel` leaves both out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.analyses.additivity import Additivity
from recombine.models.model import Model
from recombine.models.resnet import ResNet
from recombine.models.vit import ViT
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Colour, Figure, Line, Mark, Panel
from recombine.studies.kernel_cells import Assigned
from recombine.studies.kernel_images import DISTANCES, ShowsImages, cell
from recombine.studies.kernel_images_printed import CIFAR, POOLED, Printed, on_mnist
from recombine.studies.kernel_images_shown import shares_table
from recombine.studies.kernel_reading import (
    answers,
    by_split,
    inferred_values,
    last,
    outermost_slope,
)
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Runs
from recombine.studies.table import Table, Value
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.items import ItemTask
from recombine.tasks.pictures import Images
from recombine.tasks.relations import Equivalence
from recombine.training.optimizers import Adam
from recombine.training.recipe import Recipe
from recombine.training.trial import Probe, Trial

TASKS: dict[str, ItemTask] = {
    "extrapolation": Addition(trained_items=SETS["extrapolation"]),
    "CD-3": ContextDependence(left_out=3),
    "interpolation": Addition(trained_items=SETS["interpolation"]),
    "both": Addition(trained_items=SETS["both"]),
    "asymmetric": Addition(trained_items=SETS["asymmetric"]),
    "CD-1": ContextDependence(left_out=1),
    "CD-2": ContextDependence(left_out=2),
    "equivalence q=4": Equivalence(classes_of=(5, 5), linking=(4, 4)),
    "equivalence q=1": Equivalence(classes_of=(5, 5), linking=(1, 1)),
}
"""By name, the most telling first."""


def score(results: Results, name: str, task: ItemTask) -> np.ndarray:
    """Slope between the outermost held-out items, or accuracy on held-out combinations."""
    if isinstance(task, Addition):
        return outermost_slope(answers(results[name]), task)
    return by_split(results[name], task, "answers/accuracy", trained=False)


@dataclass(frozen=True)
class DistancesPart(ShowsImages):
    """Every distance and trained set of the paper."""

    name: ClassVar[str] = "images-distances"
    title: ClassVar[str] = "All tasks over the distance between images"
    seeds: ClassVar[Mapping[str, int]] = {"quick": 3, "paper": 10}
    runs: ClassVar[Runs] = "by name"

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        names = tuple(TASKS) if scale == "paper" else ("extrapolation", "CD-3")
        return {
            f"{name} d={d}": Need(cell(TASKS[name], scale=scale, shift=d), range(seeds))
            for d in DISTANCES[scale]
            for name in names
        }

    def judges(self) -> Mapping[str, Judge]:
        return {"S1": slope_rises, "S2": shortcut_rises}

    def tables(self, results: Results) -> tuple[Table, ...]:
        names = _named(results)
        lines: list[tuple[Value, ...]] = []
        for name in names:
            for d in sorted(DISTANCES[results.scale]):
                printed = on_mnist(name, d) if results.scale == "paper" else Printed()
                lines.append((name, d, *beside(results, f"{name} d={d}", TASKS[name], printed)))
        table = Table(
            "distances",
            self.title,
            ("task", "d", *BESIDE),
            tuple(lines),
            where="Figures on MNIST",
            note="On unseen images. Score: slope between the outermost held-out items, or accuracy "
            "on held-out combinations. Trained: squared error, or accuracy. On the asymmetric set "
            "the paper tells the value given to item +4 at d = 0, .53.",
        )
        far = max(DISTANCES[results.scale])
        context = [
            (f"{name} d={far}", TASKS[name], results.scale == "paper")
            for name in names
            if isinstance(TASKS[name], ContextDependence)
        ]
        return (table, shares_table(results, context), *self._pooled(results, names))

    def _pooled(self, results: Results, names: Sequence[str]) -> tuple[Table, ...]:
        """Equivalence of both linkings together, where both were run."""
        both = [name for name in names if isinstance(TASKS[name], Equivalence)]
        if len(both) < 2:
            return ()
        found = [
            (d, np.mean([score(results, f"{name} d={d}", TASKS[name]) for name in both], axis=0))
            for d in sorted(DISTANCES[results.scale])
        ]
        lines = tuple(
            (d, printed, stats.mean(ours)) for (d, ours), printed in zip(found, POOLED, strict=True)
        )
        columns = ("d", "published", "held-out accuracy")
        title = "Equivalence, q = 1 and q = 4 together"
        return (Table("pooled", title, columns, lines, where="Figures on MNIST"),)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        d = sorted(DISTANCES[results.scale])
        panels = []
        for name in _named(results):
            spans = [stats.mean(score(results, f"{name} d={x}", TASKS[name])) for x in d]
            marks: list[Mark] = [Line.through(d, spans, "ours")]
            printed = [(x, on_mnist(name, x).score) for x in d if results.scale == "paper"]
            if known := [(x, value) for x, value in printed if value is not None]:
                at, values = np.array(known).T
                marks.append(Line(at, values, label="published", colour="muted"))
            label = "slope" if isinstance(TASKS[name], Addition) else "held-out accuracy"
            panels.append(Panel(Axis("distance d"), Axis(label), tuple(marks), title=name))
        return (Figure("distances", self.title, "With 95% intervals.", tuple(panels), columns=3),)


def _named(results: Results) -> list[str]:
    """The tasks that were run, in the order of TASKS."""
    return sorted({name.rsplit(" d=", 1)[0] for name in results.cells}, key=list(TASKS).index)


BESIDE = (
    "published score",
    "score",
    "published MSE, held-out pairs",
    "MSE, held-out pairs",
    "published, trained",
    "trained",
    "published R²",
    "additivity R²",
)


def beside(results: Results, name: str, task: ItemTask, printed: Printed) -> tuple[Value, ...]:
    """What is printed of a cell and what was measured, in the order of BESIDE."""
    cell, adds = results[name], isinstance(task, Addition)
    error = stats.mean(by_split(cell, task, "answers/error", trained=False)) if adds else None
    known = "answers/error" if adds else "answers/accuracy"
    return (
        printed.score,
        stats.mean(score(results, name, task)),
        printed.error,
        error,
        printed.trained,
        stats.mean(by_split(cell, task, known, trained=True)),
        printed.additivity,
        stats.mean(last(cell, "additivity/test")),
    )


def _ends(results: Results, name: str) -> tuple[np.ndarray, np.ndarray]:
    near, far = min(DISTANCES[results.scale]), max(DISTANCES[results.scale])
    task = TASKS[name]
    return score(results, f"{name} d={far}", task), score(results, f"{name} d={near}", task)


def slope_rises(results: Results, level: float) -> Verdict:
    """S1: the slope of extrapolation is larger at the largest distance than at 0."""
    far, near = _ends(results, "extrapolation")
    return stats.above(stats.paired(far, near, level=level).difference, 0.0)


def shortcut_rises(results: Results, level: float) -> Verdict:
    """S2: accuracy of CD-3 is smaller at the largest distance than at 0."""
    far, near = _ends(results, "CD-3")
    return stats.below(stats.paired(far, near, level=level).difference, 0.0)


def coloured(which: str, task: ItemTask, *, scale: str, part: int = 1) -> Assigned:
    """A network on photographs of items, trained for one part of so many of its time."""
    adds = isinstance(task, Addition)
    model: Model
    if scale == "quick":
        source, examples, batch, epochs, each = Images("digits"), 1000, 64, 6, 5
        small = ViT(patch=4, depth=2, heads=2, head=16, width=32, hidden=32)
        model = ResNet(channels=(8, 16)) if which == "resnet" else small
        rate = 1e-3
    else:
        source = Images("cifar10", per_class=4000)
        examples, batch, each = 40_000, 128, 100
        epochs, rate = (100, 1e-3) if which == "resnet" else (200, 1e-4)
        model = ResNet(augment=True) if which == "resnet" else ViT(augment=True)
    steps = epochs * (examples // batch) // part
    recipe = Recipe(
        steps=steps,
        batch=batch,
        sampling="without-replacement",
        examples=examples,
        loss="squared" if adds else "logistic-sign",
        optimizer=Adam(rate=rate),
        evaluate_at=(0, steps // 2),
        evaluation_examples=200 if scale == "quick" else 1000,
        lanes="looped",
    )
    probe = Probe(Additivity(examples=each))
    return Assigned(Trial(replace(task, inputs=source), model, recipe, (probe,)))


@dataclass(frozen=True)
class ArchitecturesPart(ShowsImages):
    """A residual network and a vision transformer."""

    name: ClassVar[str] = "architectures"
    title: ClassVar[str] = "Residual network and vision transformer"
    seeds: ClassVar[Mapping[str, int]] = {"quick": 2, "paper": 10}
    runs: ClassVar[Runs] = "by name"

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        names = (
            ("extrapolation", "CD-3", "CD-1", "both", "CD-2", "interpolation")
            if scale == "paper"
            else ("extrapolation", "CD-1")
        )
        return {
            f"{which} {name}": Need(coloured(which, TASKS[name], scale=scale), range(seeds))
            for name in names
            for which in ("resnet", "vit")
        }

    def judges(self) -> Mapping[str, Judge]:
        return {"C1": both_leak, "C2": both_add_up}

    def tables(self, results: Results) -> tuple[Table, ...]:
        lines: list[tuple[Value, ...]] = []
        for name, found in results.cells.items():
            task = TASKS[name.split(" ", 1)[1]]
            printed = CIFAR[name] if results.scale == "paper" else Printed()
            training = stats.mean(last(found, "loss/train"))
            lines.append((name, *beside(results, name, task, printed), training))
        columns = ("network and task", *BESIDE, "loss, training images")
        note = (
            "Published on CIFAR-10. Score and trained as for MNIST. Quick scale: small networks on "
            "digits, to see that everything runs."
        )
        return (
            Table("architectures", self.title, columns, tuple(lines), where="CIFAR", note=note),
        )

    def figures(self, results: Results) -> tuple[Figure, ...]:
        task = TASKS["extrapolation"]
        assert isinstance(task, Addition)
        marks: list[Mark] = []
        colours: tuple[tuple[str, Colour], ...] = (("resnet", "first"), ("vit", "second"))
        for which, colour in colours:
            inferred = inferred_values(answers(results[f"{which} extrapolation"]), task)
            spans = [stats.mean(inferred[:, i]) for i in range(task.items)]
            marks.append(Line.through(task.values, spans, which, colour))
        marks.append(Line(task.values, task.values, label="right", colour="muted", dashed=True))
        panel = Panel(Axis("value of the item"), Axis("value it was given"), tuple(marks))
        caption = (
            "Values of items inferred from held-out answers; extrapolation. A leak flattens them."
        )
        return (Figure("values", "Inferred values of items", caption, (panel,), columns=1),)


def both_leak(results: Results, level: float) -> Verdict:
    """C1: both networks answer held-out sums with a slope below 1."""
    slopes = [
        score(results, f"{which} extrapolation", TASKS["extrapolation"])
        for which in ("resnet", "vit")
    ]
    return stats.below(stats.mean(np.max(slopes, axis=0), level=level), 1.0)


def both_add_up(results: Results, level: float) -> Verdict:
    """C2: their answers are nearly sums over seen conjunctions."""
    shares = [
        last(results[f"{which} extrapolation"], "additivity/test") for which in ("resnet", "vit")
    ]
    return stats.above(stats.mean(np.min(shares, axis=0), level=level), 0.9)
