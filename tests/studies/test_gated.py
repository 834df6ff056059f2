"""The judges of `gated` on results made by hand; its tables and figures where numbers lack."""

import math

import numpy as np
import pytest

from recombine import catalog
from recombine.cell import Cell, Context, Outcome
from recombine.conduct import setting
from recombine.spec import override
from recombine.studies import Part, Results, Seeds, find
from recombine.studies import gated_digits as digits
from recombine.studies import gated_digits_shown as shown
from recombine.studies import gated_limit as limit
from recombine.studies import gated_relu as relu
from recombine.studies.gated_reading import interval, missing, pooled

STUDY = catalog.find("studies", "gated")
LEVEL, RNG = 0.99, np.random.default_rng(0)


def seeds(scalars: dict[str, float], *, spread: float = 0.001, n: int = 6) -> Seeds:
    """Six seeds about these numbers; reasons are whole."""
    return Seeds(
        {
            s: Outcome(
                {
                    k: v if k.startswith("reason") else v + spread * RNG.standard_normal()
                    for k, v in scalars.items()
                }
            )
            for s in range(n)
        }
    )


def along(name: str, start: float, end: float) -> Seeds:
    def curve() -> np.ndarray:
        return np.array([start, end]) + 0.001 * RNG.standard_normal(2)

    steps = np.array([100, 1000])
    return Seeds({s: Outcome({}, {name: curve(), f"{name}@steps": steps}) for s in range(6)})


@pytest.mark.parametrize(
    ("start", "end", "outcome"),
    [
        (1.2, 1.01, "reproduced"),
        (1.2, 1.1, "inconclusive"),  # above the line, but on its way
        (1.1, 1.2, "contradicted"),
    ],
)
def test_a_limit_is_contradicted_only_by_what_stands_still(
    start: float, end: float, outcome: str
) -> None:
    for cell, judge in (("two", limit.pays_the_least), ("shallow", limit.shallow_pays_the_least)):
        results = Results("quick", "as-printed", {cell: along("ratio", start, end)})
        assert judge(results, LEVEL).outcome == outcome
    shift = limit.STATIONARY - limit.NEAR
    deep = Results("quick", "as-printed", {"deep": along("residual", start + shift, end + shift)})
    assert limit.is_stationary(deep, LEVEL).outcome == outcome


def test_the_direction_is_that_of_the_nearer_machine() -> None:
    near = {"cosine/svm": 0.98, "cosine/l2": 0.9}
    results = Results("quick", "as-printed", {"two": seeds(near)})
    assert limit.looks_like_gln(results, LEVEL).outcome == "reproduced"
    far = {"cosine/svm": 0.9, "cosine/l2": 0.98}
    results = Results("quick", "as-printed", {"two": seeds(far)})
    assert limit.looks_like_gln(results, LEVEL).outcome == "contradicted"


def tables(excess: dict[int, float], *, gln: float = 0.0, apart: float = 0.02) -> Results:
    """Entries in which SVM-L2 errs by `excess` more at so many units."""
    cells = {}
    for n in shown.SIZES["quick"]:
        for units in shown.UNITS["quick"]:
            cells[f"two-{n}-{units}"] = seeds(
                {
                    "error/gd": 0.1,
                    "error/svm": 0.1 + gln,
                    "error/l2": 0.1 + gln + excess[units],
                    "inconsistency/svm": 0.05,
                    "inconsistency/l2": 0.05 + apart,
                    "reason/svm": 0.0,
                    "reason/l2": 0.0,
                }
            )
        for planes in shown.PLANES["quick"]:
            cells[f"shallow-{n}-{planes}"] = seeds(
                {
                    "error/gd": 0.15 + 0.01 * planes,
                    "train/gd": 0.0,
                    "error/svm": math.nan,
                    "inconsistency/svm": math.nan,
                    "reason/svm": 3.0,
                }
            )
    for name in shown.VARIANTS:
        for n in shown.VARIED["quick"]:
            for units in shown.UNITS["quick"]:
                cells[f"{name}-{n}-{units}"] = cells[f"two-{n}-{units}"]
    return Results("quick", "as-run", cells, specs("digits"))


def specs(part: str) -> dict[str, Cell]:
    """The part's own cells."""
    needs = STUDY.part(part).cells(scale="quick", profile="as-run", seeds=1)
    return {name: need.cell for name, need in needs.items()}


