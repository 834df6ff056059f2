"""How the results of `spans` are read: probabilities by phrase, curves over epochs, acquisition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.studies.figure import Colour, Line
from recombine.studies.results import Results, Seeds
from recombine.studies.spans_cells import SpansRun

COLOURS: tuple[Colour, ...] = ("first", "second", "third", "fourth", "muted")


def ran(results: Results, name: str) -> SpansRun:
    """What a cell was, with whatever `--set` changed in it."""
    cell = results.specs[name]
    assert isinstance(cell, SpansRun), cell
    return cell


def state(results: Results) -> int:
    """Which state a profile scores: 0 before ω is read, 1 after it."""
    return 1 if results.profile == "as-run" else 0


def final(
    cell: Seeds, results: Results, *, test: str = "fresh"
) -> Float[np.ndarray, "seed phrase"]:
    """P(ω | phrase) at the end: α with 0 … k symbols, then the conduit alone."""
    return np.asarray(cell.array(f"final/p/{test}")[..., state(results)])


def over_epochs(
    cell: Seeds, results: Results, *, test: str = "fresh"
) -> Float[np.ndarray, "seed epoch phrase"]:
    """P(ω | phrase) before training and after each epoch."""
    return np.asarray(cell.array(f"p/{test}")[..., state(results)])


def acquired(curve: Float[np.ndarray, "seed epoch phrase"]) -> Float[np.ndarray, "seed phrase"]:
    """The first epoch at which P has come half the way from its start to its end.

    Undefined (NaN) where P did not rise.
    """
    start, end = curve[:, :1], curve[:, -1:]
    reached = (curve >= (start + end) / 2).argmax(1).astype(float)
    return np.where((end > start)[:, 0], reached, np.nan)


def line(
    x: Sequence[float] | np.ndarray, values: Float[np.ndarray, "seed x"], *, label: str,
    colour: Colour, dashed: bool = False,
) -> Line:  # fmt: skip
    """Mean over seeds with its interval; seeds where a value is undefined are left out of it."""
    spans = [stats.mean(column[~np.isnan(column)]) for column in values.T]
    low, high = (np.array([getattr(s, side) for s in spans]) for side in ("low", "high"))
    estimate = np.array([s.estimate for s in spans])
    return Line(
        np.asarray(x, dtype=float), estimate, low, high, label=label, colour=colour, dashed=dashed
    )
