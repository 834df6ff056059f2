"""Draws the straight reference lines of a panel, with their words where they hide no data."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from recombine.report.lettering import width
from recombine.report.palette import light
from recombine.studies.figure import Rule

SIZE = 10.0
ROW = 13.0
"""Height of a row of words above the frame."""


def draw(axes: Axes, rules: Sequence[Rule]) -> int:
    """The rules that lie within the limits; returns the rows of words now above the frame."""
    for rule in rules:
        line = axes.axvline if rule.along == "x" else axes.axhline
        if 0 <= _fraction(axes, rule) <= 1:
            drawn = line(rule.at, color=light("soft"), linewidth=1.2, linestyle=(0, (2, 2)))
            # Not clipped: a rule is often the very edge of its axis.
            drawn.set_clip_on(False)
            drawn.set_zorder(50)
    labelled = [r for r in rules if r.label and 0 <= _fraction(axes, r) <= 1]
    for rule in labelled:
        if rule.along == "y":
            _word_beside(axes, rule)
    return _words_above(axes, [rule for rule in labelled if rule.along == "x"])


def _fraction(axes: Axes, rule: Rule) -> float:
    """Where along its axis a rule stands, from 0 to 1."""
    point = (rule.at, 0.0) if rule.along == "x" else (0.0, rule.at)
    blended = axes.get_xaxis_transform() if rule.along == "x" else axes.get_yaxis_transform()
    at = axes.transAxes.inverted().transform(blended.transform(point))
    # Limits and rules are often the same number, up to rounding.
    return round(float(at[0 if rule.along == "x" else 1]), 6)


def _word_beside(axes: Axes, rule: Rule) -> None:
    """The word of a horizontal rule: at its right end, above it or, at the top, below it."""
    below = _fraction(axes, rule) > 0.88
    axes.annotate(
        rule.label,
        xy=(1, rule.at),
        xycoords=axes.get_yaxis_transform(),
        xytext=(-3, -3 if below else 3),
        textcoords="offset points",
        ha="right",
        va="top" if below else "bottom",
        color=light("soft"),
        fontsize=SIZE,
        annotation_clip=False,
        zorder=60,
        gid="halo",
    )


def _words_above(axes: Axes, rules: list[Rule]) -> int:
    """The words of vertical rules, over the frame, in as many rows as keep them apart."""
    ends: list[float] = []
    across = axes.get_window_extent().width
    for rule in sorted(rules, key=lambda r: r.at):
        at, wide = _fraction(axes, rule), width(rule.label, SIZE) / across
        side = "left" if at < wide / 2 else "right" if at > 1 - wide / 2 else "center"
        start = at - {"left": 0, "center": wide / 2, "right": wide}[side]
        row = next((i for i, end in enumerate(ends) if end < start), len(ends))
        ends[row : row + 1] = [start + wide + 0.03]
        axes.annotate(
            rule.label,
            xy=(rule.at, 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 3 + ROW * row),
            textcoords="offset points",
            ha=side,
            va="bottom",
            color=light("soft"),
            fontsize=SIZE,
            annotation_clip=False,
        )
    return len(ends)
