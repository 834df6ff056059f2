"""A made-up finding with every kind of mark, cell and verdict, for the tests of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recombine.stats import Interval, Verdict, above, mean, share
from recombine.studies import Claim, Figure, Finding, Need, Part, Results, Study, Table
from recombine.studies.figure import (
    Axis,
    Bars,
    Contours,
    Heat,
    Histogram,
    Line,
    Map,
    Network,
    Panel,
    Points,
    Rule,
)
from recombine.studies.study import Judge

EXTENT = (-2.0, 2.0, -2.0, 2.0)
PLANE = (
    Axis("X1", limits=(-2.0, 2.0), ticks=(-2.0, 0.0, 2.0)),
    Axis("X2", limits=(-2.0, 2.0), ticks=(-2.0, 0.0, 2.0)),
)
EVIL = "<script>alert('x')</script> & \"more\""


@dataclass(frozen=True)
class Corners(Part):
    """A part without cells: what it shows is written out below."""

    name: ClassVar[str] = "corners"
    title: ClassVar[str] = "Three corners of a square, and the fourth"
    profiles: ClassVar[tuple[str, ...]] = ("as-printed", "as-run")
    seeds: ClassVar[Mapping[str, int]] = {"quick": 100, "paper": 1000}

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        return {}

    def judges(self) -> Mapping[str, Judge]:
        return {}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (table(),)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return data(), along_training(), many_boundaries(), distributions(), curves(), bars()


def smooth(count: int, side: int = 33, seed: int = 0) -> np.ndarray:
    """Maps with boundaries that differ smoothly from one to the next."""
    draw = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(-2, 2, side), np.linspace(-2, 2, side))
    slope, bend, shift = draw.normal(size=(3, count, 1, 1))
    score = 3 * (x + 0.4 * slope * y + 0.25 * bend * np.sin(2 * y) - 0.4 * shift)
    return 1 / (1 + np.exp(-score))


def data() -> Figure:
    draw = np.random.default_rng(1)

    def corner(x: float, y: float, n: int) -> tuple[np.ndarray, np.ndarray]:
        return x * draw.uniform(0.05, 2, n), y * draw.uniform(0.05, 2, n)

    marks = (
        Points(*corner(-1, 1, 60), label="trained, Y1 = 0", colour="first"),
        Points(*corner(1, -1, 60), label="trained, Y1 = 1", colour="second"),
        Points(*corner(1, 1, 40), label="unseen, Y1 = 1", colour="second", hollow=True),
        Points(*corner(-1, -1, 20), label=EVIL, colour="third"),
    )
    return Figure(
        id="data",
        title="Three corners are trained on, the fourth is asked",
        caption="Y1 is the sign of X1. X2 helps to guess it in training and misleads after.",
        panels=(Panel(*PLANE, marks, square=True),),
        where="Figure 4",
    )


def along_training() -> Figure:
    maps = smooth(7, seed=2)
    panels = tuple(
        Panel(*PLANE, (Map(m, EXTENT, "P(Y1 = 1)"), Contours(m[None], EXTENT)),
              title=f"step {10**i:,}", square=True)
        for i, m in enumerate(maps)
    )  # fmt: skip
    return Figure(
        id="along-training",
        title="The boundary of one seed along training",
        caption="P(Y1 = 1) over the plane and the line where it is one half.",
        panels=panels,
        where="Figure 5",
    )


def many_boundaries(count: int = 200) -> Figure:
    maps = smooth(count, seed=3)
    return Figure(
        id="many-boundaries",
        title="The boundaries of many seeds at the end of training",
        caption=f"Nine seeds, {count} seeds, and the share of seeds that answer Y1 = 1.",
        panels=(
            Panel(*PLANE, (Contours(maps[:9], EXTENT, label="one line a seed"),),
                  title="nine seeds", square=True),
            Panel(*PLANE, (Contours(maps, EXTENT, label="one line a seed"),),
                  title="many seeds", square=True),
            Panel(*PLANE, (Map((maps > 0.5).mean(0), EXTENT, "share of seeds with Y1 = 1"),),
                  title="all seeds", square=True),
        ),
        where="Figure 6",
        columns=3,
    )  # fmt: skip


def distributions() -> Figure:
    draw = np.random.default_rng(4)
    bins = np.linspace(0, 1, 41)
    marks = (
        Histogram(draw.beta(5, 5, 1000), bins, "three corners (1,000 seeds)"),
        Histogram(draw.beta(80, 2, 1000), bins, "control: all four (1,000 seeds)", "muted"),
        Rule(1.0, "x", "composes"),
        Rule(0.5, "x", "chance"),
    )
    angles = np.linspace(0, 90, 31)
    others = (
        Histogram(draw.normal(50, 12, 1000), angles, "three corners (1,000 seeds)"),
        Rule(90.0, "x", "composes"),
        Rule(0.08, "y", "a share to compare with"),
    )
    shares = Axis("share of seeds")
    return Figure(
        id="distributions",
        title="How badly, and for how many seeds",
        caption="Accuracy on the unseen corner and the angle of the boundary, over all seeds.",
        panels=(
            Panel(
                Axis("accuracy on the unseen corner", limits=(0.0, 1.0)), shares, marks, "accuracy"
            ),
            Panel(Axis("angle (degrees)", limits=(0.0, 90.0)), shares, others, "angle"),
        ),
        columns=2,
    )


def curves() -> Figure:
    steps = np.array([0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000])

    def line(rate: float, label: str, colour: str, dashed: bool = False) -> Line:
        y = 1 - np.exp(-steps / rate)
        return Line(steps, y, y - 0.06, y + 0.06, label, colour, dashed)  # type: ignore[arg-type]

    one = (
        line(30, "on Y1, its own factor", "first"),
        line(300, "on Y2, redundant", "second"),
        line(2000, "on Y2, control", "muted", dashed=True),
        line(90, "a third estimator", "third"),
        line(900, "a fourth", "fourth"),
    )
    x = Axis("step", scale="symlog", limits=(0.0, 5000.0))
    fine = np.array([0.5, 0.2, 0.05, 0.01, 0.002, np.nan, 0.0004])
    two = (Line(np.array([1, 10, 100, 1e3, 1e4, 1e5, 1e6]), fine, label="on Y1, its own factor"),)
    titles = (
        "intervention: predictions that flip",
        "gradient, a long title that will not fit into one line of a panel",
    )
    return Figure(
        id="curves",
        title="How much the prediction leans on each factor, over training",
        caption="Mean over seeds with 95% intervals.",
        panels=(
            Panel(x, Axis("share"), one, titles[0]),
            Panel(Axis("n", scale="log"), Axis("‖∂p/∂x‖", scale="log"), two, titles[1]),
        ),
        columns=2,
    )


def bars() -> Figure:
    names = ("LSTM", "GRU with attention", "transformer", "guided GRU")
    y = np.array([0.31, 0.52, 0.78, 0.97])
    ours = Bars(names, y, y - 0.05, np.minimum(y + 0.05, 1), "ours", "first")
    theirs = Bars(names[:3], y[:3] - 0.1, y[:3] - 0.2, y[:3], "as printed", "second")
    marks = (ours, theirs, Rule(1 / 3, "y", "chance"))
    return Figure(
        id="bars",
        title="Accuracy by model",
        caption="Mean over 30 seeds with 95% intervals; published beside ours.",
        panels=(Panel(Axis("model"), Axis("accuracy", limits=(0.0, 1.0)), marks),),
    )


def matrix() -> Figure:
    """A heat map of signed and of positive numbers, and a graph of the strongest of them."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((6, 40))
    angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    edges = rng.integers(0, 30, (60, 2))
    unmarked = Axis("", ticks=())
    return Figure(
        id="matrix",
        title="A matrix in two forms",
        caption="Heat and a network.",
        panels=(
            Panel(Axis("column"), Axis("row"), (Heat(values, -3.0, 3.0, "weight"),)),
            Panel(Axis("column"), Axis("row"), (Heat(np.abs(values), 0.0, 3.0, "size"),)),
            Panel(
                unmarked,
                unmarked,
                (Network(places, edges, rng.standard_normal(60), "weight above, below 0"),),
                square=True,
            ),
        ),
        columns=3,
    )


