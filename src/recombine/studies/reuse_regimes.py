"""Part `reuse/regimes`: ReLU nets with one new unit, a rescaled first layer, or a weaker task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Colour, Figure, Mark, Panel, Rule
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
from recombine.studies.reuse_relu import LITTLE, UPDATES, TeachersPart
from recombine.studies.reuse_teachers import ReluReuse
from recombine.studies.study import Judge, Need, Runs
from recombine.studies.table import Table, Value

FEW, MANY = 64, 256
"""Samples of the main task; of the grid of cosines and magnitudes."""
FACTORS = (1.0, 0.01, 0.1, 10.0, 100.0)
"""On the pretrained layer; 1 stands first, where every table looks for finetuning as it is."""
MAGNITUDES: Mapping[str, tuple[float, ...]] = {"quick": (0.1, 1.0), "paper": (0.01, 0.1, 1.0)}
COSINES: Mapping[str, tuple[float, ...]] = {"quick": (0.9,), "paper": (0.8, 0.9, 1.0)}
METHODS = ("stl", "ptft")
"""Of the grid; multi-task learning of near units stands in `reuse/relu`."""
RESCALED = {"six": "all six units", "one": "one of the six units"}
PUBLISHED: Mapping[str, Mapping[float, float]] = {
    "six": {1.0: 6.1e-3, 0.1: 0.24, 10.0: 1.9e-5},
    "one": {1.0: 1.2e-5, 0.1: 1.3e-3, 10.0: 2e-5},
}
"""Finetuning's loss over baseline with few samples, by factor."""
WEAK: Mapping[tuple[float, float, str], float] = {
    (1.0, 0.01, "ptft"): 6e-5,
    (0.9, 0.01, "ptft"): 0.031,
    (0.9, 0.01, "stl"): 0.027,
    (0.9, 1.0, "ptft"): 1e-4,
    (0.9, 1.0, "stl"): 0.01,
}
"""Loss over baseline with many, by cosine, magnitude and method."""


