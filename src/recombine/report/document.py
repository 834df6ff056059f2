"""Writes one page that stands by itself: words, items, tables and figures, its style inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from recombine.report import folder as place
from recombine.report.data import csv, table_csv
from recombine.report.drawing import HALO
from recombine.report.pages import page, resource
from recombine.report.palette import css
from recombine.report.views import FigureView, TableView, figure_view, table_view
from recombine.studies import Figure, Table

TONES = {"problem": "contradicted", "caution": "inconclusive", "note": "reproduced"}
"""Colours of badges by what they say; the words say it too."""


@dataclass(frozen=True)
class Item:
    """One thing to know: a badge, a statement, and lines below it."""

    badge: str
    tone: str
    """`problem`, `caution` or `note`."""
    text: str
    aside: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """What a page says."""

    title: str
    lead: tuple[str, ...]
    items: tuple[Item, ...] = ()
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    made_by: str = ""
    """The command to get it again."""


def publish(folder: Path, document: Document, *, files: Mapping[str, str]) -> Path:
    """Write the page as `index.html`, every table and figure beside it, and further files.

    An earlier report there is replaced as a whole; any other folder that is not empty is refused.
    """
    target = folder.resolve()
    place.check(target)
    tables = [table_view(table, "audit") for table in document.tables]
    figures = [figure_view(figure, "audit") for figure in document.figures]
    text = page(
        "document.html",
        title=document.title,
        document=document,
        tables=tables,
        figures=figures,
        tones=TONES,
        files=sorted(files),
        style=Markup(css() + HALO + resource("style.css")),
    )
    place.replace(target, {"index.html": text, **_downloads(tables, figures), **files})
    return folder / "index.html"


def _downloads(tables: Sequence[TableView], figures: Sequence[FigureView]) -> dict[str, str]:
    files = {view.file: table_csv(view.table) for view in tables}
    for view in figures:
        files[f"{view.file}.svg"] = view.alone
        files[f"{view.file}.csv"] = csv(view.figure)
    return files
