"""Writes findings as a folder of pages that opens from disk, with every number to download."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined

from recombine.report import folder as place
from recombine.report.cells import SYMBOLS
from recombine.report.data import csv, strict, table_csv
from recombine.report.drawing import HALO
from recombine.report.palette import css
from recombine.report.views import FindingView, StudyView, outcomes, studies
from recombine.studies import Finding

TITLE = "What recombine found"


def write(folder: Path, findings: Sequence[Finding], *, title: str = TITLE) -> Path:
    """Write a report of the findings and return its first page.

    The same findings give the same bytes. An earlier report there is replaced as a whole; any
    other folder that is not empty is refused.
    """
    # Followed to where it leads, so that a link to a report stays a link.
    target = folder.resolve()
    place.check(target)
    shown = studies(findings)
    files = {"style.css": css() + HALO + resource("style.css"), "index.html": _index(shown, title)}
    for study in shown:
        files[f"{study.slug}.html"] = page("study.html", title=title, view=study)
        for finding in study.findings:
            files |= _downloads(finding)
    place.replace(target, files)
    return folder / "index.html"


def write_card(
    folder: Path, finding: Finding, sentences: Sequence[tuple[str, str]], notes: Sequence[str] = ()
) -> Path:
    """Write the report card of a model and return its page.

    Each sentence comes with the id of the claim or table it rests on; the page links it there.
    """
    target = folder.resolve()
    place.check(target)
    (study,) = studies([finding])
    (view,) = study.findings
    anchors = {claim.claim.id: claim.anchor for claim in view.claims}
    anchors |= {table.table.id: table.anchor for table in view.tables}
    said = [(text, anchors[evidence]) for text, evidence in sentences]
    text = page("card.html", title=study.study.title, view=study, sentences=said, notes=notes)
    files = {"style.css": css() + HALO + resource("style.css"), "index.html": text}
    place.replace(target, {**files, **_downloads(view)})
    return folder / "index.html"


def _index(shown: Sequence[StudyView], title: str) -> str:
    claims = [c for study in shown for finding in study.findings for c in finding.claims]
    return page("index.html", title=title, studies=shown, counts=outcomes(claims))


def _downloads(view: FindingView) -> dict[str, str]:
    """The files behind one finding, by path within the report."""
    finding = view.finding
    files = {table.file: table_csv(table.table) for table in view.tables}
    for figure in view.figures:
        files[f"{figure.file}.svg"] = figure.alone
        files[f"{figure.file}.csv"] = csv(figure.figure)
    whole = {
        "study": finding.name,
        "title": finding.part.title,
        "paper": paper(finding),
        **finding.plain(),
        "command": finding.command,
        "made_with": dict(sorted(finding.made_with.items())),
    }
    text = json.dumps(strict(whole), indent=2, ensure_ascii=False, allow_nan=False)
    return {**files, f"data/{view.slug}.json": text + "\n"}


def paper(finding: Finding) -> str:
    """The paper in one line."""
    study = finding.study
    return f"{study.authors} ({study.year}). {study.title}."


def page(template: str, **shown: object) -> str:
    """A template filled in."""
    return _environment().get_template(template).render(**shown)


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(lambda name: resource(f"templates/{name}")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["symbols"] = SYMBOLS
    environment.filters["thousands"] = lambda value: f"{value:,}"
    return environment


def resource(name: str) -> str:
    """A file of this room."""
    return resources.files("recombine.report").joinpath(name).read_text(encoding="utf-8")
