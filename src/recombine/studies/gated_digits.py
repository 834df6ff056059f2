"""Part `gated/digits`: gated networks on images of digits, and the machines that predict them.

Quick scale has scikit-learn's digits of 8 × 8 pixels; paper scale has all of MNIST's training
images, 0–4 against 5–9, with the published numbers of points and units. Claims rest on gates with
one hyperplane at the median; gates at random thresholds and with two hyperplanes stand beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.models.gated import Gated
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Colour, Figure, Line, Mark, Panel
from recombine.studies.gated_cells import GatedTable
from recombine.studies.gated_reading import interval, missing, pooled
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table, Value
from recombine.training.normalised import Descent
from recombine.training.optimizers import SGD

TRACKS, FAR = 0.02, 0.05
"""The lines of claims D1 and D3, as their rules state them."""
SIZES: Mapping[str, tuple[int, ...]] = {"quick": (200, 500), "paper": (500, 1000, 2000)}
UNITS: Mapping[str, tuple[int, ...]] = {"quick": (5, 10, 20), "paper": (10, 20, 50, 100)}
PLANES: Mapping[str, tuple[int, ...]] = {"quick": (0, 1, 2, 3), "paper": (0, 1, 2, 3, 4, 9)}
VARIANTS: Mapping[str, tuple[str, Literal["median", "random"], int]] = {
    "random": ("random thresholds, s = 1", "random", 1),
    "planes": ("median thresholds, s = 2", "median", 2),
}
"""Other gates: words, thresholds, hyperplanes."""
VARIED: Mapping[str, tuple[int, ...]] = {"quick": (200,), "paper": (500, 1000, 2000)}
"""Numbers of points at which the other gates are tried."""
FEW = 3
"""The most seeds of what no claim rests on, as many as the paper's."""
BATCH, EPOCHS_AT = 128, 2000
"""Paper scale: batches of 128, and 200 epochs of 2,000 points whatever the number of points."""

PUBLISHED: Mapping[tuple[int, int], tuple[float, float | None, float]] = {
    (500, 10): (0.166, 0.162, 0.304),
    (1000, 10): (0.139, 0.141, 0.293),
    (2000, 10): (0.118, 0.127, 0.348),
    (500, 20): (0.155, 0.146, 0.244),
    (1000, 20): (0.125, 0.121, 0.241),
    (2000, 20): (0.103, 0.100, 0.245),
    (500, 50): (0.145, 0.136, 0.169),
    (1000, 50): (0.106, 0.098, 0.149),
    (2000, 50): (0.087, 0.078, 0.141),
    (500, 100): (0.145, 0.141, 0.145),
    (1000, 100): (0.104, None, 0.111),
    (2000, 100): (0.083, 0.076, 0.100),
}
"""Errors of GD, SVM-GLN and SVM-L2 on MNIST by points and units: median init, s = 1."""
SHALLOW: Mapping[int, tuple[float, float]] = {
    500: (0.216, 0.262),
    1000: (0.187, 0.245),
    2000: (0.163, 0.226),
}
"""Errors of GD and of the machine on MNIST by points, s = 0."""


