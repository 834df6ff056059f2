"""Part `reuse/relu`: ReLU teachers and students, with shared, nearby and unrelated units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Figure, Mark, Panel, Points
from recombine.studies.results import Results
from recombine.studies.reuse_judging import (
    COLOURS,
    NAMES,
    all_of,
    curve,
    geometric,
    log_ratio,
    losses,
)
from recombine.studies.reuse_teachers import ReluReuse
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table, Value

LITTLE = 0.3
"""A gain of less than so many powers of ten, a factor of two, is none to speak of (claim U3)."""
METHODS = ("stl", "mtl", "ptft", "lp", "ntk", "ntk-pretrained")
DRAWN = ("stl", "mtl", "ptft", "lp", "ntk")
UPDATES = 12_800
"""Paper scale: by then the training loss is at 1e-8, or within 1e-6 and falling slowly."""
CASES = {
    "same": "the same six units",
    "near": "units at cosine .9",
    "unrelated": "unrelated units",
    "one": "one of the six units",
}
PUBLISHED: dict[str, dict[str, dict[int, float]]] = {
    "same": {
        "stl": {16: 1.0, 32: 0.70, 64: 0.36, 128: 0.14, 256: 0.014, 512: 7e-4},
        "mtl": {16: 0.09, 32: 0.03, 64: 0.006, 128: 0.003, 256: 2.8e-4, 512: 9e-6},
        "ptft": {16: 0.42, 32: 0.18, 64: 0.03, 128: 3.5e-4, 256: 8e-6, 512: 2.6e-6},
        "lp": {16: 1.5e-4},
    },
    "near": {
        "mtl": {16: 0.46, 32: 0.30, 64: 0.18, 128: 0.089, 256: 0.022, 512: 0.001},
        "ptft": {16: 0.53, 32: 0.30, 64: 0.11, 128: 0.0038, 256: 1.9e-5, 512: 3.9e-6},
    },
    "unrelated": {"stl": {256: 0.013}, "mtl": {256: 0.020}, "ptft": {256: 0.033}},
    "one": {"ptft": {64: 1.2e-5}, "mtl": {64: 0.0016}},
}
"""Mean loss over baseline, by sample size."""


@dataclass(frozen=True)
class TeachersPart(Part):
    """What parts with ReLU teachers and students have in common."""

    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 6, "paper": 6}
    smallest: ClassVar[tuple[str, ...]] = ("hidden=10", "steps=50", "pretrain_steps=50")


@dataclass(frozen=True)
class ReluPart(TeachersPart):
    """The paper's ReLU experiments."""

    name: ClassVar[str] = "relu"
    title: ClassVar[str] = "ReLU teachers and students"

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        same = ReluReuse(samples=(32, 64, 256))
        if scale == "paper":
            same = ReluReuse(
                hidden=1000,
                samples=(16, 32, 64, 128, 256, 512),
                pretrain_steps=UPDATES,
                steps=UPDATES,
            )
        beside = same if scale == "paper" else replace(same, samples=(64, 256))
        cells = {
            "same": same,
            "near": replace(beside, correlation=0.9),
            "unrelated": replace(beside, correlation=0.0),
            "one": replace(beside, main_units=1),
        }
        return {name: Need(cell, range(seeds)) for name, cell in cells.items()}

    def judges(self) -> Mapping[str, Judge]:
        return {
            "U1": few_samples,
            "U2": many_samples,
            "U3": correlated,
            "U4": unrelated,
            "U5": one_unit,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (losses_table(results),)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (losses_figure(results),)


def at(results: Results, case: str, method: str, n: int) -> np.ndarray:
    """The test losses of a method at a sample size."""
    cell = results[case]
    return losses(cell, method)[:, cell.array("samples")[0].tolist().index(n)]


def few_samples(results: Results, level: float) -> Verdict:
    """U1: at n = 32 multi-task learning beats finetuning."""
    tuned, both = (at(results, "same", method, 32) for method in ("ptft", "mtl"))
    return stats.above(log_ratio(tuned, both, level=level), 0.0)


def many_samples(results: Results, level: float) -> Verdict:
    """U2: at n = 256 finetuning beats multi-task learning."""
    both, tuned = (at(results, "same", method, 256) for method in ("mtl", "ptft"))
    return stats.above(log_ratio(both, tuned, level=level), 0.0)


def correlated(results: Results, level: float) -> Verdict:
    """U3: near units help finetuning and not multi-task learning."""
    alone, both, tuned = (at(results, "near", m, 256) for m in ("stl", "mtl", "ptft"))
    gain = stats.above(log_ratio(alone, tuned, level=level), 0.0)
    none = stats.below(log_ratio(alone, both, level=level), LITTLE)
    verdict = all_of([("STL over PT+FT", gain), ("STL over MTL", none)])
    return replace(verdict, effect=gain.effect, interval=gain.interval)


def unrelated(results: Results, level: float) -> Verdict:
    """U4: unrelated units only cost."""
    alone = at(results, "unrelated", "stl", 256)
    ratios = {
        m: log_ratio(at(results, "unrelated", m, 256), alone, level=level) for m in ("mtl", "ptft")
    }
    return all_of([(f"{m.upper()} over STL", stats.above(r, 0.0)) for m, r in ratios.items()])


def one_unit(results: Results, level: float) -> Verdict:
    """U5: one unit is easier than six, for finetuning more than for multi-task learning."""
    gains = {
        m: np.log10(at(results, "same", m, 64)) - np.log10(at(results, "one", m, 64))
        for m in ("ptft", "mtl")
    }
    return stats.above(stats.mean(gains["ptft"] - gains["mtl"], level=level), 0.0)


def losses_table(results: Results) -> Table:
    """Test losses by case, size and method."""
    rows: list[tuple[Value, ...]] = []
    for case, words in CASES.items():
        cell = results[case]
        for i, n in enumerate(cell.array("samples")[0].tolist()):
            for method in METHODS:
                printed = PUBLISHED[case].get(method, {}).get(n)
                said = None if printed is None else f"{printed:.3g}"
                values = losses(cell, method)[:, i]
                rows.append((words, n, NAMES[method], said, stats.mean(values), geometric(values)))
    return Table(
        id="losses",
        title="Test loss over the variance of the target",
        columns=("main teacher", "n", "method", "published", "ours, mean", "ours, geometric mean"),
        rows=tuple(rows),
        where="ReLU teacher and student",
        note="Exact test losses on Gaussian inputs. Auxiliary teacher of six units, 1,024 samples. "
        "Tangent kernel: exact regression with the kernel of the fresh net, or of the net that "
        "finetuning starts from.",
    )


def losses_figure(results: Results) -> Figure:
    """Losses over sample sizes by case, with the published points."""
    panels = []
    for case, words in CASES.items():
        cell, marks = results[case], list[Mark]()
        sizes = cell.array("samples")[0].tolist()
        for method in DRAWN:
            values, colour = losses(cell, method), COLOURS[method]
            marks.append(curve(sizes, values, label=NAMES[method], colour=colour))
            known = PUBLISHED[case].get(method, {})
            if method != "lp" and known:
                x, y = (np.array(list(v), dtype=float) for v in (known, known.values()))
                label = "published" if (case, method) == ("same", "stl") else ""
                marks.append(Points(x, y, label, colour, hollow=True))
        ticks = tuple(float(n) for n in sizes)
        across = Axis("samples of the main task", scale="log", ticks=ticks)
        panels.append(Panel(across, Axis("test loss", scale="log"), tuple(marks), words))
    return Figure(
        id="losses",
        title="Learning together, one after the other, or alone",
        caption="Geometric mean over seeds with 95% intervals; circles are published means. "
        "Few samples: learning together wins. Many samples, or units that are only near: learning "
        "one after the other wins.",
        where="ReLU teacher and student",
        panels=tuple(panels),
        columns=2,
    )
