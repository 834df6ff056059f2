"""The numbers behind figures and tables, as CSV."""

from __future__ import annotations

import csv as reader
import io
import math

import numpy as np
import pytest
import specimen

from recombine.report import csv
from recombine.report.data import COLUMNS, strict, table_csv


def rows(text: str) -> list[dict[str, str]]:
    return list(reader.DictReader(io.StringIO(text)))


def test_points_and_lines_come_back() -> None:
    figure = specimen.curves()
    line = figure.panels[0].marks[1]
    found = [r for r in rows(csv(figure)) if r["panel"] == "1" and r["mark"] == "2"]
    assert [float(r["y"]) for r in found] == pytest.approx(line.y.tolist(), rel=1e-8)
    assert [float(r["low"]) for r in found] == pytest.approx(line.low.tolist(), rel=1e-8)
    assert {r["label"] for r in found} == {"on Y2, redundant"}
    assert tuple(found[0]) == COLUMNS


def test_a_map_comes_back_with_its_coordinates() -> None:
    figure = specimen.along_training()
    values = figure.panels[0].marks[0].values
    found = [r for r in rows(csv(figure)) if r["panel"] == "1" and r["kind"] == "map"]
    assert len(found) == values.size
    assert (float(found[0]["x"]), float(found[0]["y"])) == (-2, -2)
    assert [float(r["value"]) for r in found] == pytest.approx(values.ravel().tolist(), rel=1e-8)


def test_a_level_line_lies_where_the_map_has_the_level() -> None:
    figure = specimen.along_training()
    found = [r for r in rows(csv(figure)) if r["panel"] == "1" and r["kind"] == "contour"]
    assert found and all(abs(float(r["x"])) <= 2 for r in found)
    middle = [float(r["x"]) for r in found if abs(float(r["y"])) < 0.1]
    line = figure.panels[0].marks[0].values[16]
    crossing = np.interp(0.5, line, np.linspace(-2, 2, 33))
    assert middle == pytest.approx([crossing] * len(middle), abs=0.1)


def test_a_histogram_gives_shares_and_values() -> None:
    figure = specimen.distributions()
    found = [r for r in rows(csv(figure)) if r["panel"] == "1" and r["mark"] == "1"]
    shares = [float(r["y"]) for r in found if r["kind"] == "histogram"]
    assert sum(shares) == pytest.approx(1)
    assert sum(r["kind"] == "histogram value" for r in found) == 1_000


def test_a_table_keeps_bounds_and_leaves_the_undefined_empty() -> None:
    found = rows(table_csv(specimen.table()))
    assert found[0]["published"] == "" and float(found[0]["ours n"]) == 30
    assert float(found[0]["ours low"]) < float(found[0]["ours"]) < float(found[0]["ours high"])
    assert found[3]["published"] == "" and found[4]["ours low"] == ""
    assert found[5]["quantity"] == specimen.EVIL


def test_json_stays_json() -> None:
    assert strict({"a": [math.inf, math.nan, 1.5, "x"]}) == {"a": ["inf", None, 1.5, "x"]}


def test_a_heat_map_and_a_network_come_back() -> None:
    figure = specimen.matrix()
    heat, network = figure.panels[0].marks[0], figure.panels[2].marks[0]
    cells = [r for r in rows(csv(figure)) if r["panel"] == "1"]
    assert [float(r["value"]) for r in cells] == pytest.approx(heat.values.ravel().tolist())
    edges = [r for r in rows(csv(figure)) if r["kind"] == "edge"]
    assert [[int(r["series"]), int(r["name"])] for r in edges] == network.edges.tolist()
