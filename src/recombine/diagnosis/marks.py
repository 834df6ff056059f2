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
    spans = [stats.mean(values[:, i]) for i in range(len(steps))]
    return Line.through(steps, spans, label, colour, dashed=dashed, share=True)


def bars(
    values: Mapping[str, Float[np.ndarray, " seed"]],
    label: str = "",
    colour: Colour = "first",
    *,
    share: bool = True,
) -> Bars:
    """Numbers by name with 95% intervals; shares stay between 0 and 1."""
    spans = [stats.mean(value) for value in values.values()]
    return Bars.of(values, spans, label, colour, share=share)
