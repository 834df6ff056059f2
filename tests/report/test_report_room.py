"""Tests of the room as a whole: what it exports, what it imports, what it brings along."""

from __future__ import annotations

import ast
from importlib import resources
from pathlib import Path

from recombine import report
from recombine.report.palette import COLOURS, WORDS

ALLOWED = {"report", "studies", "stats", "runs", "errors"}


def test_exports_are_there_and_sorted() -> None:
    named = ["Document", "Item", "csv", "publish", "results", "summary", "svg", "write"]
    named.append("write_card")
    assert report.__all__ == named
    assert all(callable(getattr(report, name)) for name in report.__all__)


def test_the_room_imports_only_what_it_may() -> None:
    for path in Path(report.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] != "torch" and "pyplot" not in name
                if name.startswith("recombine."):
                    assert name.split(".")[1] in ALLOWED, f"{path.name}: {name}"


def test_templates_and_style_are_found_as_resources() -> None:
    room = resources.files("recombine.report")
    for name in ("style.css", "templates/base.html", "templates/study.html"):
        assert room.joinpath(name).is_file()


def luminance(value: str) -> float:
    parts = (int(value[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_stand_out_from_the_paper_in_both_schemes() -> None:
    for scheme in (0, 1):
        paper = COLOURS["paper"][scheme]
        for role in ("first", "second", "third", "fourth", "muted"):
            assert contrast(COLOURS[role][scheme], paper) >= 3.5
        for word in (COLOURS["ink"], COLOURS["soft"], *WORDS.values()):
            assert contrast(word[scheme], paper) >= 4.5
            assert contrast(word[scheme], COLOURS["shade"][scheme]) >= 4.5
