"""Tables of part `realization/inside`: published beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recombine.analyses.activations import NARROW
from recombine.analyses.gates import meaning
from recombine.studies.realization_looking import CELLS, GATES, MATRICES, ROWS, Row
from recombine.studies.realization_reading import interval
from recombine.studies.realization_trained import KINDS
from recombine.studies.results import Results
from recombine.studies.table import Table, Value

WORDS: Mapping[str, str] = {
    "encoder.state.word": "table, from the encoder's state",
    "decoder.update.word": "table, from the decoder's update gate",
    "decoder.reset.word": "table, from the decoder's reset gate",
    "encoder.state.time": "time step, from the encoder's state",
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


def tables(results: Results) -> tuple[Table, ...]:
    """Every table of the part."""
    return (
        _groups(results, "honest"),
        _groups(results, "as-run"),
        _gates(results),
        _weights(results),
        _activations(results),
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
