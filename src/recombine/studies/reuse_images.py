"""Part `reuse/images`: a small residual network on images, and what rescaling keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Colour, Figure, Line, Mark, Panel
from recombine.studies.results import Results
from recombine.studies.reuse_images_cell import ImageReuse
from recombine.studies.study import Judge, Need, Part, Runs
from recombine.studies.table import Table, Value
from recombine.training.optimizers import SGD

FACTORS: Mapping[str, tuple[float, ...]] = {"quick": (1.0, 0.25), "paper": (1.0, 0.5, 0.25, 0.125)}
SOURCES = {"small": "8 × 8 digits", "cifar10": "CIFAR-10"}
SMALL = 0.25
"""The rescaling that the claims are about; best but one of the published."""
PUBLISHED: Mapping[str, Mapping[int, float]] = {
    "stl": {10: 0.477, 20: 0.486, 50: 0.450, 100: 0.412, 200: 0.264, 500: 0.176, 1000: 0.143},
    "mtl": {10: 0.383, 20: 0.356, 50: 0.314, 100: 0.274, 200: 0.214, 500: 0.179, 1000: 0.149},
    "ptft-1": {10: 0.387, 20: 0.364, 50: 0.276, 100: 0.216, 200: 0.161, 500: 0.123, 1000: 0.103},
    "ptft-0.5": {10: 0.461, 20: 0.423, 50: 0.299, 100: 0.219, 200: 0.153, 500: 0.114, 1000: 0.091},
    "ptft-0.25": {10: 0.317, 20: 0.259, 50: 0.214, 100: 0.186, 200: 0.141, 500: 0.108, 1000: 0.084},
    "ptft-0.125": {
        10: 0.314, 20: 0.259, 50: 0.210, 100: 0.178, 200: 0.136, 500: 0.099, 1000: 0.086,
    },
}  # fmt: skip
"""Errors of ResNet-18 on two against 98 classes of CIFAR-100."""


@dataclass(frozen=True)
class ImagesPart(Part):
    """A reduced form of the paper's image experiment."""

    name: ClassVar[str] = "images"
    title: ClassVar[str] = "A residual network on images"
    profiles: ClassVar[tuple[str, ...]] = ("reduced",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 3, "paper": 5}
    runs: ClassVar[Runs] = "with its study"
    smallest: ClassVar[tuple[str, ...]] = ("steps=3", "pretrain_steps=3", "samples=[10, 40]")

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        cell = ImageReuse(rescalings=FACTORS["quick"])
        if scale == "paper":
            cell = ImageReuse(
                source="cifar10",
                widths=(16, 32, 64),
                aux_samples=8_000,
                samples=(20, 100, 500),
                rescalings=FACTORS["paper"],
                optimizer=SGD(rate=0.02, momentum=0.9),
                pretrain_steps=1_000,
                steps=400,
            )
        return {"images": Need(cell, range(seeds))}

    def judges(self) -> Mapping[str, Judge]:
        return {"I1": after_beats_together, "I2": rescaling_helps, "I3": fewer_directions}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (errors_table(results),)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (images_figure(results),)


def _array(results: Results, kind: str, method: str) -> np.ndarray:
    """A number [seed, size] of a method."""
    return np.asarray(results["images"].array(f"{kind}/{method}"), dtype=float)


def after_beats_together(results: Results, level: float) -> Verdict:
    """I1: with the most samples, finetuning errs less than multi-task learning."""
    gain = _array(results, "error", "mtl")[:, -1] - _array(results, "error", "ptft-1")[:, -1]
    return stats.above(stats.mean(gain, level=level), 0.0)


def rescaling_helps(results: Results, level: float) -> Verdict:
    """I2: a smaller pretrained network errs less after finetuning, mean over sizes."""
    gain = _array(results, "error", "ptft-1") - _array(results, "error", f"ptft-{SMALL:g}")
    return stats.above(stats.mean(gain.mean(1), level=level), 0.0)


def fewer_directions(results: Results, level: float) -> Verdict:
    """I3: it then uses fewer directions of its features, mean over sizes."""
    drop = _array(results, "pr", "ptft-1") - _array(results, "pr", f"ptft-{SMALL:g}")
    return stats.above(stats.mean(drop.mean(1), level=level), 0.0)


def _ran(results: Results) -> ImageReuse:
    """What was run, with whatever `--set` changed in it."""
    cell = results.specs["images"]
    assert isinstance(cell, ImageReuse), cell
    return cell


def _methods(results: Results) -> dict[str, str]:
    tuned = {f"ptft-{c:g}": f"finetuning, c = {c:g}" for c in _ran(results).rescalings}
    return {"stl": "single task", "mtl": "multi-task", **tuned}


def errors_table(results: Results) -> Table:
    """Errors and dimensions by method and size."""
    rows: list[tuple[Value, ...]] = []
    sizes = results["images"].array("samples")[0].tolist()
    for method, words in _methods(results).items():
        for i, n in enumerate(sizes):
            said = PUBLISHED.get(method, {}).get(n) if results.scale == "paper" else None
            kinds = ("error", "loss", "pr", "ensd")
            found = [stats.mean(_array(results, kind, method)[:, i]) for kind in kinds]
            rows.append((words, n, said, *found))
    before = stats.mean(results["images"].scalar("pr/pretrained"))
    return Table(
        id="errors",
        title="Errors, and how many directions of the features are used and kept",
        columns=("method", "n", "error, published", "error", "train loss", "PR", "ENSD"),
        rows=tuple(rows),
        where="ResNet-18 on CIFAR-100: two classes against 98",
        note=f"Ours: {_images(results)}. PR: participation ratio of the features of test images; "
        f"{before} after pretraining. ENSD: directions shared with the pretrained features.",
    )


def _images(results: Results) -> str:
    ran = _ran(results)
    widths = ", ".join(str(width) for width in ran.widths)
    return f"{SOURCES[ran.source]}, two against eight classes, blocks of {widths} channels"


def images_figure(results: Results) -> Figure:
    """Errors and directions against the number of samples."""
    sizes = results["images"].array("samples")[0].astype(float)
    colours: Mapping[str, Colour] = {
        "stl": "muted", "mtl": "second", "ptft-1": "first", f"ptft-{SMALL:g}": "third",
    }  # fmt: skip
    words = _methods(results)
    across = Axis("samples of the main task", "log", ticks=tuple(sizes.tolist()))
    panels = []
    for kind, label in {"error": "error", "pr": "participation ratio"}.items():
        marks: list[Mark] = []
        for method, colour in colours.items():
            if method not in words:
                continue
            spans = [stats.mean(column) for column in _array(results, kind, method).T]
            y, low, high = (
                np.array([getattr(span, name) for span in spans], dtype=float)
                for name in ("estimate", "low", "high")
            )
            band = (low, high) if np.isfinite(low).all() else (y, y)
            marks.append(Line(sizes, y, *band, label=words[method], colour=colour))
        panels.append(Panel(across, Axis(label), tuple(marks)))
    return Figure(
        id="images",
        title="Finetuning a residual network, as it is and made smaller",
        caption=f"Mean over seeds with 95% intervals. {_images(results)}.",
        where="ResNet-18 on CIFAR-100",
        panels=tuple(panels),
        columns=2,
    )
