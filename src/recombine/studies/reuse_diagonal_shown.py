"""Tables and figures of `reuse/diagonal`: published numbers, exact solutions, trained nets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recombine import stats
from recombine.studies.figure import Axis, Colour, Figure, Line, Mark, Panel, Points
from recombine.studies.results import Results
from recombine.studies.reuse_judging import COLOURS, NAMES, at_size, curve, geometric, losses
from recombine.studies.reuse_sparse import SparseCell
from recombine.studies.table import Table, Value

PUBLISHED: dict[int, dict[str, tuple[float, ...]]] = {
    0: {
        "stl": (0.99, 0.99, 0.97, 0.82, 0.010, 2e-6),
        "ptft": (0.997, 0.996, 0.995, 0.98, 0.097, 6e-6),
    },
    20: {"ptft": (0.97, 0.96, 0.80, 0.41, 2.6e-4, 4e-7)},
    40: {"ptft": (0.66, 0.31, 2.8e-5, 1.9e-7, 1.5e-8)},
}
"""Mean test losses at n = 16 … 512 by overlap: the best along training, not the last."""
PUBLISHED_SIZES = (16, 32, 64, 128, 256, 512)
RESCALED: dict[tuple[str, int], tuple[float, ...]] = {
    ("few-shared", 32): (0.12, 0.006, 0.002),
    ("overlap-40", 32): (0.23, 0.48, 0.66),
    ("few-new", 64): (1.0, 0.21, 0.011),
}
"""Published test losses over variance, by factor."""
PUBLISHED_FACTORS = (1.0, 0.1, 0.01)
CASES = {
    "few-shared": "5 main features, all shared",
    "overlap-40": "40 main features, all shared",
    "few-new": "5 main features, none shared",
}
TRAINED = {
    "shared": "all features shared",
    "new": "no feature shared",
    "few-shared": "few, all shared",
    "few-new": "few, none shared",
}
LOSS = Axis("test loss", scale="log")


def _ran(results: Results, name: str) -> SparseCell:
    """What a cell was, with whatever `--set` changed in it."""
    cell = results.specs[name]
    assert isinstance(cell, SparseCell), cell
    return cell


def overlap_table(results: Results) -> Table:
    """Exact final losses beside the published best ones."""
    ran = _ran(results, "overlap-0")
    rows: list[tuple[Value, ...]] = []
    sizes = [int(n) for n in results["overlap-0"].array("samples")[0]]
    for overlap, methods in PUBLISHED.items():
        for method in ("stl", "ptft"):
            values = losses(results[f"overlap-{overlap}"], method)
            for i, n in enumerate(sizes):
                known = dict(zip(PUBLISHED_SIZES, methods.get(method, ()), strict=False))
                printed = known.get(n)
                said = None if printed is None else f"{printed:.3g}"
                rows.append((overlap, NAMES[method], n, said, stats.mean(values[:, i])))
    return Table(
        id="overlap",
        title="Test loss by overlap and sample size, solved exactly",
        columns=("shared of 40", "method", "n", "published (best on the way)", "ours (final)"),
        rows=tuple(rows),
        where="Diagonal nets, overlap",
        note=f"D = {ran.dimension:,}, {ran.active} active features a task, γ = {ran.gamma:g}. "
        "The published numbers are the best "
        "along training, so never above about 1; ours are where gradient flow ends. With nothing "
        "shared, the end of finetuning is far worse than answering zero at small n.",
    )


def rescaling_table(results: Results) -> Table:
    """What the rescaling of the pretrained layer does."""
    ran = _ran(results, "few-shared")
    rows: list[tuple[Value, ...]] = []
    for (cell, n), printed in RESCALED.items():
        sizes = results[cell].array("samples")[0].tolist()
        at = sizes.index(n) if n in sizes else 1
        for i, (c, said) in enumerate(zip(ran.rescalings, printed, strict=False)):
            values = at_size(results[cell], "ptft", at, rescaling=i)
            known = f"{said:g}" if (c, sizes[at]) == (PUBLISHED_FACTORS[i], n) else None
            row = (CASES[cell], sizes[at], f"{c:g}", known, stats.mean(values))
            rows.append((*row, geometric(values)))
    return Table(
        id="rescaling",
        title="Finetuning after the pretrained layer was multiplied by c",
        columns=("main task", "n", "c", "published", "ours, mean", "ours, geometric mean"),
        rows=tuple(rows),
        where="Diagonal nets, rescaling",
        note=f"Exact solutions, D = {ran.dimension:,}; the readout of finetuning starts at "
        f"{ran.gamma:g} c.",
    )


def trained(results: Results) -> Table:
    """Descent beside the exact end, and the methods that have no exact solution."""
    rows: list[tuple[Value, ...]] = []
    for case, words in TRAINED.items():
        cell, exact = results[f"trained-{case}"], results[f"solved-{case}"]
        for i, n in enumerate(cell.array("samples")[0].tolist()):
            for method, c, name in _methods(_ran(results, f"trained-{case}").rescalings):
                values = losses(cell, method, rescaling=c)[:, i]
                best = geometric(losses(cell, method, of="best", rescaling=c)[:, i])
                known = method in ("stl", "ptft")
                end = geometric(losses(exact, method, rescaling=c)[:, i]) if known else None
                row = (words, n, name, end.estimate if end else None)
                rows.append((*row, geometric(values), best.estimate))
    return Table(
        id="trained",
        title="The same by gradient descent, with multi-task learning and linear probing",
        columns=("main task", "n", "method", "exact end", "descent, final", "best on the way"),
        rows=tuple(rows),
        where="Diagonal nets",
        note="Geometric means over seeds. Descent stops after a fixed number of updates, so that "
        "its losses stay above the exact end where that is tiny.",
    )


def _methods(rescalings: Sequence[float]) -> tuple[tuple[str, int, str], ...]:
    return (
        ("stl", 0, NAMES["stl"]),
        ("ptft", 0, NAMES["ptft"]),
        *(("ptft", i, f"finetuning, c = {c:g}") for i, c in enumerate(rescalings) if i == 1),
        ("mtl", 0, NAMES["mtl"]),
        ("lp", 0, NAMES["lp"]),
    )


def _across(sizes: Sequence[int]) -> Axis:
    return Axis("samples of the main task", scale="log", ticks=tuple(float(n) for n in sizes))


def overlap_figure(results: Results, sizes: Sequence[int]) -> Figure:
    """Exact curves by overlap, with the published points."""
    panels = []
    for overlap, methods in PUBLISHED.items():
        marks: list[Mark] = []
        for method in ("stl", "ptft"):
            values = losses(results[f"overlap-{overlap}"], method)
            name = f"{NAMES[method]}, exact"
            marks.append(curve(sizes, values, label=name, colour=COLOURS[method]))
            if points := methods.get(method):
                x = np.array(PUBLISHED_SIZES[: len(points)], dtype=float)
                label = f"{NAMES[method]}, published"
                marks.append(Points(x, np.array(points), label, COLOURS[method], hollow=True))
        panels.append(Panel(_across(sizes), LOSS, tuple(marks), f"{overlap} of 40 shared"))
    return Figure(
        id="overlap",
        title="How much is shared, and how many samples it saves",
        caption=f"Lines: exact end of gradient flow, D = {_ran(results, 'overlap-0').dimension:,}, "
        "geometric mean over seeds with 95% intervals. Circles: published means of the best loss "
        "along training, which cannot show that irrelevant pretraining ends worse than no answer "
        "at all.",
        where="Diagonal nets, overlap",
        panels=tuple(panels),
        columns=3,
    )


def rescaling_figure(results: Results, sizes: Sequence[int]) -> Figure:
    """Exact curves by rescaling."""
    ran = _ran(results, "few-shared")
    colours: tuple[Colour, ...] = ("first", "second", "third")
    panels = []
    for case, words in CASES.items():
        cell = results[case]
        marks: list[Mark] = [
            curve(sizes, losses(cell, "stl"), label="single task", colour="muted", dashed=True)
        ]
        for i, (c, colour) in enumerate(zip(ran.rescalings, colours, strict=False)):
            values = losses(cell, "ptft", rescaling=i)
            marks.append(curve(sizes, values, label=f"c = {c:g}", colour=colour))
        panels.append(Panel(_across(sizes), LOSS, tuple(marks), words))
    return Figure(
        id="rescaling",
        title="Rescaling the pretrained layer",
        caption=f"Exact solutions, D = {ran.dimension:,}. A smaller c makes finetuning more "
        "selective: better where few of the pretrained features are needed, worse where all are, "
        "and harmless where none is.",
        where="Diagonal nets, rescaling",
        panels=tuple(panels),
        columns=3,
    )


def trained_figure(results: Results, sizes: Sequence[int]) -> Figure:
    """Descent (points) over the exact end (lines), and multi-task learning."""
    panels = []
    for case, words in TRAINED.items():
        cell, exact = results[f"trained-{case}"], results[f"solved-{case}"]
        marks: list[Mark] = []
        for method in ("stl", "ptft"):
            ends = [geometric(column).estimate for column in losses(exact, method).T]
            label = f"{NAMES[method]}, exact"
            line = Line(np.array(sizes, float), np.array(ends), label=label, colour=COLOURS[method])
            means = [geometric(column).estimate for column in losses(cell, method).T]
            name = f"{NAMES[method]}, descent"
            points = Points(np.array(sizes, float), np.array(means), name, COLOURS[method])
            marks += [line, points]
        name = "multi-task, descent"
        marks.append(
            curve(sizes, losses(cell, "mtl"), label=name, colour=COLOURS["mtl"], dashed=True)
        )
        panels.append(Panel(_across(sizes), LOSS, tuple(marks), words))
    return Figure(
        id="trained",
        title="Theory and gradient descent",
        caption="Lines: exact end of gradient flow. Dots: gradient descent, which a fixed number "
        "of updates keeps above the line where the end is tiny. Dashed: multi-task learning, "
        "for which only descent is exact.",
        where="Diagonal nets",
        panels=tuple(panels),
        columns=2,
    )
