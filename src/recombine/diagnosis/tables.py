"""The tables of a report card."""

from __future__ import annotations

import numpy as np

from recombine import stats
from recombine.diagnosis.reading import Reading
from recombine.studies.results import Results
from recombine.studies.table import Table, Value
from recombine.tasks.sequence import SequenceTask

WORST = 12
"""Combinations listed."""


def accuracies(reading: Reading, results: Results) -> Table:
    """Accuracy on every split, and how far below the reference."""
    rows: list[tuple[Value, ...]] = []
    for name, cell in results.cells.items():
        for split in reading.splits:
            values = reading.accuracy(cell, split)
            gap = None if split == reading.reference else stats.mean(reading.gap(cell, split))
            new = "new" if split in reading.held_out else "trained"
            rows.append((name, split, new, stats.mean(values), float(values.min()), gap))
    return Table(
        id="accuracy",
        title="Accuracy on every split",
        columns=("model", "split", "combinations", "accuracy", "worst seed", "below reference"),
        rows=tuple(rows),
        note=f"Every output right, at the end of training. Reference: {reading.reference}.",
    )


def selection(reading: Reading, results: Results) -> Table:
    """The last network, or the best one in distribution."""
    rows: list[tuple[Value, ...]] = []
    for name, cell in results.cells.items():
        best = reading.best_step(cell)
        steps = cell.steps(f"accuracy/{reading.reference}")
        chosen = f"{int(steps[best].min()):,} to {int(steps[best].max()):,}"
        for split in reading.held_out:
            curve = cell.array(f"accuracy/{split}")
            at_best = curve[np.arange(len(curve)), best]
            rows.append((name, split, stats.mean(curve[:, -1]), stats.mean(at_best), chosen))
    return Table(
        id="selection",
        title="Which network of the training is judged",
        columns=("model", "split", "last", "best in distribution", "chosen at steps"),
        rows=tuple(rows),
        note="Accuracy on new combinations by two rules of choosing among the evaluations.",
    )


def by_factor(reading: Reading, results: Results) -> Table:
    """Accuracy on new combinations by the value of each factor."""
    rows: list[tuple[Value, ...]] = []
    for name, cell in results.cells.items():
        for split in reading.held_out:
            for j, factor in enumerate(reading.task.factors):
                values = reading.by_value(cell, split, j)
                if len(values) > 1:
                    rows += [
                        (name, split, factor.name, value, stats.mean(right))
                        for value, right in values.items()
                    ]
    return Table(
        id="by-factor",
        title="Where it fails: by value of a factor",
        columns=("model", "split", "factor", "value", "accuracy"),
        rows=tuple(rows),
        note="Factors that take one value in a split are left out.",
    )


def combinations(reading: Reading, results: Results) -> Table:
    """The new combinations with the lowest accuracy."""
    rows: list[tuple[Value, ...]] = []
    for name, cell in results.cells.items():
        for split in reading.held_out:
            found, right = reading.by_combination(cell, split)
            order = np.argsort(right.mean(0), kind="stable")[:WORST]
            rows += [
                (name, split, reading.describe(found[at]), stats.mean(right[:, at])) for at in order
            ]
    return Table(
        id="combinations",
        title="Where it fails: the worst combinations",
        columns=("model", "split", "combination", "accuracy"),
        rows=tuple(rows),
        note=f"The {WORST} lowest of each split, of the items that every seed answered.",
    )


def kinds(reading: Reading, results: Results) -> list[Table]:
    """What kind of error the wrong answers are; for sequences only."""
    if not isinstance(reading.task, SequenceTask):
        return []
    rows: list[tuple[Value, ...]] = []
    for name, cell in results.cells.items():
        for split in reading.held_out:
            rows += [
                (name, split, kind, reading.task.kinds[kind], stats.mean(share))
                for kind, share in reading.errors(cell, split).items()
            ]
    return [
        Table(
            id="kinds",
            title="How it fails: kinds of error",
            columns=("model", "split", "kind", "what it means", "share of wrong answers"),
            rows=tuple(rows),
            note="The first kind that fits; seeds without errors count as 0.",
        )
    ]


def item_by_item(reading: Reading, results: Results) -> Table:
    """Two models on the same items."""
    (first, a), (second, b) = results.cells.items()
    rows: list[tuple[Value, ...]] = []
    for split in reading.held_out:
        n = min(a.n, b.n)
        x, y = reading.right(a, split)[:n], reading.right(b, split)[:n]
        shares = ((x & y), (x & ~y), (~x & y), (~x & ~y))
        rows.append((split, *(stats.mean(share.mean(1)) for share in shares)))
    return Table(
        id="items",
        title="Item by item",
        columns=("split", "both right", f"only {first}", f"only {second}", "neither"),
        rows=tuple(rows),
        note="Shares of the items, paired by seed and item.",
    )


def seeds_needed(reading: Reading, results: Results) -> Table:
    """How many seeds would settle whether each gap is real."""
    rows: list[tuple[Value, ...]] = []
    for name, cell in results.cells.items():
        for split in reading.held_out:
            reference = reading.accuracy(cell, reading.reference)
            other = reading.accuracy(cell, split)
            if cell.n < 2:
                rows.append((name, split, cell.n, "not known from one"))
                continue
            needed = stats.seeds_to_separate(reference, other, paired=True)
            rows.append((name, split, cell.n, "a tie" if needed is None else needed))
    return Table(
        id="seeds",
        title="How many seeds a firm conclusion needs",
        columns=("model", "split", "seeds here", "seeds needed"),
        rows=tuple(rows),
        note="To find the gap seen here with power 0.8 in a paired test at 5%.",
    )
