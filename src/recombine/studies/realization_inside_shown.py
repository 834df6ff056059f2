"""Tables and figures of part `realization/inside`: published beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from recombine.analyses.activations import BINS, NARROW
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
from recombine.studies.realization_looking import CELLS, DRAWN, GATES, MATRICES, ROWS, Row
from recombine.studies.realization_reading import COLOURS, interval
from recombine.studies.realization_trained import KINDS
from recombine.studies.results import Results
from recombine.studies.table import Table, Value

WORDS: Mapping[str, str] = {
    "encoder.state.word": "table, from the encoder's state",
    "decoder.update.word": "table, from the decoder's update gate",
    "decoder.reset.word": "table, from the decoder's reset gate",
    "encoder.state.time": "time step, from the encoder's state",
}
SHORT: Mapping[str, str] = {
    "encoder.state.word": "table, h enc",
    "decoder.update.word": "table, z dec",
    "decoder.reset.word": "table, r dec",
    "encoder.state.time": "time, h enc",
}
PUBLISHED: Mapping[tuple[str, str], tuple[float, float, float]] = {
    ("encoder.state.word", "baseline"): (0.98, 0.93, 35),
    ("encoder.state.word", "guided"): (1.0, 0.98, 2),
    ("decoder.update.word", "baseline"): (0.53, 0.51, 52),
    ("decoder.update.word", "guided"): (1.0, 0.96, 22.2),
    ("decoder.reset.word", "baseline"): (0.52, 0.50, 44),
    ("decoder.reset.word", "guided"): (1.0, 0.96, 20.8),
    ("encoder.state.time", "baseline"): (0.98, 0.95, 40),
    ("encoder.state.time", "guided"): (1.0, 1.0, 2),
}
"""Tables 2 and 3: accuracy with all units, with the functional group, and its units."""
UNTRAINED = "untrained"
"""Networks as they were drawn: what a probe finds where nothing was learned."""
UNITS_DRAWN = 50
"""Figure 3 shows so many units, drawn at random."""


def tables(results: Results) -> tuple[Table, ...]:
    """Every table of the part."""
    return (
        _groups(results, "honest"),
        _groups(results, "as-run"),
        _gates(results),
        _weights(results),
        _activations(results),
    )


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


def _every(results: Results) -> Iterator[tuple[Row, str]]:
    kinds = [kind for kind in (*KINDS, UNTRAINED) if kind in results.cells]
    return ((row, kind) for row in ROWS for kind in kinds)


def _groups(results: Results, variant: str) -> Table:
    rows: list[tuple[Value, ...]] = []
    for row, kind in _every(results):
        name = f"diagnostics/{row.name}.{variant}"
        cell = results[kind]
        full, part, units = PUBLISHED.get((row.name, kind), (None, None, None))
        ours = [interval(cell.scalar(f"{name}/{n}")) for n in ("accuracy", "group_accuracy")]
        line: list[Value] = [WORDS[row.name], kind, full, ours[0], part, ours[1]]
        line += [units, interval(cell.scalar(f"{name}/units"))]
        if variant == "honest":
            line.append(interval(cell.scalar(f"{name}/control")))
            gap = cell.scalar(f"{name}/accuracy") - cell.scalar(f"{name}/control")
            line.append(interval(gap))
        line.append(interval(cell.scalar(f"{name}/strong")))
        rows.append(tuple(line))
    columns = [
        "what is read", "network", "all units, published", "all units", "group, published", "group",
        "units, published", "units",
    ]  # fmt: skip
    if variant == "honest":
        columns += ["control task", "selectivity"]
    return Table(
        id=f"groups-{variant}",
        title="Functional groups, " + ("honest probe" if variant == "honest" else "as run"),
        columns=(*columns, "group among strongest 5%"),
        rows=tuple(rows),
        where="Tables 2 and 3",
        note=NOTES[variant],
    )


NOTES = {
    "honest": "No state is in both training and test data, units are ranked over all classes, "
    "accuracy is balanced over classes (chance: 1/8 for tables). The control task gives each pair "
    "of class and first word a random class: what a probe scores there it has memorised. Untrained "
    "networks (paper scale) show how much of a word any recurrent state carries.",
    "as-run": "Copies of states leak across the random split, units are ranked by the first "
    "class's weights, C = 1. Published: 93% of the units in guided groups are among the strongest.",
}


def _gates(results: Results) -> Table:
    rows: list[tuple[Value, ...]] = []
    for part, gate in GATES:
        high, low = meaning(gate)
        for kind in KINDS:
            cell, name = results[kind], f"gates/{part}.{gate}"
            ends = [interval(cell.array(f"{name}/{side}").mean(1)) for side in (high, low)]
            numbers = [interval(cell.scalar(f"{name}/{n}")) for n in ("saturated", "switching")]
            rows.append((f"{part}, {gate}: {high} or {low}", kind, *ends, *numbers))
    return Table(
        id="gates",
        title="Gates: what happens to the state",
        columns=(
            "gate, and what it does", "network", "kept, used", "overwritten, ignored", "saturated",
            "switching units",
        ),
        rows=tuple(rows),
        where="Figure 4",
        note="Shares of samples, mean over units. Switching: saturated at each end in at least a "
        "tenth of the samples. As run, gates are PyTorch's: a high update gate keeps the state; "
        "the paper reads them by the formula it prints, the other way round.",
    )  # fmt: skip


def _weights(results: Results) -> Table:
    numbers = (
        "mass_senders", "mass_receivers", "inequality_senders", "polarity", "modularity",
        "modularity_beyond", "mean",
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for matrix in MATRICES:
        for kind in KINDS:
            cell = results[kind]
            found = [interval(cell.scalar(f"weights/{matrix}/{n}")) for n in numbers]
            rows.append((matrix, kind, *found))
    return Table(
        id="weights",
        title="Weights: concentration, polarity, modularity",
        columns=(
            "matrix", "network", "mass in top 1% of senders", "of receivers", "Gini of senders",
            "polarity", "modularity", "beyond shuffled", "mean |w|",
        ),
        rows=tuple(rows),
        where="Figures 1 and 2",
        note="Polarity and modularity are of the graph of the strongest 1% of edges. Published as "
        "pictures only.",
    )  # fmt: skip


def _activations(results: Results) -> Table:
    rows: list[tuple[Value, ...]] = []
    for part in CELLS:
        for kind in KINDS:
            cell, name = results[kind], f"activations/{part}.state"
            means = [interval(cell.array(f"{name}/{n}").mean(1)) for n in ("range", "entropy")]
            rows.append((part, kind, *means, interval(cell.scalar(f"{name}/narrow"))))
    return Table(
        id="activations",
        title="Activations: how units use their range",
        columns=("part", "network", "mean range", "mean entropy, bits of 5", "narrow units"),
        rows=tuple(rows),
        where="Figure 3",
        note=f"All units. Narrow: range below {NARROW:g} of what a state can take.",
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
