"""Findings in the shape that pages lay out: names of files, cells in words, figures in panels."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from recombine.report import panels
from recombine.report.cells import (
    SYMBOLS,
    in_common,
    interval_words,
    level_words,
    numeric,
    words,
)
from recombine.report.drawing import sheet
from recombine.report.legend import Key, keys, swatch
from recombine.report.vector import scoped, text
from recombine.stats import Interval, Verdict
from recombine.studies import Claim, Figure, Finding, Study, Table
from recombine.studies.table import Value


@dataclass(frozen=True)
class ClaimView:
    """A claim with its verdict, as a page says it."""

    anchor: str
    claim: Claim
    verdict: Verdict

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.verdict.outcome]

    @property
    def effect(self) -> tuple[str, str]:
        """The effect, and its interval in brackets."""
        return interval_words(_with_estimate(self.verdict.interval, self.verdict.effect))

    @property
    def level(self) -> str:
        """Level of the interval, if there is one."""
        interval = self.verdict.interval
        return "" if math.isnan(interval.low) else level_words(interval.level)


def _with_estimate(interval: Interval, effect: float) -> Interval:
    return Interval(
        effect, interval.low, interval.high, interval.level, interval.n, interval.method
    )


@dataclass(frozen=True)
class CellView:
    """One cell: its main words, and small ones after them."""

    main: str
    small: str
    numeric: bool


@dataclass(frozen=True)
class TableView:
    """A table in words; a column with intervals takes two, so that estimates line up."""

    anchor: str
    file: str
    table: Table
    wide: tuple[bool, ...]
    right: tuple[bool, ...]
    """Columns of numbers."""
    rows: tuple[tuple[CellView, ...], ...]
    rests: str
    """What all intervals have in common: level and n."""


@dataclass(frozen=True)
class PanelView:
    """A panel's drawing and, if they are its own, its keys."""

    svg: Markup
    keys: tuple[tuple[Markup, str], ...]


@dataclass(frozen=True)
class FigureView:
    """A figure as panels that wrap."""

    anchor: str
    file: str
    figure: Figure
    across: int
    keys: tuple[tuple[Markup, str], ...]
    panels: tuple[PanelView, ...]
    alone: str
    """The figure as a file of its own."""


@dataclass(frozen=True)
class FindingView:
    """A finding and everything on its page."""

    slug: str
    """Names its files: study, part, scale and profile."""
    finding: Finding
    claims: tuple[ClaimView, ...]
    tables: tuple[TableView, ...]
    figures: tuple[FigureView, ...]

    @property
    def setting(self) -> str:
        """`quick scale, as-printed`."""
        return f"{self.finding.scale} scale, {self.finding.profile}"


@dataclass(frozen=True)
class StudyView:
    """A study with its findings."""

    slug: str
    study: Study
    findings: tuple[FindingView, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Verdicts of each kind."""
        return outcomes([view for finding in self.findings for view in finding.claims])


def outcomes(claims: Sequence[ClaimView]) -> dict[str, int]:
    """How many claims have each verdict, also where none has."""
    counted = Counter[str](view.verdict.outcome for view in claims)
    return {outcome: counted.get(outcome, 0) for outcome in SYMBOLS}


def studies(findings: Sequence[Finding]) -> list[StudyView]:
    """Findings by study, in the order they come."""
    taken: set[str] = set()
    grouped: dict[str, list[FindingView]] = {}
    for finding in findings:
        view = _finding(finding, _slug(finding, taken))
        grouped.setdefault(finding.study.name, []).append(view)
    return [
        StudyView(safe(name), views[0].finding.study, tuple(views))
        for name, views in grouped.items()
    ]


def safe(name: str) -> str:
    """Letters, digits and hyphens: fit for a file name and an anchor."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "unnamed"


def _slug(finding: Finding, taken: set[str]) -> str:
    """A name no other finding has; the same run at two settings of one scale is numbered."""
    names = (finding.study.name, finding.part.name, finding.scale, finding.profile)
    first = slug = "-".join(safe(name) for name in names)
    number = 1
    while slug in taken:
        number += 1
        slug = f"{first}-{number}"
    taken.add(slug)
    return slug


def _finding(finding: Finding, slug: str) -> FindingView:
    return FindingView(
        slug=slug,
        finding=finding,
        claims=tuple(ClaimView(f"{slug}-{safe(c.id)}", c, v) for c, v in finding.claims),
        tables=tuple(table_view(table, slug) for table in finding.tables),
        figures=tuple(figure_view(figure, slug) for figure in finding.figures),
    )


def table_view(table: Table, slug: str) -> TableView:
    """A table of a page; the slug keeps its name apart from others'."""
    name = f"{slug}-{safe(table.id)}"
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    rests, differ = in_common((v for row in table.rows for v in row), table.note)
    return TableView(
        anchor=f"{name}-table",
        file=f"tables/{name}.csv",
        table=table,
        wide=tuple(any(isinstance(v, Interval) for v in column) for column in columns),
        right=tuple(any(numeric(v) for v in column) for column in columns),
        rows=tuple(tuple(_cell(v, say_n=differ) for v in row) for row in table.rows),
        rests=rests,
    )


def _cell(value: Value, *, say_n: bool) -> CellView:
    if not isinstance(value, Interval):
        return CellView(words(value), "", numeric(value))
    estimate, bounds = interval_words(value)
    n = f"n = {value.n:,}" if say_n else ""
    return CellView(estimate, ", ".join(part for part in (bounds, n) if part), True)


def figure_view(figure: Figure, slug: str) -> FigureView:
    """A figure of a page, drawn; the slug keeps its name apart from others'."""
    name = f"{slug}-{safe(figure.id)}"
    shared, each = keys(figure)
    drawn = panels.draw(figure)
    return FigureView(
        anchor=f"{name}-figure",
        file=f"figures/{name}",
        figure=figure,
        across=panels.across(figure),
        keys=_keys(shared),
        alone=sheet(figure, drawn),
        panels=tuple(
            PanelView(Markup(text(scoped(panel, slug))), _keys(own))
            for panel, own in zip(drawn, each, strict=True)
        ),
    )


def _keys(entries: Sequence[Key]) -> tuple[tuple[Markup, str], ...]:
    return tuple((Markup(text(swatch(key))), key.label) for key in entries)
