"""Figures as data: what a study wants drawn, in a small vocabulary; `report/` draws it.

A figure has panels, a panel has two axes and marks. Every mark is made of plain arrays, so the
numbers behind a figure can be downloaded, and the same figure is the same picture every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float, Int, Shaped

from recombine.stats import Interval

Colour = Literal["first", "second", "third", "fourth", "muted"]
"""Roles, not colours: the drawing room gives each one that works in light and dark."""


@dataclass(frozen=True)
class Axis:
    """One direction of a panel."""

    label: str
    scale: Literal["linear", "log", "symlog"] = "linear"
    limits: tuple[float, float] | None = None
    ticks: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Points:
    """A scatter of points."""

    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    label: str = ""
    colour: Colour = "first"
    hollow: bool = False
    """Drawn as an outline: for what was not trained on."""


@dataclass(frozen=True)
class Line:
    """A curve, with the band of an interval about it if there is one."""

    x: Shaped[np.ndarray, " n"]
    y: Shaped[np.ndarray, " n"]
    low: Shaped[np.ndarray, " n"] | None = None
    high: Shaped[np.ndarray, " n"] | None = None
    label: str = ""
    colour: Colour = "first"
    dashed: bool = False

    @classmethod
    def through(
        cls,
        x: Sequence[float] | Shaped[np.ndarray, " n"],
        spans: Sequence[Interval],
        label: str = "",
        colour: Colour = "first",
        *,
        dashed: bool = False,
        share: bool = False,
    ) -> Line:
        """A curve through estimates with their intervals; a share's stay between 0 and 1."""
        return cls(np.asarray(x), *_three(spans, share=share), label, colour, dashed)


@dataclass(frozen=True)
class Histogram:
    """The distribution of a number over seeds, as shares of the seeds in bins."""

    values: Float[np.ndarray, " n"]
    bins: Float[np.ndarray, " edge"]
    label: str = ""
    colour: Colour = "first"


@dataclass(frozen=True)
class Map:
    """A number over the plane, from 0 to 1, the first row at the bottom."""

    values: Float[np.ndarray, "row column"]
    extent: tuple[float, float, float, float]
    """Left, right, bottom, top."""
    label: str = ""


@dataclass(frozen=True)
class Heat:
    """A matrix of numbers, cell by cell, the first row on top; a NaN leaves its cell empty."""

    values: Float[np.ndarray, "row column"]
    low: float
    """The number at the pale or the blue end; below 0, zero is the neutral colour."""
    high: float
    label: str = ""
    counted_from: tuple[int, int] = (0, 0)
    """What the first row and the first column are called on the axes."""


@dataclass(frozen=True)
class Network:
    """A graph: places of its nodes, and edges of two kinds by the sign of their weight."""

    places: Float[np.ndarray, "node 2"]
    edges: Int[np.ndarray, "edge 2"]
    weights: Float[np.ndarray, " edge"]
    label: str = ""
    """What an edge is."""


@dataclass(frozen=True)
class Contours:
    """One level line for each of many maps: the boundaries of many seeds over one another."""

    values: Float[np.ndarray, "map row column"]
    extent: tuple[float, float, float, float]
    level: float = 0.5
    label: str = ""
    colour: Colour = "first"


@dataclass(frozen=True)
class Bars:
    """Numbers by name, each with an interval."""

    names: tuple[str, ...]
    y: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    label: str = ""
    colour: Colour = "first"

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        spans: Sequence[Interval],
        label: str = "",
        colour: Colour = "first",
        *,
        share: bool = False,
    ) -> Bars:
        """Estimates with their intervals, by name; a share's stay between 0 and 1."""
        return cls(tuple(names), *_three(spans, share=share), label, colour)


def _three(
    spans: Sequence[Interval], *, share: bool
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Estimates and ends; of a single seed, which has no interval, the estimate for both ends."""
    middle = np.array([span.estimate for span in spans], dtype=float)
    low, high = (
        np.where(np.isnan(end), middle, end)
        for end in (
            np.array([span.low for span in spans], dtype=float),
            np.array([span.high for span in spans], dtype=float),
        )
    )
    return (middle, low.clip(0, 1), high.clip(0, 1)) if share else (middle, low, high)


@dataclass(frozen=True)
class Rule:
    """A straight reference line with a word to it."""

    at: float
    along: Literal["x", "y"]
    """The axis on which `at` is read: `x` draws a vertical line."""
    label: str = ""


Mark = Points | Line | Histogram | Map | Heat | Network | Contours | Bars | Rule


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    title: str = ""
    square: bool = False
    """Equal units on both axes."""


@dataclass(frozen=True)
class Figure:
    """What is drawn, what it shows, and where the paper has its own."""

    id: str
    """A file name: letters, digits and hyphens."""
    title: str
    caption: str
    panels: tuple[Panel, ...]
    where: str = ""
    """Figure of the paper, or empty if it goes beyond it."""
    columns: int = field(default=4)
    """Panels in a row on a wide page."""