def table() -> Table:
    values = np.linspace(0.2, 0.8, 30)
    return Table(
        id="unseen-corner",
        title="The unseen corner, over seeds",
        columns=("quantity", "published", "ours", "seeds"),
        rows=(
            ("accuracy on the unseen corner, mean", None, mean(values), 30),
            ("accuracy on the three trained corners when everything is said at length", 0.99,
             mean(values**0.1), 1000),
            ("angle of the boundary", "about 45°", mean(values * 90), 30),
            ("share of seeds that err on more than 5%", float("nan"), share(29, 30), 30),
            ("one seed only", -1.5, Interval(0.25, np.nan, np.nan, 0.95, 1, "none"), 1),
            (EVIL, 1e-7, None, 12345),
        ),
        where="Experiment 3, Figures 5 and 6",
        note="Intervals are 95%, Wilson for shares, bootstrap otherwise.",
    )  # fmt: skip


def claims() -> tuple[tuple[Claim, Verdict], ...]:
    long = (
        "After training, the boundary cuts through the unseen quadrant: the model errs on a "
        "large share of it, for nearly all random initialisations, and goes on doing so "
    )
    rule = "mean error above 0.20 (the interval over seeds lies wholly above it)"
    spread = np.linspace(0.3, 0.7, 30)
    made = []
    for number, threshold in enumerate((0.2, 0.9, 0.5), start=1):
        claim = Claim(
            id=f"D{number}",
            part="corners",
            statement=long * number + f"({number}).",
            where="Experiment 3, Figure 5",
            published="shown as one picture; no number is printed",
            rule=rule,
            caveat="" if number == 1 else f"0.20 is our line. {EVIL}",
        )
        made.append((claim, above(mean(spread), threshold)))
    return tuple(made)


STUDY = Study(
    name="gradient",
    title="Gradient Descent Resists Compositionality",
    authors="Yuanpeng Li",
    year=2022,
    question="Does gradient descent come to use inputs that a compositional solution ignores?",
    claims=tuple(claim for claim, _ in claims()),
    parts=(Corners(),),
)


def finding(*, scale: str = "quick", profile: str = "as-printed", study: Study = STUDY) -> Finding:
    return Finding(
        study=study,
        part=study.parts[0],
        scale=scale,
        profile=profile,
        seeds=1000,
        claims=claims(),
        results=Results(scale, profile, {}),
        command=f"recombine reproduce gradient/corners --scale {scale} --profile {profile}",
        made_with={"recombine": "0.1.0", "torch": "2.13.0", "machine": "x86_64, 2 cores"},
    )  # fmt: skip
