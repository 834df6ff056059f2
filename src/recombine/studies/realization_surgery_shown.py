"""Tables and figures of part `realization/surgery`: published beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recombine.studies.figure import Axis, Bars, Figure, Line, Mark, Panel
from recombine.studies.realization_accuracy_shown import at
from recombine.studies.realization_reading import COLOURS, interval
from recombine.studies.realization_surgery_cells import Graft
from recombine.studies.realization_trained import CHOSEN
from recombine.studies.results import Results, Seeds
from recombine.studies.table import Table, Value

PUBLISHED: Mapping[tuple[str, str], str] = {
    ("guided", "alone"): ".82 ± .12",
    ("guided", "encoder"): ".17 ± .11",
    ("guided", "encoder embedding"): ".75 ± .09",
    ("guided", "encoder W_ih"): ".89 ± .05",
    ("guided", "encoder W_hh"): ".79 ± .12",
    ("guided", "decoder"): ".12 ± .05",
    ("guided", "decoder embedding"): ".31 ± .07",
    ("guided", "decoder W_ih"): ".60 ± .08",
    ("guided", "decoder W_hh"): ".91 ± .03",
    ("baseline", "alone"): ".01 ± .02",
    ("baseline", "encoder"): ".02 ± .02",
    ("baseline", "decoder"): ".02 ± .02",
}
"""Table 4: NC, mean and standard deviation of three runs."""
PRINTED: Mapping[tuple[str, str], tuple[float, float]] = {
    place: (float(text.split()[0]), float(text.split()[2])) for place, text in PUBLISHED.items()
}
NEW = "new_compositions"
RULES = ("last", "lowest-dev-loss", "best-dev-accuracy")
ROWS: Mapping[str, tuple[str, ...]] = {
    "guided": (
        "encoder", "encoder embedding", "encoder W_ih", "encoder W_hh", "decoder",
        "decoder embedding", "decoder W_ih", "decoder W_hh",
    ),
    "baseline": ("encoder", "decoder"),
}  # fmt: skip


QUICK = ("encoder", "encoder embedding", "decoder")
"""The rows of the quick scale."""


def together(scale: str, kind: str, grafts: Sequence[Graft]) -> dict[str, tuple[Graft, ...]]:
    """Which exchanges share a cell: at quick scale those that claims rest on, else none."""
    if scale == "quick":
        return {kind: tuple(graft for graft in grafts if graft.label in QUICK)}
    return {f"{kind}, {graft.label}": (graft,) for graft in grafts}


def rows_of(results: Results, kind: str) -> tuple[str, ...]:
    """The rows that were run."""
    return tuple(label for label in ROWS[kind] if results.scale != "quick" or label in QUICK)


def place(results: Results, kind: str, label: str) -> str:
    """The cell that holds a row."""
    return kind if kind in results.cells else f"{kind}, {label}"


def with_alone(results: Results, kind: str, label: str) -> tuple[Seeds, np.ndarray]:
    """A row, and NC of its hosts as they enter, for the seeds that both have."""
    network, row = results.shared(f"{kind} network", place(results, kind, label))
    return row, at(network, NEW, CHOSEN[results.profile])


def _words(kind: str, label: str) -> str:
    return f"{kind} with {'baseline' if kind == 'guided' else 'guided'} {label}"


def tables(results: Results) -> tuple[Table, ...]:
    """Table 4 and section 5.2."""
    return _exchanged(results), _pruned(results)


def figures(results: Results) -> tuple[Figure, ...]:
    """New compositions by row, and along retraining."""
    return _bars(results), _curves(results)


def _exchanged(results: Results) -> Table:
    rows: list[tuple[Value, ...]] = []
    blank: tuple[Value, ...] = (None,) * 5
    for kind in ROWS:
        _, whole = with_alone(results, kind, "encoder")
        rows.append((f"{kind} alone", PUBLISHED[kind, "alone"], interval(whole), *blank))
        for label in rows_of(results, kind):
            cell = results[place(results, kind, label)]
            new = [interval(cell.scalar(f"{label}/{when}/{NEW}")) for when in ("first", *RULES)]
            other = [
                interval(cell.scalar(f"{label}/last/{split}"))
                for split in ("heldout_compositions", "train")
            ]
            words = _words(kind, label)
            rows.append((words, PUBLISHED.get((kind, label)), *new, *other))
    return Table(
        id="exchanged",
        title="Components exchanged, frozen, and the rest trained on",
        columns=(
            "network", "NC, published", "NC, before retraining", "NC, last epoch",
            "NC, lowest validation loss", "NC, best validation accuracy", "HC", "train",
        ),
        rows=tuple(rows),
        where="Table 4",
        note="NC: new compositions; HC: held-out compositions; HC and train after the last epoch. "
        f"Both networks enter with their weights of: {CHOSEN[results.profile]}. Published: mean ± "
        "standard deviation of three runs; ours: mean and 95% interval.",
    )  # fmt: skip


def _pruned(results: Results) -> Table:
    cell = results["pruning"]
    units = round(float(cell.scalar("units").mean()))
    published = {"whole": 0.823, "first": 0.124, CHOSEN[results.profile]: 0.925}
    words = {
        "whole": "whole network",
        "first": f"strongest {units} units of encoder and decoder",
        CHOSEN[results.profile]: "the same, retrained",
    }
    splits = (NEW, "heldout_compositions", "train")
    rows: list[tuple[Value, ...]] = []
    for when, called in words.items():
        found = [interval(cell.scalar(f"{when}/{split}")) for split in splits]
        rows.append((called, published[when], *found))
    return Table(
        id="pruned",
        title="Guided networks, pruned",
        columns=("network", "NC, published", "NC", "HC", "train"),
        rows=tuple(rows),
        where="Section 5.2",
        note="Strength of a unit: the sum of |w| of its cell's weights into and out of it; the "
        "other units are held at zero. Published with 26 of 512 units, 20 epochs of retraining.",
    )


def _bars(results: Results) -> Figure:
    panels, rule = [], CHOSEN[results.profile]
    for kind in ROWS:
        labels = rows_of(results, kind)
        found = [
            interval(results[place(results, kind, label)].scalar(f"{label}/{rule}/{NEW}"))
            for label in labels
        ]
        marks: list[Mark] = [Bars.of(labels, found, f"ours, {kind} host", COLOURS[kind])]
        known = tuple(label for label in labels if (kind, label) in PRINTED)
        values, spread = np.array([PRINTED[kind, label] for label in known]).T
        marks.append(
            Bars(known, values, values - spread, values + spread, "published", colour="muted")
        )
        panels.append(
            Panel(
                Axis(""),
                Axis("accuracy, new compositions", limits=(0.0, 1.05)),
                tuple(marks),
                title=f"{kind} host",
            )
        )
    return Figure(
        id="exchanged",
        title="What a foreign, frozen component costs",
        caption=f"New compositions after retraining the rest (epoch: {rule}); mean and 95% "
        "interval; published: ± standard deviation.",
        where="Table 4",
        panels=tuple(panels),
        columns=1,
    )


def _curves(results: Results) -> Figure:
    panels = []
    for kind, label in (("guided", "encoder"), ("guided", "decoder"), ("baseline", "decoder")):
        cell = results[place(results, kind, label)]
        marks: list[Mark] = [
            _curve(cell, f"{label}/accuracy/{NEW}", "new compositions", "second"),
            _curve(cell, f"{label}/accuracy/train", "train", "first"),
        ]
        panels.append(_panel(marks, _words(kind, label)))
    cell = results["pruning"]
    marks = [
        _curve(cell, f"accuracy/{NEW}", "new compositions", "second"),
        _curve(cell, "accuracy/train", "train", "first"),
    ]
    panels.append(_panel(marks, "guided, pruned"))
    return Figure(
        id="retraining",
        title="Retraining after an operation",
        caption="Accuracy after each epoch; mean of the networks.",
        where="beyond Table 4",
        panels=tuple(panels),
        columns=2,
    )


def _panel(marks: list[Mark], title: str) -> Panel:
    return Panel(
        Axis("epochs of retraining"),
        Axis("accuracy", limits=(0.0, 1.05)),
        tuple(marks),
        title=title,
    )


def _curve(cell: Seeds, name: str, label: str, colour: str) -> Line:
    values = cell.array(name)
    return Line(
        np.arange(values.shape[1]), values.mean(axis=0), label=label,
        colour=colour,  # type: ignore[arg-type]
    )  # fmt: skip
