"""Part `gated/relu`: how much of a ReLU network the theory of frozen gates explains.

Three machines know less and less of the trained network: its hidden layer, its gates, and only the
gates it started from. What separates the last two is what learning did to the gates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.models.gated import Gated
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Bars, Figure, Panel
from recombine.studies.gated_digits import BATCH, EPOCHS_AT
from recombine.studies.gated_reading import interval, missing, pooled, trained_on
from recombine.studies.gated_relu_cell import GatedReLU
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table, Value
from recombine.training.normalised import Descent
from recombine.training.optimizers import SGD

FROZEN = 20
"""Quick scale: the width at which networks with frozen gates are trained too."""
SAME = 0.02
"""The line of claim R2, as its rule states it."""
CASES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "quick": ((200, 10), (200, 20), (200, 50)),
    "paper": tuple((n, units) for n in (500, 1000, 2000) for units in (10, 50, 100)),
}
"""Points and units."""
LADDER = {
    "inconsistency/hidden": "hidden layer",
    "inconsistency/learned": "learned contexts",
    "inconsistency/random": "random contexts",
    "independence": "independent errors",
}
PUBLISHED: Mapping[tuple[int, int], tuple[float, str, str, str]] = {
    (500, 10): (0.163, "–", "–", "–"),
    (1000, 10): (0.132, "–", "–", "–"),
    (2000, 10): (0.106, "–", "–", "–"),
    (500, 50): (0.121, "–", ".04–.07", ".07–.115"),
    (1000, 50): (0.085, "–", ".04–.07", ".07–.115"),
    (2000, 50): (0.063, "–", ".04–.07", ".07–.115"),
    (500, 100): (0.114, ".005–.008", "–", "–"),
    (1000, 100): (0.076, ".005–.008", "–", "–"),
    (2000, 100): (0.055, ".005–.008", "–", "–"),
}
"""MNIST by points and units: GD's error, and the inconsistency of the three machines."""


