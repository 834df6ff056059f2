"""Tables and figures of `gated/digits`, and the sizes and published numbers they show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from jaxtyping import Float

from recombine.studies.figure import Axis, Colour, Figure, Line, Mark, Panel
from recombine.studies.gated_reading import interval, missing, trained_on
from recombine.studies.results import Results
from recombine.studies.table import Table, Value

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


def entry(results: Results, n: int, units: int, name: str) -> Float[np.ndarray, " seed"]:
    """A number of a two-layer entry of the tables, seed by seed."""
    return results[f"two-{n}-{units}"].scalar(name)


def two_layers(results: Results) -> tuple[Table, Table]:
    """Errors of two-layer networks, published beside ours, and disagreement with descent."""
    errs: list[tuple[Value, ...]] = []
    differ: list[tuple[Value, ...]] = []
    for n in SIZES[results.scale]:
        for units in UNITS[results.scale]:
            cell, here = results[f"two-{n}-{units}"], trained_on(results, f"two-{n}-{units}")
            printed = PUBLISHED.get((here, units), (None, None, None))
            row: list[Value] = [f"{here:,} images", units]
            for name, published in zip(METHODS, printed, strict=True):
                row += [published, interval(cell.scalar(f"error/{name}"))]
            errs.append(tuple(row))
            apart = [interval(cell.scalar(f"inconsistency/{name}")) for name in ("svm", "l2")]
            differ.append((f"{here:,} images", units, *apart, missing(cell, ("svm", "l2"))))
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
                here = trained_on(results, f"{name}-{n}-{units}")
                rows.append((words, f"{here:,}", units, *found, missing(cell, ("svm", "l2"))))
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
            here = trained_on(results, f"shallow-{n}-{planes}")
            printed = SHALLOW.get(here, (None, None)) if planes == 0 else (None, None)
            rows.append((
                f"{here:,} images", planes, printed[0], interval(cell.scalar("error/gd")),
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
        here = trained_on(results, f"two-{n}-{UNITS[results.scale][0]}")
        marks: list[Mark] = [_line(results, n, "error", method) for method in METHODS]
        if results.scale == "paper" and here == n:
            marks += [_printed(n, i, colour) for i, (_, colour) in enumerate(METHODS.values())]
        panels.append(Panel(_units(results), Axis("error"), tuple(marks), title=f"n = {here:,}"))
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
        here = trained_on(results, f"two-{n}-{UNITS[results.scale][0]}")
        marks = tuple(_line(results, n, "inconsistency", method) for method in ("svm", "l2"))
        panels.append(
            Panel(_units(results), Axis("disagreement with GD"), marks, title=f"n = {here:,}")
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
    means = [interval(entry(results, n, u, f"{what}/{method}")) for u in units]
    known = [(u, m) for u, m in zip(units, means, strict=True) if m.n]
    places = np.array([u for u, _ in known], dtype=float)
    return Line.through(places, [m for _, m in known], words, colour)


def _printed(n: int, method: int, colour: Colour) -> Line:
    found = {u: row[method] for (points, u), row in PUBLISHED.items() if points == n}
    known = [(u, e) for u, e in sorted(found.items()) if e is not None]
    x, y = (np.array(values, dtype=float) for values in zip(*known, strict=True))
    return Line(x, y, label="published", colour=colour, dashed=True)