@dataclass(frozen=True)
class DigitsPart(Part):
    """The tables of the paper."""

    name: ClassVar[str] = "digits"
    title: ClassVar[str] = "Digits: low against high"
    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 5, "paper": 5}
    smallest: ClassVar[tuple[str, ...]] = ("training.steps=20", "n=40")

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        needs = {}
        for n in SIZES[scale]:
            cell = self._cell(scale, n)
            for units in UNITS[scale]:
                needs[f"two-{n}-{units}"] = replace(cell, model=Gated(widths=(units,)))
            for planes in PLANES[scale]:
                model = Gated(widths=(), planes=planes)
                needs[f"shallow-{n}-{planes}"] = replace(cell, model=model)
        found = {name: Need(cell, range(seeds)) for name, cell in needs.items()}
        return found | self._varied(scale, min(seeds, FEW))

    def _varied(self, scale: str, seeds: int) -> dict[str, Need]:
        """The same with other gates."""
        needs = {}
        for name, (_, cut, planes) in VARIANTS.items():
            for n in VARIED[scale]:
                for units in UNITS[scale]:
                    model = Gated(widths=(units,), planes=planes)
                    cell = replace(self._cell(scale, n), cut=cut, model=model)
                    needs[f"{name}-{n}-{units}"] = Need(cell, range(seeds))
        return needs

    def judges(self) -> Mapping[str, Judge]:
        return {
            "D1": tracks_descent,
            "D2": agrees_more,
            "D3": control_is_far_worse,
            "D4": gap_closes,
            "D5": two_layers_win,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return *two_layers(results), other_gates(results), shallow(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return errors(results), inconsistencies(results)

    def _cell(self, scale: str, n: int) -> GatedTable:
        if scale == "quick":
            return GatedTable(n=n)
        steps = 200 * EPOCHS_AT // n * (n // BATCH)
        training = Descent(steps=steps, batch=BATCH, optimizer=SGD(rate=0.04))
        return GatedTable(source="mnist-60k", n=n, training=training, together=1)


def _entry(results: Results, n: int, units: int, name: str) -> Float[np.ndarray, " seed"]:
    return results[f"two-{n}-{units}"].scalar(name)


def _entries(results: Results, a: str, b: str) -> Float[np.ndarray, " seed"]:
    """The mean over table entries of a − b, a number a seed."""
    entries = [(n, units) for n in SIZES[results.scale] for units in UNITS[results.scale]]
    return pooled(_entry(results, *e, a) - _entry(results, *e, b) for e in entries)


def _excess(results: Results, units: int) -> Float[np.ndarray, " seed"]:
    """How much worse the l2 control is at so many units, the mean over numbers of points."""
    return pooled(
        _entry(results, n, units, "error/l2") - _entry(results, n, units, "error/svm")
        for n in SIZES[results.scale]
    )


def tracks_descent(results: Results, level: float) -> Verdict:
    """D1: the error of SVM-GLN is that of descent."""
    return stats.equal_within(
        interval(_entries(results, "error/svm", "error/gd"), level), 0.0, TRACKS
    )


def agrees_more(results: Results, level: float) -> Verdict:
    """D2: SVM-GLN disagrees with descent less than SVM-L2 does."""
    return stats.above(
        interval(_entries(results, "inconsistency/l2", "inconsistency/svm"), level), 0.0
    )


def control_is_far_worse(results: Results, level: float) -> Verdict:
    """D3: the excess error of SVM-L2 at the fewest units."""
    return stats.above(interval(_excess(results, UNITS[results.scale][0]), level), FAR)


def gap_closes(results: Results, level: float) -> Verdict:
    """D4: the excess is larger at the fewest units than at the most."""
    few, many = UNITS[results.scale][0], UNITS[results.scale][-1]
    return stats.above(interval(_excess(results, few) - _excess(results, many), level), 0.0)


def two_layers_win(results: Results, level: float) -> Verdict:
    """D5: the best shallow network against two layers with most units, both by descent."""
    most, better = UNITS[results.scale][-1], []
    for n in SIZES[results.scale]:
        one = [
            results[f"shallow-{n}-{planes}"].scalar("error/gd") for planes in PLANES[results.scale]
        ]
        best = min(one, key=lambda errors: float(errors.mean()))
        better.append(best - _entry(results, n, most, "error/gd"))
    return stats.above(interval(pooled(better), level), 0.0)


def two_layers(results: Results) -> tuple[Table, Table]:
    """Errors of two-layer networks, published beside ours, and disagreement with descent."""
    errs: list[tuple[Value, ...]] = []
    differ: list[tuple[Value, ...]] = []
    for n in SIZES[results.scale]:
        for units in UNITS[results.scale]:
            cell = results[f"two-{n}-{units}"]
            printed = PUBLISHED.get((n, units), (None, None, None))
            row: list[Value] = [f"{n:,} images", units]
            for name, published in zip(METHODS, printed, strict=True):
                row += [published, interval(cell.scalar(f"error/{name}"))]
            errs.append(tuple(row))
            apart = [interval(cell.scalar(f"inconsistency/{name}")) for name in ("svm", "l2")]
            differ.append((f"{n:,} images", units, *apart, missing(cell, ("svm", "l2"))))
    where = "Tables for MNIST: median init, s = 1"
    return (
        Table(
            id="errors",
            title="Two layers: errors",
            columns=(
                "trained on", "units", "GD, published", "GD", "SVM-GLN, published", "SVM-GLN",
                "SVM-L2, published", "SVM-L2",
            ),
            rows=tuple(errs),
            where=where,
            note=f"Ours: {_images(results)}.",
        ),
        Table(
            id="inconsistencies",
            title="Two layers: share of images on which a machine and descent disagree",
            columns=("trained on", "units", "SVM-GLN", "SVM-L2", "no solution"),
            rows=tuple(differ),
            where=where,
            note=f"Ours: {_images(results)}. Published: SVM-GLN .12–.18, SVM-L2 .15–.36.",
        ),
    )  # fmt: skip


def other_gates(results: Results) -> Table:
    """Two layers whose gates are drawn otherwise: errors and disagreement with descent."""
    rows: list[tuple[Value, ...]] = []
    for name, (words, _, _) in VARIANTS.items():
        for n in VARIED[results.scale]:
            for units in UNITS[results.scale]:
                cell = results[f"{name}-{n}-{units}"]
                names = [f"error/{m}" for m in METHODS] + [
                    f"inconsistency/{m}" for m in ("svm", "l2")
                ]
                found = [interval(cell.scalar(each)) for each in names]
                rows.append((words, f"{n:,}", units, *found, missing(cell, ("svm", "l2"))))
    return Table(
        id="other-gates",
        title="Two layers with other gates",
        columns=(
            "gates", "images", "units", "GD", "SVM-GLN", "SVM-L2", "SVM-GLN ≠ GD", "SVM-L2 ≠ GD",
            "no solution",
        ),
        rows=tuple(rows),
        where="Tables for MNIST: without median init, and s = 2",
        note=f"Ours: {_images(results)}. Published without median init: SVM-GLN disagrees with GD "
        "on .07–.10, SVM-L2 on .12–.34.",
    )  # fmt: skip


def shallow(results: Results) -> Table:
    """One gated unit with more and more contexts."""
    rows: list[tuple[Value, ...]] = []
    for n in SIZES[results.scale]:
        for planes in PLANES[results.scale]:
            cell = results[f"shallow-{n}-{planes}"]
            printed = SHALLOW.get(n, (None, None)) if planes == 0 else (None, None)
            rows.append((
                f"{n:,} images", planes, printed[0], interval(cell.scalar("error/gd")),
                printed[1], interval(cell.scalar("error/svm")),
                interval(cell.scalar("inconsistency/svm")), missing(cell, ("svm",)),
            ))  # fmt: skip
    return Table(
        id="shallow",
        title="One layer: a machine per context",
        columns=(
            "trained on", "planes s", "GD, published", "GD", "machines, published", "machines",
            "machines ≠ GD", "no solution",
        ),
        rows=tuple(rows),
        where="Tables for MNIST: shallow",
        note=f"Ours: {_images(results)}. Published: best machines .220, .190, .161 at s = 3–4. "
        "Where descent has not fitted its points, its limit is still far.",
    )  # fmt: skip


def _images(results: Results) -> str:
    if results.scale == "quick":
        return "8 × 8 digits of scikit-learn, published numbers are for MNIST"
    return "drawn from the 60,000 training images of MNIST, 12,000 others for validation"


METHODS: Mapping[str, tuple[str, Colour]] = {
    "gd": ("GD", "first"),
    "svm": ("SVM-GLN", "second"),
    "l2": ("SVM-L2", "third"),
}


def errors(results: Results) -> Figure:
    """Error against units: descent, its predicted limit, the control; published ones dashed."""
    panels = []
    for n in SIZES[results.scale]:
        marks: list[Mark] = [_line(results, n, "error", method) for method in METHODS]
        if results.scale == "paper":
            marks += [_printed(n, i, colour) for i, (_, colour) in enumerate(METHODS.values())]
        panels.append(Panel(_units(results), Axis("error"), tuple(marks), title=f"n = {n:,}"))
    return Figure(
        id="errors",
        title="The machine of the predicted limit errs as often as the network",
        caption="Share of validation images that are misclassified; mean and 95% interval over "
        "seeds. Dashed: published, MNIST (paper scale only).",
        where="Tables for MNIST",
        panels=tuple(panels),
        columns=len(panels),
    )


def inconsistencies(results: Results) -> Figure:
    """Disagreement with descent against units."""
    panels = []
    for n in SIZES[results.scale]:
        marks = tuple(_line(results, n, "inconsistency", method) for method in ("svm", "l2"))
        panels.append(
            Panel(_units(results), Axis("disagreement with GD"), marks, title=f"n = {n:,}")
        )
    return Figure(
        id="inconsistencies",
        title="It also errs on the same images",
        caption="Share of validation images on which a machine and the network answer differently; "
        "mean and 95% interval over seeds.",
        where="Tables for MNIST",
        panels=tuple(panels),
        columns=len(panels),
    )


def _units(results: Results) -> Axis:
    return Axis("units", "log", ticks=tuple(float(u) for u in UNITS[results.scale]))


def _line(results: Results, n: int, what: str, method: str) -> Line:
    words, colour = METHODS[method]
    units = UNITS[results.scale]
    means = [interval(_entry(results, n, u, f"{what}/{method}")) for u in units]
    known = [(u, m) for u, m in zip(units, means, strict=True) if m.n]
    return Line(
        np.array([u for u, _ in known], dtype=float),
        np.array([m.estimate for _, m in known], dtype=float),
        np.array([m.estimate if m.n == 1 else m.low for _, m in known], dtype=float),
        np.array([m.estimate if m.n == 1 else m.high for _, m in known], dtype=float),
        words,
        colour,
    )


def _printed(n: int, method: int, colour: Colour) -> Line:
    found = {u: row[method] for (points, u), row in PUBLISHED.items() if points == n}
    known = [(u, e) for u, e in sorted(found.items()) if e is not None]
    x, y = (np.array(values, dtype=float) for values in zip(*known, strict=True))
    return Line(x, y, label="published", colour=colour, dashed=True)