@dataclass(frozen=True)
class RegimesPart(TeachersPart):
    """Five of six shared units; rescaling from .01 to 100; cosines and magnitudes."""

    name: ClassVar[str] = "regimes"
    title: ClassVar[str] = "ReLU nets: partly shared, rescaled, weaker"
    runs: ClassVar[Runs] = "with its study"

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        base = ReluReuse()
        if scale == "paper":
            base = ReluReuse(hidden=1000, pretrain_steps=UPDATES, steps=UPDATES)
        few = replace(base, samples=(FEW,))
        six = replace(few, rescalings=FACTORS, methods=("lp", "ptft"))
        cells = {
            "five": replace(few, shared=5),
            "six": six,
            "one": replace(six, main_units=1),
        }
        for size in MAGNITUDES[scale]:
            for cosine in COSINES[scale]:
                cells[grid(cosine, size)] = replace(
                    base,
                    samples=(MANY,),
                    correlation=cosine,
                    magnitude=size,
                    tolerance=base.tolerance * size**2,
                    methods=METHODS,
                    main_rate=None if size == 1 else base.rate / size,
                )
        return {name: Need(cell, range(seeds)) for name, cell in cells.items()}

    def judges(self) -> Mapping[str, Judge]:
        return {
            "V1": partly_shared,
            "V2": large_is_lazy,
            "V3": small_costs,
            "V4": comparable_strength,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return shared_table(results), factors_table(results), grid_table(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return factors_figure(results), grid_figure(results)


def _samples(results: Results, name: str) -> int:
    """The samples of the main task that a cell was run with."""
    cell = results.specs[name]
    assert isinstance(cell, ReluReuse), cell
    return cell.samples[0]


def grid(cosine: float, magnitude: float) -> str:
    """What the cell of a cosine and a magnitude is called."""
    return f"cosine-{cosine:g}-magnitude-{magnitude:g}"


def rescaled(results: Results, case: str, factor: float) -> np.ndarray:
    """Finetuning's test losses at n = 64 after rescaling."""
    return losses(results[case], "ptft", rescaling=FACTORS.index(factor))[:, 0]


def partly_shared(results: Results, level: float) -> Verdict:
    """V1: with five of six units shared, learning together wins at n = 64."""
    tuned, both = (losses(results["five"], method)[:, 0] for method in ("ptft", "mtl"))
    return stats.above(log_ratio(tuned, both, level=level), 0.0)


def large_is_lazy(results: Results, level: float) -> Verdict:
    """V2: what one unit gains over six is less after c = 10 than at c = 1."""
    gains = [
        np.log10(rescaled(results, "six", c)) - np.log10(rescaled(results, "one", c))
        for c in (1.0, 10.0)
    ]
    return stats.above(stats.mean(gains[0] - gains[1], level=level), 0.0)


def small_costs(results: Results, level: float) -> Verdict:
    """V3: c = 0.1 loses features that are all needed."""
    shrunk, plain = (rescaled(results, "six", c) for c in (0.1, 1.0))
    return stats.above(log_ratio(shrunk, plain, level=level), 0.0)


def comparable_strength(results: Results, level: float) -> Verdict:
    """V4: near units help finetuning where tasks are equally strong, not where the main is weak."""
    ratios = []
    for size in (1.0, MAGNITUDES[results.scale][0]):
        cell = results[grid(0.9, size)]
        alone, tuned = (losses(cell, method)[:, 0] for method in ("stl", "ptft"))
        ratios.append(log_ratio(alone, tuned, level=level))
    gain, none = stats.above(ratios[0], 0.0), stats.below(ratios[1], LITTLE)
    verdict = all_of([("equally strong: STL over PT+FT", gain), ("weak: STL over PT+FT", none)])
    return replace(verdict, effect=gain.effect, interval=gain.interval)


def shared_table(results: Results) -> Table:
    """Five of six units shared."""
    n = _samples(results, "five")
    printed = {"mtl": 0.031, "ptft": 0.144} if n == FEW else {}
    rows: list[tuple[Value, ...]] = []
    for method in ("stl", "mtl", "ptft", "lp", "ntk"):
        values = losses(results["five"], method)[:, 0]
        said = printed.get(method)
        rows.append((NAMES[method], said, stats.mean(values), geometric(values)))
    return Table(
        id="five-of-six",
        title=f"Five of the six units shared, n = {n}: test loss over the variance of the target",
        columns=("method", "published", "ours, mean", "ours, geometric mean"),
        rows=tuple(rows),
        where="ReLU teacher and student, 5 of 6 units shared",
        note="Linear probing cannot learn the sixth unit.",
    )


def factors_table(results: Results) -> Table:
    """Finetuning after rescaling the pretrained layer."""
    n, rows = _samples(results, "six"), list[tuple[Value, ...]]()
    for case, words in RESCALED.items():
        for c in sorted(FACTORS):
            values, said = rescaled(results, case, c), PUBLISHED[case].get(c) if n == FEW else None
            text = None if said is None else f"{said:.2g}"
            rows.append((words, f"{c:g}", text, stats.mean(values), geometric(values)))
        values = losses(results[case], "lp")[:, 0]
        rows.append((words, NAMES["lp"], None, stats.mean(values), geometric(values)))
    return Table(
        id="factors",
        title=f"Finetuning after the pretrained layer was multiplied by c, n = {n}",
        columns=("main teacher", "c", "published", "ours, mean", "ours, geometric mean"),
        rows=tuple(rows),
        where="ReLU teacher and student, weight rescaling",
        note="A large c makes the net lazy: it reads what it knows. A small one makes it learn "
        "anew.",
    )


def _of_grid(results: Results) -> int:
    return _samples(results, grid(COSINES[results.scale][0], MAGNITUDES[results.scale][0]))


def grid_table(results: Results) -> Table:
    """Cosines and magnitudes."""
    n, rows = _of_grid(results), list[tuple[Value, ...]]()
    for size in MAGNITUDES[results.scale]:
        for cosine in COSINES[results.scale]:
            for method in METHODS:
                values = losses(results[grid(cosine, size)], method)[:, 0]
                said = WEAK.get((cosine, size, method)) if n == MANY else None
                text = None if said is None else f"{said:.2g}"
                left = 2 * losses(results[grid(cosine, size)], method, of="loss")[:, 0] / size**2
                row = (f"{size:g}", f"{cosine:g}", NAMES[method], text)
                rows.append((*row, stats.mean(values), geometric(values), geometric(left)))
    return Table(
        id="magnitudes",
        title=f"Near units and a main task of another strength, n = {n}",
        columns=(
            "magnitude",
            "cosine",
            "method",
            "published",
            "ours, mean",
            "geometric mean",
            "left",
        ),
        rows=tuple(rows),
        where="ReLU teacher and student, correlation and magnitude",
        note="Magnitude m: the main teacher's readout over the auxiliary one's. Training stops at "
        "a loss of 1e-8 m², its rate is 0.8 / m, or as many tenths of it as keep it from "
        "diverging. Left: what is left of the training error, mean square over m².",
    )


def factors_figure(results: Results) -> Figure:
    """Loss against the factor, for one unit and six."""
    across = Axis("c, factor on the pretrained layer", "log", ticks=tuple(sorted(FACTORS)))
    marks: list[Mark] = []
    colours: Mapping[str, Colour] = {"six": "first", "one": "second"}
    for case, words in RESCALED.items():
        values = np.stack([rescaled(results, case, c) for c in sorted(FACTORS)], axis=1)
        marks.append(curve(sorted(FACTORS), values, label=words, colour=colours[case]))
    marks.append(Rule(1.0, "x", "as it is"))
    return Figure(
        id="factors",
        title="How much of the pretrained layer finetuning keeps",
        caption=f"Test loss of finetuning with {_samples(results, 'six')} samples, geometric mean "
        "over seeds with 95% intervals. Right: lazy, one unit is no easier than six. Left: it "
        "learns anew.",
        where="ReLU teacher and student, weight rescaling",
        panels=(Panel(across, Axis("test loss", "log"), tuple(marks)),),
        columns=1,
    )


def grid_figure(results: Results) -> Figure:
    """Loss against the magnitude, a panel a cosine."""
    sizes, panels = MAGNITUDES[results.scale], []
    across = Axis("magnitude of the main task", "log", ticks=sizes)
    for cosine in COSINES[results.scale]:
        marks = []
        for method in METHODS:
            cells = [results[grid(cosine, size)] for size in sizes]
            values = np.stack([losses(cell, method)[:, 0] for cell in cells], axis=1)
            marks.append(curve(sizes, values, label=NAMES[method], colour=COLOURS[method]))
        panels.append(
            Panel(across, Axis("test loss", "log"), tuple(marks), title=f"cosine {cosine:g}")
        )
    return Figure(
        id="magnitudes",
        title="Near features help where both tasks are about equally strong",
        caption=f"Test loss over the variance of the target with {_of_grid(results)} samples, "
        "geometric mean over seeds with 95% intervals.",
        where="ReLU teacher and student, correlation and magnitude",
        panels=tuple(panels),
        columns=len(panels),
    )