def test_the_tables_are_judged_as_the_rules_say() -> None:
    published = tables({5: 0.15, 10: 0.1, 20: 0.01})
    for judge in digits.DigitsPart().judges().values():
        assert judge(published, LEVEL).outcome == "reproduced"
    other = tables({5: 0.01, 10: 0.02, 20: 0.03}, gln=0.05, apart=-0.02)
    judges = digits.DigitsPart().judges()
    outcomes = {name: judge(other, LEVEL).outcome for name, judge in judges.items()}
    assert outcomes == {
        "D1": "contradicted",
        "D2": "contradicted",
        "D3": "contradicted",
        "D4": "contradicted",
        "D5": "reproduced",
    }


def test_gaps_stand_in_the_table_with_their_reason() -> None:
    finding = find(
        STUDY, STUDY.part("digits"), tables({5: 0.1, 10: 0.1, 20: 0.0}), command="", made_with={}
    )
    shallow = finding.tables[3].plain()
    assert shallow["rows"][0][5]["estimate"] is None
    assert shallow["rows"][0][-1] == "svm: 6 of 6, no predictor of this form separates the points"


def rungs(hidden: float, learned: float, random: float) -> Results:
    numbers = {
        "error/gd": 0.1,
        "inconsistency/hidden": hidden,
        "inconsistency/learned": learned,
        "inconsistency/random": random,
        "independence": 0.15,
        "gates moved": 0.2,
        "reason/hidden": 0.0,
        "reason/learned": 0.0,
        "reason/random": 0.0,
    }
    cells = {f"relu-{n}-{units}": seeds(numbers) for n, units in relu.CASES["quick"]}
    return Results("quick", "as-run", cells, specs("relu"))


def test_the_weakest_rung_of_the_ladder_decides() -> None:
    assert relu.knows_more_agrees_more(rungs(0.01, 0.05, 0.08), LEVEL).outcome == "reproduced"
    assert relu.knows_more_agrees_more(rungs(0.01, 0.09, 0.08), LEVEL).outcome == "contradicted"
    assert relu.knows_more_agrees_more(rungs(0.01, 0.08, 0.08), LEVEL).outcome == "inconclusive"
    assert relu.readout_is_a_machine(rungs(0.01, 0.05, 0.08), LEVEL).outcome == "reproduced"
    assert relu.readout_is_a_machine(rungs(0.03, 0.05, 0.08), LEVEL).outcome == "contradicted"


def test_what_has_no_number_is_left_out_and_counted() -> None:
    rows = [np.array([1.0, math.nan, math.nan]), np.array([3.0, 5.0, math.nan])]
    np.testing.assert_equal(pooled(rows), [2.0, 5.0, math.nan])
    assert interval(np.array([math.nan])).n == 0
    assert interval(np.array([1.0, math.nan, 3.0])).n == 2
    assert missing(seeds({"reason/svm": 0.0}), ["svm"]) == "–"


@pytest.mark.parametrize("part", STUDY.parts, ids=lambda p: p.name)
def test_a_short_run_fills_every_table_and_figure(part: Part) -> None:
    cells, ran = {}, {}
    for name, need in part.cells(scale="quick", profile=part.profiles[0], seeds=2).items():
        cell = override(need.cell, dict(map(setting, part.smallest)))
        assert isinstance(cell, Cell)
        cells[name], ran[name] = Seeds(cell.run(need.seeds, Context())), cell
    results = Results("quick", part.profiles[0], cells, ran)
    finding = find(STUDY, part, results, command="", made_with={})
    assert finding.tables and finding.figures and len(finding.claims) == len(part.judges())
    if "n=40" in part.smallest:
        told = {str(row[0]) for table in finding.tables for row in table.rows}
        assert "40 images" in told and "200 images" not in told
        titles = [panel.title for figure in finding.figures for panel in figure.panels]
        assert all(title.startswith("n = 40") for title in titles)


def test_one_seed_has_bars() -> None:
    cells = {
        name: Seeds({0: cell.outcomes[0]}) for name, cell in rungs(0.01, 0.05, 0.08).cells.items()
    }
    (ladder,) = STUDY.part("relu").figures(Results("quick", "as-run", cells, specs("relu")))
    assert len(ladder.panels[0].marks[0].names) == len(relu.LADDER)


def test_paper_scale_has_the_published_sizes() -> None:
    cells = STUDY.part("digits").cells(scale="paper", profile="as-run", seeds=3)
    two = {name for name in cells if name.startswith("two")}
    assert two == {f"two-{n}-{units}" for n, units in shown.PUBLISHED}
    assert {f"random-{n}-{units}" for n, units in shown.PUBLISHED} < set(cells)
    assert cells["planes-500-10"].cell.model.planes == 2
    for need in cells.values():
        assert need.cell.source == "mnist-60k" and need.cell.training.batch == 128
    # 200 · 2000 / n epochs of n // 128 batches
    assert cells["two-500-10"].cell.training.steps == 800 * 3