@dataclass(frozen=True)
class ReLUPart(Part):
    """ReLU networks, momentum .9."""

    name: ClassVar[str] = "relu"
    title: ClassVar[str] = "ReLU networks and frozen gates"
    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 8, "paper": 5}
    smallest: ClassVar[tuple[str, ...]] = ("training.steps=20", "n=40")

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        return {
            f"relu-{n}-{units}": Need(self._cell(scale, n, units), range(seeds))
            for n, units in CASES[scale]
        }

    def judges(self) -> Mapping[str, Judge]:
        return {"R1": knows_more_agrees_more, "R2": readout_is_a_machine}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return *ladder(results), frozen(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (steps(results),)

    def _cell(self, scale: str, n: int, units: int) -> GatedReLU:
        model, optimizer = Gated(widths=(units,), gates="relu"), SGD(rate=0.04, momentum=0.9)
        if scale == "quick":
            training = Descent(optimizer=optimizer)
            return GatedReLU(n=n, model=model, training=training, frozen=units == FROZEN)
        count = 200 * EPOCHS_AT // n * (n // BATCH)
        training = Descent(steps=count, batch=BATCH, optimizer=optimizer)
        return GatedReLU(
            source="mnist-60k", n=n, model=model, training=training, together=1, frozen=True
        )


def _pooled(results: Results, a: str, b: str | None = None) -> Float[np.ndarray, " seed"]:
    """The mean over entries of a, or of a − b where both have a number, a number a seed."""
    cells = [results[f"relu-{n}-{units}"] for n, units in CASES[results.scale]]
    return pooled(c.scalar(a) - (c.scalar(b) if b else 0.0) for c in cells)


def knows_more_agrees_more(results: Results, level: float) -> Verdict:
    """R1: every rung of the ladder disagrees more than the one before; the weakest rung decides."""
    verdicts = [
        stats.above(interval(_pooled(results, more, less), level), 0.0)
        for less, more in pairwise(LADDER)
    ]
    order = ("contradicted", "inconclusive", "reproduced")
    return min(verdicts, key=lambda v: (order.index(v.outcome), v.effect))


def readout_is_a_machine(results: Results, level: float) -> Verdict:
    """R2: the hidden-layer machine and the network answer alike."""
    return stats.below(interval(_pooled(results, "inconsistency/hidden"), level), SAME)


def ladder(results: Results) -> tuple[Table, Table]:
    """Disagreement of each machine with the network, published beside ours; and the networks."""
    rungs: list[tuple[Value, ...]] = []
    networks: list[tuple[Value, ...]] = []
    for n, units in CASES[results.scale]:
        cell = results[f"relu-{n}-{units}"]
        here = trained_on(results, f"relu-{n}-{units}")
        error, *printed = PUBLISHED.get((here, units), (None, "–", "–", "–"))
        row: list[Value] = [f"{here:,} images", units]
        for name, published in zip(LADDER, [*printed, None], strict=True):
            row += [interval(cell.scalar(name))] + ([published] if published else [])
        rungs.append(tuple(row))
        ours = interval(cell.scalar("error/gd"))
        moved = interval(cell.scalar("gates moved"))
        gaps = missing(cell, ("hidden", "learned", "random"))
        networks.append((f"{here:,} images", units, error, ours, moved, gaps))
    quick = results.scale == "quick"
    images = "8 × 8 digits; published numbers are for MNIST" if quick else "MNIST"
    where = "ReLU networks on MNIST, momentum .9"
    return (
        Table(
            id="ladder",
            title="Share of images on which a machine and the ReLU network disagree",
            columns=(
                "trained on", "units", "hidden layer", "published", "learned contexts", "published",
                "random contexts", "published", "2p(1 − p)",
            ),
            rows=tuple(rungs),
            where=where,
            note="Machines: a support vector machine on the hidden layer; SVM-GLN with the trained "
            f"gates; SVM-GLN with the first gates; off units are silent. Ours: {images}.",
        ),
        Table(
            id="networks",
            title="The ReLU networks",
            columns=(
                "trained on", "units", "error, published", "error", "gates moved", "no solution",
            ),
            rows=tuple(networks),
            where=where,
            note="Gates moved: share of (point, unit) pairs whose gate training flipped. A point "
            f"that switches every unit off leaves a machine without a solution. Ours: {images}.",
        ),
    )  # fmt: skip


def frozen(results: Results) -> Table:
    """Networks whose gates stay put, and what gates alone can tell."""
    rows: list[tuple[Value, ...]] = []
    for n, units in CASES[results.scale]:
        cell = results[f"relu-{n}-{units}"]
        if "error/frozen-learned" not in cell.outcomes[min(cell.outcomes)].scalars:
            continue
        here = trained_on(results, f"relu-{n}-{units}")
        row: list[Value] = [f"{here:,} images", units, interval(cell.scalar("error/gd"))]
        for name in ("learned", "random"):
            row += [
                interval(cell.scalar(f"error/frozen-{name}")),
                interval(cell.scalar(f"error/{name}")),
                interval(cell.scalar(f"inconsistency/frozen-{name}")),
            ]
        rows.append((*row, interval(cell.scalar("error/gates"))))
    return Table(
        id="frozen",
        title="Networks trained with frozen gates, and their own machines: errors",
        columns=(
            "trained on", "units", "ReLU", "learned gates, frozen", "their machine", "they differ",
            "first gates, frozen", "their machine", "they differ", "gates only",
        ),
        rows=tuple(rows),
        where="ReLU networks on MNIST; frozen training goes beyond the paper",
        note="Frozen: the same first weights and training, gates fixed where the ReLU network's "
        "training left them, or at the first weights. They differ: share of images on which the "
        "frozen network and its machine answer differently. Gates only: least squares on which "
        "trained gates are open; published about .25–.33 on MNIST, how it was fitted is not known "
        "to us.",
    )  # fmt: skip


def steps(results: Results) -> Figure:
    """The ladder as bars, a panel an entry."""
    panels = []
    for n, units in CASES[results.scale]:
        cell = results[f"relu-{n}-{units}"]
        rungs = [(words, interval(cell.scalar(name))) for name, words in LADDER.items()]
        known = [(words, m) for words, m in rungs if m.n]
        bars = Bars.of((words for words, _ in known), [m for _, m in known])
        title = f"n = {trained_on(results, f'relu-{n}-{units}'):,}, {units} units"
        panels.append(Panel(Axis(""), Axis("disagreement with the network"), (bars,), title=title))
    return Figure(
        id="ladder",
        title="The more a machine knows of the gates, the more it agrees",
        caption="Share of validation images on which a machine and the ReLU network differ; mean "
        "and 95% interval over seeds. Independent errors: what two unrelated classifiers of the "
        "same error would give.",
        where="ReLU networks on MNIST",
        panels=tuple(panels),
        columns=3,
    )
