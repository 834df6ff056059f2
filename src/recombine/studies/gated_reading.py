"""Reading results of `gated` that may lack numbers: a problem without a solution leaves a gap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.stats import Interval, Verdict
from recombine.studies.figure import Colour, Line
from recombine.studies.gated_cells import GatedTable
from recombine.studies.gated_relu_cell import GatedReLU
from recombine.studies.results import Results, Seeds
from recombine.theory.max_margin import REASONS

Decide = Callable[[Interval], Verdict]


def trained_on(results: Results, name: str) -> int:
    """How many images a cell was trained on, with whatever `--set` changed in it."""
    cell = results.specs[name]
    assert isinstance(cell, GatedTable | GatedReLU), cell
    return cell.n


def interval(values: Float[np.ndarray, " seed"], level: float = 0.95) -> Interval:
    """The mean over the seeds that have a number; NaN, without an interval, if none has."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Interval(math.nan, math.nan, math.nan, level, 0, "no seed has a number")
    return stats.mean(known, level=level)


def pooled(rows: Iterable[Float[np.ndarray, " seed"]]) -> Float[np.ndarray, " seed"]:
    """The mean over entries, seed by seed, of those that have a number; NaN where none has."""
    table = np.stack(list(rows))
    counts = np.isfinite(table).sum(0)
    sums = np.where(np.isfinite(table), table, 0.0).sum(0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), math.nan)


def missing(cell: Seeds, names: Iterable[str]) -> str:
    """How many seeds have no solution, and why: a cell of a table."""
    words = []
    for name in names:
        reasons = cell.scalar(f"reason/{name}").astype(int)
        for index in sorted(set(reasons.tolist()) - {0}):
            words.append(f"{name}: {int((reasons == index).sum())} of {cell.n}, {REASONS[index]}")
    return "; ".join(words) or "–"


def curve(cell: Seeds, name: str, label: str, colour: Colour, *, shift: float = 0.0) -> Line:
    """A measurement along training, mean and interval over seeds, where any seed has it."""
    values, steps = cell.array(name) + shift, cell.steps(name)
    some = np.isfinite(values).any(0)
    means = [interval(values[:, i]) for i in np.flatnonzero(some)]
    line = Line.through(steps[some].astype(float), means, label, colour)
    if shift and line.low is not None:  # drawn on a log axis: a band must not leave it
        line = replace(line, low=np.maximum(line.low, line.y / 10))
    return line
