"""Figures of part `realization/inside`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recombine.analyses.activations import BINS
from recombine.analyses.gates import meaning
from recombine.seeds import stream
from recombine.studies.figure import (
    Axis,
    Bars,
    Figure,
    Heat,
    Histogram,
    Mark,
    Network,
    Panel,
    Points,
)
from recombine.studies.realization_looking import CELLS, DRAWN, GATES, ROWS
from recombine.studies.realization_reading import COLOURS, interval
from recombine.studies.realization_trained import KINDS
from recombine.studies.results import Results

SHORT: Mapping[str, str] = {
    "encoder.state.word": "table, h enc",
    "decoder.update.word": "table, z dec",
    "decoder.reset.word": "table, r dec",
    "encoder.state.time": "time, h enc",
}
UNITS_DRAWN = 50
"""Figure 3 shows so many units, drawn at random."""


def figures(results: Results) -> tuple[Figure, ...]:
    """Every figure of the part."""
    return (
        _group_sizes(results),
        _embedding(results),
        _graphs(results),
        _distributions(results),
        _ranges(results),
        _saturation(results),
    )


def _group_sizes(results: Results) -> Figure:
    panels = []
    for variant in ("honest", "as-run"):
        marks: list[Mark] = []
        for kind in KINDS:
            sizes = [
                interval(results[kind].scalar(f"diagnostics/{row.name}.{variant}/units"))
                for row in ROWS
            ]
            marks.append(
                Bars(
                    tuple(SHORT[row.name] for row in ROWS),
                    np.array([s.estimate for s in sizes]),
                    np.array([max(s.low, 0.0) for s in sizes]),
                    np.array([s.high for s in sizes]),
                    label=kind,
                    colour=COLOURS[kind],
                )
            )
        panels.append(Panel(Axis(""), Axis("units in the group"), tuple(marks), title=variant))
    return Figure(
        id="group-sizes",
        title="How many units it takes to know the table, and the time step",
        caption="Size of the functional group: units, strongest first, until the probe has 95% of "
        "its accuracy with all units. Mean and 95% interval over networks. A group is small also "
        "where there is little to know: see the accuracies in the tables.",
        where="Tables 2 and 3",
        panels=tuple(panels),
        columns=2,
    )


def _embedding(results: Results) -> Figure:
    shown = {kind: np.abs(results[kind].array("picture/decoder embedding")[0]) for kind in KINDS}
    high = float(f"{max(np.quantile(matrix, 0.995) for matrix in shown.values()):.1g}")
    panels = tuple(
        Panel(
            Axis("dimension"),
            Axis("target word"),
            (Heat(shown[kind].astype(float), 0.0, high, label="|weight|"),),
            title=kind,
        )
        for kind in KINDS
    )
    return Figure(
        id="decoder-embedding",
        title="The decoder's embedding",
        caption="Size of the weights of each target word, first seed. Words that are never fed "
        "back keep their initial values.",
        where="Figure 1",
        panels=panels,
        columns=2,
    )


def _graphs(results: Results) -> Figure:
    unmarked = Axis("", limits=(-1.08, 1.08), ticks=())
    panels = []
    for name in DRAWN:
        for kind in KINDS:
            cell = results[kind]
            places = cell.array(f"picture/{name}/places")[0].astype(float)
            mark = Network(
                places[np.isfinite(places[:, 0])],
                cell.array(f"picture/{name}/edges")[0],
                cell.array(f"picture/{name}/weights")[0].astype(float),
                label="weight above, below 0",
            )
            panels.append(Panel(unmarked, unmarked, (mark,), title=f"{kind}, {name}", square=True))
    return Figure(
        id="weight-graphs",
        title="The strongest hundredth of the weights, as graphs",
        caption="First seed. Nodes are neurons that have such a weight, larger the more of them "
        "they have; isolated ones are left out. Numbers are in the table of weights.",
        where="Figure 2",
        panels=tuple(panels),
        columns=2,
    )


def _distributions(results: Results) -> Figure:
    panels = []
    for part in CELLS:
        for kind in KINDS:
            shares = results[kind].array(f"activations/{part}.state/shares")[0]
            units = stream(0, "units").permutation(len(shares))[:UNITS_DRAWN]
            chosen = shares[units]
            middle = chosen @ ((np.arange(BINS) + 0.5) / BINS)
            picture = chosen[np.argsort(middle, kind="stable")].T[::-1]
            panels.append(
                Panel(
                    Axis("unit, in order of its mean"),
                    Axis("state, from −1 (below) to 1", ticks=()),
                    (Heat(picture.astype(float), 0.0, 0.5, label="share of samples"),),
                    title=f"{kind}, {part}",
                )
            )
    return Figure(
        id="activation-distributions",
        title=f"What {UNITS_DRAWN} random units do",
        caption="Each column is a unit of the first seed: the distribution of its state over all "
        "sequences and steps. A dark cell is a unit that hardly moves.",
        where="Figure 3",
        panels=tuple(panels),
        columns=2,
    )


def _ranges(results: Results) -> Figure:
    bins = np.linspace(0.0, 1.0, 26)
    panels = tuple(
        Panel(
            Axis("range of a unit, as a share of what it can take"),
            Axis("share of units"),
            tuple(
                Histogram(
                    results[kind].array(f"activations/{part}.state/range").ravel().astype(float),
                    bins,
                    label=kind,
                    colour=COLOURS[kind],
                )
                for kind in KINDS
            ),
            title=part,
        )
        for part in CELLS
    )
    return Figure(
        id="activation-ranges",
        title="How much of their range units use",
        caption="All units of all networks.",
        where="beyond Figure 3",
        panels=panels,
        columns=2,
    )


def _saturation(results: Results) -> Figure:
    panels = []
    for part, gate in GATES:
        high, low = meaning(gate)
        marks: list[Mark] = [
            Points(
                results[kind].array(f"gates/{part}.{gate}/{low}")[0].astype(float),
                results[kind].array(f"gates/{part}.{gate}/{high}")[0].astype(float),
                label=kind,
                colour=COLOURS[kind],
            )
            for kind in KINDS
        ]
        panels.append(
            Panel(
                Axis(f"share of samples: {low}", limits=(-0.02, 1.02)),
                Axis(f"share: {high}", limits=(-0.02, 1.02)),
                tuple(marks),
                title=f"{part}, {gate} gate",
            )
        )
    return Figure(
        id="gate-saturation",
        title="What gates do to the state",
        caption="Each point is a unit of the first seed. Samples in which the gate is above .9 or "
        "below .1, said as what happens to the state; on the falling diagonal a unit is always "
        "saturated.",
        where="Figure 4",
        panels=tuple(panels),
        columns=2,
    )
