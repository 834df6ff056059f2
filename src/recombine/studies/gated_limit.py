"""Parts `gated/toy` and `gated/limit`: descent followed until its convex limit shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.models.gated import Gated
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Colour, Contours, Figure, Mark, Panel, Points, Rule
from recombine.studies.gated_cells import Limit
from recombine.studies.gated_data import TOY_UNITS
from recombine.studies.gated_reading import curve, interval, missing
from recombine.studies.results import Results, Seeds
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table, Value
from recombine.theory import gates
from recombine.theory.gated import respond
from recombine.training.normalised import Normalised

NEAR, STATIONARY = 1.04, 0.10
"""The lines of claims T1, L1, L3 and of L4, as their rules state them."""
FAST = 0.5
"""Rate where inputs are short (toy) or layers many: the usual one would be slow for no reason."""
SMALL = 0.01
"""Scale of the first weights: small, so that no unit starts dead or unbalanced by much."""


@dataclass(frozen=True)
class ToyPart(Part):
    """Figure 1."""

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "Two units, four quadrants"
    profiles: ClassVar[tuple[str, ...]] = ("as-printed",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 40, "paper": 40}
    smallest: ClassVar[tuple[str, ...]] = ("training.steps=400",)

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        model = Gated(widths=(TOY_UNITS,), init="normal", scale=SMALL)
        training = Normalised(steps=30_000 if scale == "quick" else 300_000, rate=FAST)
        cell = Limit(problem="toy", points=16, dim=2, model=model, training=training)
        return {"two": Need(cell, range(seeds))}

    def judges(self) -> Mapping[str, Judge]:
        return {"T1": pays_the_least, "T2": looks_like_gln}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return along_training(results, {"two": "two units"})

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (portraits(results["two"]), approach(results, {"two": "two units"}, "toy-approach"))


NETWORKS = {"shallow": "one gated unit", "two": "gated layer, readout", "deep": "two gated layers"}


@dataclass(frozen=True)
class LimitPart(Part):
    """Synthetic points: shallow, two-layer and deeper networks."""

    name: ClassVar[str] = "limit"
    title: ClassVar[str] = "The infinite-time limit"
    profiles: ClassVar[tuple[str, ...]] = ("as-printed",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 10, "paper": 20}
    smallest: ClassVar[tuple[str, ...]] = ("training.steps=400",)

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        training = Normalised(steps=30_000 if scale == "quick" else 300_000)
        models = {
            "shallow": Gated(widths=(), planes=2, init="normal", scale=SMALL),
            "two": Gated(widths=(5,), init="normal", scale=SMALL),
            # A deeper network leaves the saddle at zero only after very long: it starts larger.
            "deep": Gated(widths=(5, 4), init="normal", scale=0.15),
        }
        return {
            name: Need(Limit(model=model, training=_paced(training, model)), range(seeds))
            for name, model in models.items()
        }

    def judges(self) -> Mapping[str, Judge]:
        return {
            "L1": pays_the_least,
            "L2": looks_like_gln,
            "L3": shallow_pays_the_least,
            "L4": is_stationary,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return along_training(results, NETWORKS)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (
            approach(results, {k: NETWORKS[k] for k in ("shallow", "two")}, "approach"),
            stationary(results),
        )


def _paced(training: Normalised, model: Gated) -> Normalised:
    return replace(training, rate=FAST) if model.degree > 2 else training


def pays_the_least(results: Results, level: float) -> Verdict:
    """T1, L1: the norm at margin 1 over the optimum of the cone program."""
    return _settles(results["two"], "ratio", NEAR, level)


def looks_like_gln(results: Results, level: float) -> Verdict:
    """T2, L2: nearer to SVM-GLN than to SVM-L2."""
    cell = results["two"]
    nearer = cell.scalar("cosine/svm") - cell.scalar("cosine/l2")
    return stats.above(interval(nearer, level), 0.0)


def shallow_pays_the_least(results: Results, level: float) -> Verdict:
    """L3: the same for one gated unit."""
    return _settles(results["shallow"], "ratio", NEAR, level)


def is_stationary(results: Results, level: float) -> Verdict:
    """L4: little of the weights is left unexplained by the margins' gradients."""
    return _settles(results["deep"], "residual", STATIONARY, level)


def _settles(cell: Seeds, name: str, line: float, level: float) -> Verdict:
    """Whether a number has come below its line; above it, only one that no longer falls counts."""
    values, steps = cell.array(name), cell.steps(name)
    verdict = stats.below(interval(values[:, -1], level), line)
    tenth = int(np.abs(np.log(steps / (steps[-1] / 10))).argmin())
    fallen = interval(values[:, tenth] - values[:, -1], level)
    if verdict.outcome == "contradicted" and not fallen.below(0.0) and fallen.estimate > 0:
        words = f"{verdict.reason} But it is still falling, by {fallen} over the last decade."
        return replace(verdict, outcome="inconclusive", reason=words)
    return verdict


