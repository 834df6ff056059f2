"""Marks that figures of a card share: means over seeds with their intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from recombine import stats
from recombine.studies.figure import Bars, Colour, Line

COLOURS: tuple[Colour, ...] = ("first", "second", "third", "fourth", "muted")
SHOWN = 6
"""Panels or bars at most, where a task has many."""


def band(
    steps: Int[np.ndarray, " step"],
    values: Float[np.ndarray, "seed step"],
    label: str,
    colour: Colour,
    *,
    dashed: bool = False,
) -> Line:
    """Shares along training, with 95% intervals."""
    each = [stats.mean(values[:, i]) for i in range(len(steps))]
    return Line(
        steps,
        np.array([e.estimate for e in each]),
        np.clip([e.low for e in each], 0, 1),
        np.clip([e.high for e in each], 0, 1),
        label=label,
        colour=colour,
        dashed=dashed,
    )


def bars(
    values: Mapping[str, Float[np.ndarray, " seed"]],
    label: str = "",
    colour: Colour = "first",
    *,
    share: bool = True,
) -> Bars:
    """Numbers by name with 95% intervals; shares stay between 0 and 1."""
    each = [stats.mean(value) for value in values.values()]
    low, high = np.array([e.low for e in each]), np.array([e.high for e in each])
    if share:
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    return Bars(tuple(values), np.array([e.estimate for e in each]), low, high, label, colour)
