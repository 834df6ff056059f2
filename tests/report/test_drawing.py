"""Figures as SVG: well formed, small, themed, and the same bytes in every process."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib
import numpy as np
import pytest
import specimen

from recombine.report import svg
from recombine.report.palette import COLOURS
from recombine.studies.figure import (
    Axis,
    Bars,
    Contours,
    Figure,
    Heat,
    Histogram,
    Line,
    Map,
    Mark,
    Network,
    Panel,
    Points,
    Rule,
)

FIGURES = {
    f.id: f
    for f in (
        specimen.data(),
        specimen.along_training(),
        specimen.many_boundaries(),
        specimen.distributions(),
        specimen.curves(),
        specimen.bars(),
        specimen.matrix(),
    )
}
DIGEST = """
import hashlib, specimen
from recombine.report import svg
figures = (specimen.data(), specimen.along_training(), specimen.distributions(), specimen.curves())
print(hashlib.sha256("".join(map(svg, figures)).encode()).hexdigest())
"""
EMPTY = np.array([], dtype=float)
BLANK = np.full((3, 4), np.nan)
SQUARE = (0.0, 1.0, 0.0, 1.0)


def figure(*marks: Mark, x: Axis | None = None, y: Axis | None = None) -> Figure:
    panel = Panel(x or Axis("x"), y or Axis("y"), marks)
    return Figure(id="odd", title="Odd", caption="Odd.", panels=(panel,))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_well_formed_and_small(name: str) -> None:
    drawn = svg(FIGURES[name])
    root = ET.fromstring(drawn)
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"#([\w-]+-\d+-\d+)", drawn)) <= set(ids)
    assert len(drawn) < 300_000
    assert "http" not in drawn.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_a_thousand_boundaries_stay_below_a_megabyte_and_a_half() -> None:
    drawn = svg(specimen.many_boundaries(1_000))
    assert len(drawn) < 1_500_000
    assert drawn.count("<path") > 1_000


def test_the_bytes_do_not_depend_on_the_process() -> None:
    def digest(seed: str) -> str:
        paths = [str(Path(__file__).parent), *(p for p in sys.path if p.endswith("src"))]
        inherited = os.environ.get("PYTHONPATH", "")
        env = {**os.environ, "PYTHONHASHSEED": seed}
        env["PYTHONPATH"] = os.pathsep.join([*paths, inherited])
        done = subprocess.run(
            [sys.executable, "-c", DIGEST], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    names = ("data", "along-training", "distributions", "curves")
    here = hashlib.sha256("".join(svg(FIGURES[n]) for n in names).encode()).hexdigest()
    assert digest("1") == digest("2") == here


def test_the_users_matplotlib_settings_change_nothing() -> None:
    before = svg(FIGURES["curves"])
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.grid": True}):
        assert svg(FIGURES["curves"]) == before


def test_every_colour_is_a_role_with_a_class() -> None:
    """Only maps have colours of their own, and those come in both schemes."""
    roles = {light for light, _ in COLOURS.values()}
    for name in ("data", "distributions", "curves", "bars"):
        root = ET.fromstring(svg(FIGURES[name]))
        for node in root.iter():
            for kind in ("fill", "stroke"):
                value = node.get(kind, "none")
                assert value == "none" or value in roles
                assert value == "none" or f"{kind[0]}-" in node.get("class", "")
    both = svg(FIGURES["along-training"])
    assert both.count('class="on-light"') == both.count('class="on-dark"') == 8


def test_text_is_text_and_escaped() -> None:
    drawn = svg(FIGURES["data"])
    words = [node.text for node in ET.fromstring(drawn).iter() if node.tag.endswith("text")]
    assert "trained, Y1 = 0" in words and specimen.EVIL in words
    assert "<script" not in drawn


def test_keys_that_disagree_stand_under_their_panels() -> None:
    one = Line(np.arange(2), np.arange(2), label="LSTM")
    two = Line(np.arange(2), np.arange(2), label="GRU")
    panels = tuple(Panel(Axis("x"), Axis("y"), (mark,)) for mark in (one, two))
    drawn = ET.fromstring(svg(Figure(id="f", title="t", caption="c", panels=panels)))
    label = next(node for node in drawn.iter() if node.text == "GRU")
    assert float(label.get("y", "0")) > 100


@pytest.mark.parametrize(
    "odd",
    [
        Figure(id="none", title="t", caption="c", panels=()),
        figure(),
        figure(Points(EMPTY, EMPTY, "none"), Line(EMPTY, EMPTY)),
        figure(Line(np.array([1]), np.array([2]))),
        figure(Line(np.arange(3), np.array([1.0, np.inf, np.nan]))),
        figure(
            Line(np.arange(4), np.array([0, -1, 1e-3, 1])),
            Rule(0.0, "x", "zero"),
            x=Axis("x", "log", (0.0, 3.0)),
            y=Axis("y", "log"),
        ),
        figure(Line(np.arange(3), np.arange(3)), x=Axis("x", limits=(1.0, 1.0))),
        figure(Line(np.arange(3), np.array([-1e4, 0, 1e-2])), y=Axis("y", "symlog")),
        figure(Histogram(np.array([np.nan, 0.5, 3.0]), np.linspace(0, 1, 5))),
        figure(Map(np.array([[0.3]]), SQUARE), Map(BLANK, SQUARE)),
        figure(Contours(np.zeros((0, 5, 5)), SQUARE), Contours(np.zeros((3, 5, 5)), SQUARE)),
        figure(Bars(("a", "b"), np.array([1, np.nan]), np.array([2, np.nan]), np.ones(2))),
        figure(Bars((), EMPTY, EMPTY, EMPTY)),
        figure(Heat(np.array([[np.nan, 0.0]]), 0.0, 0.0, "flat"), Heat(BLANK, -1.0, 1.0)),
        figure(Network(np.zeros((2, 2)), np.zeros((0, 2), dtype=int), EMPTY, "no edges")),
        figure(Rule(0.5, "x", "a"), Rule(0.52, "x", "long words"), Rule(9.0, "y", "far")),
        figure(Line(np.arange(3), np.arange(3), label="日本語 🎉 a\x00b"), x=Axis("$x^2$ \x07")),
    ],
)
def test_odd_data_still_gives_a_picture(odd: Figure) -> None:
    drawn = ET.fromstring(svg(odd))
    assert drawn.tag.endswith("svg")
    assert any(True for _ in drawn.iter("{http://www.w3.org/2000/svg}text")), "no axis was drawn"


def test_a_histogram_shows_shares_of_all_seeds() -> None:
    from recombine.report.marks import shares

    mark = Histogram(np.array([0.1, 0.2, 0.9, 5.0]), np.array([0.0, 0.5, 1.0]))
    assert shares(mark).tolist() == [0.5, 0.25]


def test_a_heat_map_has_zero_at_the_neutral_colour_and_keeps_its_cells_apart() -> None:
    from recombine.report.marks import crisp, heat_tint

    assert heat_tint(np.array([-2.0, 0.0, 1.0]), -2.0, 1.0).tolist() == [0.0, 0.5, 0.75]
    assert heat_tint(np.array([1.0, 3.0]), 1.0, 3.0).tolist() == [0.5, 1.0]
    grown = crisp(np.array([[0.0, 1.0]]))
    assert set(np.unique(grown)) == {0.0, 1.0} and min(grown.shape) >= 512


def test_a_network_draws_each_sign_in_its_colour() -> None:
    one = Network(np.eye(3, 2), np.array([[0, 1], [1, 2]]), np.array([1.0, -1.0]), "w")
    drawn = svg(figure(one))
    assert "s-first" in drawn and "s-second" in drawn