def along_training(results: Results, networks: Mapping[str, str]) -> tuple[Table, Table]:
    """How near the convex limit is, and how nearly the KKT conditions hold, at a few steps."""
    near: list[tuple[Value, ...]] = []
    conditions: list[tuple[Value, ...]] = []
    for name, words in networks.items():
        cell = results[name]
        steps = cell.steps("margin")
        for i in _shown(steps):
            apart = int((cell.array("least")[:, i] <= 0).sum())
            at: tuple[Value, ...] = (words, int(steps[i]))
            conditions.append((*at, _at(cell, "residual", i), _at(cell, "margin", i), apart))
            if "ratio" in _names(cell):
                names = ("ratio", "cosine/svm", "cosine/l2")
                near.append((*at, *(_at(cell, n, i) for n in names)))
    convex = [results[name] for name in networks if "ratio" in _names(results[name])]
    gap = max(float(cell.scalar("gap/svm").max()) for cell in convex)
    gaps = [words for cell in convex if (words := missing(cell, ["svm"])) != "–"]
    return (
        Table(
            id="along-training",
            title="Along training: how near to the convex limit",
            columns=("network", "step", "norm / optimum", "cosine to limit", "cosine to SVM-L2"),
            rows=tuple(near),
            where="infinite-time limit",
            note="Norm / optimum tends to 1 from above. Limit: a machine per context for one unit, "
            f"SVM-GLN with a readout. Gap of the solver at most {gap:.1e}. No solution: "
            f"{'; '.join(gaps) or 'none'}.",
        ),
        Table(
            id="conditions",
            title="Along training: how nearly the KKT conditions hold",
            columns=("network", "step", "residual", "normalised margin", "seeds not separated"),
            rows=tuple(conditions),
            where="goes beyond the paper",
            note="Residual: the share of the weights left unexplained; seeds that do not separate "
            "their points yet have none.",
        ),
    )


def _shown(steps: np.ndarray) -> list[int]:
    """Which measurements a table shows: about one every decade, and the last."""
    wanted = [s for s in (300, 3_000, 30_000) if s < steps[-1]]
    return sorted({int(np.abs(np.log(steps / s)).argmin()) for s in wanted} | {len(steps) - 1})


def _names(cell: Seeds) -> set[str]:
    first = cell.outcomes[min(cell.outcomes)]
    return {*first.scalars, *first.arrays}


def _at(cell: Seeds, name: str, step: int) -> Value:
    return interval(cell.array(name)[:, step]) if name in _names(cell) else None


def approach(results: Results, networks: Mapping[str, str], name: str) -> Figure:
    """The ratio's distance from 1, and the cosines."""
    colours: tuple[Colour, ...] = ("third", "first")
    pairs = list(zip(networks.items(), colours[-len(networks) :], strict=True))
    ratios: list[Mark] = [
        curve(results[cell], "ratio", words, colour, shift=-1.0) for (cell, words), colour in pairs
    ]
    two = results["two"]
    cosines: tuple[Mark, ...] = (
        curve(two, "cosine/svm", "to SVM-GLN", "first"),
        curve(two, "cosine/l2", "to SVM-L2", "second"),
        Rule(1.0, "y"),
    )
    steps = Axis("step", "log")
    return Figure(
        id=name,
        title="Descent approaches the solution of least norm",
        caption="Left: how much more norm than the optimum of the convex program descent pays for "
        "its margin, as a share; bands are 95% over seeds. Right: likeness of the two-layer "
        "network to its predicted limit, and to the l2 control of the same architecture.",
        panels=(
            Panel(steps, Axis("norm / optimum − 1", "log"), tuple(ratios)),
            Panel(steps, Axis("cosine"), cosines),
        ),
        columns=2,
    )


def stationary(results: Results) -> Figure:
    """The parameter-space statement along training, for all three networks."""
    colours: Mapping[str, Colour] = {"shallow": "third", "two": "first", "deep": "second"}
    panels = []
    for name, label in {"residual": "KKT residual", "margin": "normalised margin"}.items():
        marks = [curve(results[k], name, NETWORKS[k], colour) for k, colour in colours.items()]
        panels.append(Panel(Axis("step", "log"), Axis(label), tuple(marks)))
    return Figure(
        id="stationarity",
        title="Weights become a KKT point, with gates in one layer or two",
        caption="Residual: the share of the weights that no non-negative combination of the "
        "margins' gradients explains. Margin: the smallest margin of the weights at norm 1; "
        "networks of different degree have different units, so compare shapes, not heights.",
        panels=tuple(panels),
        columns=2,
    )


def portraits(cell: Seeds) -> Figure:
    """Figure 1: the boundary of one seed, by descent and by both machines."""
    first = cell.outcomes[min(cell.outcomes)].arrays
    x, y, reach, fine = first["x"], first["y"], 1.5, 121
    side = np.linspace(-reach, reach, fine)
    plane = np.stack([*map(np.ravel, np.meshgrid(side, side)), np.ones(fine**2)], axis=1)
    on = gates.indicators((plane[:, :TOY_UNITS] > 0).astype(np.int64), 2)
    across, up = (
        Axis(name, limits=(-reach, reach), ticks=(-1.0, 0.0, 1.0)) for name in ("x1", "x2")
    )
    panels = []
    names = {"gd": "gradient descent", "svm": "SVM-GLN", "l2": "SVM-L2"}
    for key, words in names.items():
        values = respond(first[f"predictors/{key}"], plane, on).reshape(1, fine, fine)
        marks: list[Mark] = [
            Points(x[y > 0, 0], x[y > 0, 1], "label +1", "first"),
            Points(x[y < 0, 0], x[y < 0, 1], "label −1", "second"),
        ]
        if np.isfinite(values).all():
            marks.append(Contours(values, (-reach, reach, -reach, reach), 0.0, "boundary", "muted"))
        panels.append(Panel(across, up, tuple(marks), title=words, square=True))
    return Figure(
        id="toy-boundaries",
        title="Four effective predictors from two units",
        caption="Unit 1 has a weight vector for each sign of x1, unit 2 for each sign of x2: four "
        "quadrants share four vectors. One draw of the points; descent at its last step beside "
        "its predicted limit and the l2 control.",
        where="Figure 1",
        panels=tuple(panels),
        columns=3,
    )
