"""The judges of gradient/pairs on results made by hand, its tables and figures on a short run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from recombine import catalog, data
from recombine.cell import Context, Outcome
from recombine.conduct import setting
from recombine.spec import override
from recombine.studies import Results, Seeds, find
from recombine.studies.gradient_pairs import (
    PairsPart,
    area,
    falls_short,
    leans_on_the_second,
    rises_faster,
)
from recombine.studies.gradient_pairs_figures import examples
from recombine.tasks.digit_pairs import DigitPairs
from recombine.training import Trial
from recombine.training.optimizers import Adam
from shell import call

PART = PairsPart()
LEVEL = 1 - 0.05 / 3
STEPS = np.array([0, 10, 50, 200])


def cell(
    train: np.ndarray, test: float = 0.9, flip: float = 0.0, spread: float = 0.01, n: int = 6
) -> Seeds:
    """Seeds with this training curve, test accuracy and flip rate of the second digit."""
    rng = np.random.default_rng([int(1e4 * spread), int(100 * test), int(100 * flip)])
    outcomes = {}
    for seed in range(n):
        flips = np.zeros((1, 1, 2))
        flips[0, 0] = 1, flip + spread * rng.standard_normal()
        noise = spread * rng.standard_normal(2)
        outcomes[seed] = Outcome({}, {
            "accuracy/train": train + noise[0],
            "accuracy/train@steps": STEPS,
            "accuracy/test": np.full(4, test + noise[1]),
            "dependence/flip": flips,
        })  # fmt: skip
    return Seeds(outcomes)


FAST, SLOW = np.array([0.1, 0.5, 0.9, 0.95]), np.array([0.1, 0.3, 0.7, 0.95])


def both(a: Mapping[str, object], b: Mapping[str, object]) -> Results:
    made = {name: cell(**kind) for name, kind in (("A", a), ("B", b))}  # type: ignore[arg-type]
    return Results("quick", "as-printed", made)


def test_the_area_is_the_mean_of_the_curve_drawn_with_straight_lines() -> None:
    dense = np.interp(np.linspace(0, 200, 200_001), STEPS, FAST)
    assert area(cell(FAST, spread=0.0)) == pytest.approx(dense.mean(), abs=1e-5)


def test_a1_asks_for_a_faster_rise() -> None:
    assert rises_faster(both({"train": FAST}, {"train": SLOW}), LEVEL).outcome == "reproduced"
    assert rises_faster(both({"train": SLOW}, {"train": FAST}), LEVEL).outcome == "contradicted"
    tied = both({"train": FAST, "spread": 0.2}, {"train": FAST, "spread": 0.1})
    assert rises_faster(tied, LEVEL).outcome == "inconclusive"


@pytest.mark.parametrize(
    ("tests", "outcome"),
    [((0.6, 0.9), "reproduced"), ((0.88, 0.9), "contradicted"), ((0.8, 0.9), "inconclusive")],
)
def test_a2_asks_for_a_gap_ten_points_larger(tests: tuple[float, float], outcome: str) -> None:
    results = both({"train": FAST, "test": tests[0]}, {"train": FAST, "test": tests[1]})
    assert falls_short(results, LEVEL).outcome == outcome


@pytest.mark.parametrize(
    ("flips", "outcome"),
    [
        ((0.3, 0.03), "reproduced"),
        ((0.03, 0.02), "contradicted"),
        ((0.3, 0.2), "contradicted"),
        ((0.3, 0.1), "inconclusive"),
        ((0.1, 0.03), "inconclusive"),
    ],
)
def test_a3_asks_for_both_settings(flips: tuple[float, float], outcome: str) -> None:
    results = both({"train": FAST, "flip": flips[0]}, {"train": FAST, "flip": flips[1]})
    verdict = leans_on_the_second(results, LEVEL)
    assert verdict.outcome == outcome
    assert "in A" in verdict.reason and "in B" in verdict.reason


def test_the_published_experiment_has_its_sizes() -> None:
    for profile, pairs in (("as-printed", 10_000), ("as-run", 100)):
        needs = PART.cells(scale="paper", profile=profile, seeds=20)
        for letter in "AB":
            trial = needs[letter].cell
            assert isinstance(trial, Trial) and isinstance(trial.task, DigitPairs)
            assert (trial.task.setting, trial.task.images) == (letter, "mnist")
            stack = trial.model.stack([0], trial.task.input_shape, 1, 10)
            assert sum(p.numel() for p in stack.parameters()) == 1_150_090
            recipe = trial.recipe
            assert (recipe.steps, recipe.batch, recipe.optimizer) == (200, 64, Adam(1e-3))
            assert (recipe.loss, recipe.evaluation_examples) == ("categorical-hinge", pairs)
            assert len(needs[letter].seeds) == 20
    assert len(PART.cells(scale="paper", profile="as-run", seeds=5)["A"].seeds) == 5


def test_tables_and_figures_of_a_short_run() -> None:
    cells, specs = {}, {}
    for name, need in PART.cells(scale="quick", profile="as-printed", seeds=2).items():
        made = override(need.cell, dict(map(setting, (*PART.smallest, "task.shifts=0,5"))))
        assert isinstance(made, Trial)
        cells[name], specs[name] = Seeds(made.run(need.seeds, Context())), made
    study = catalog.find("studies", "gradient")
    results = Results("quick", "as-printed", cells, specs)
    finding = find(study, PART, results, command="x", made_with={})
    assert "5,000 images of MNIST, evaluated on 20 pairs a split" in finding.tables[0].note
    examples = finding.figures[0]
    assert "plus one of 0, 5 (mod 10)" in examples.caption
    assert [panel.title for panel in examples.panels] == [
        "B trains, test: 3, 4", "A and B train: 7, 7", "A and B train: 3, 8", "A and B train: 7, 2",
    ]  # fmt: skip
    assert [claim.id for claim, _ in finding.claims] == ["A1", "A2", "A3"]
    assert [table.id for table in finding.tables] == ["accuracy", "rise", "dependence", "three"]
    where = {figure.where: figure for figure in finding.figures}
    assert {"Figure 3a", "Figure 3b"} <= set(where)
    assert len(where["Figure 3a"].panels[0].marks) == 2
    (matrices,) = [figure for figure in finding.figures if figure.id == "matrices"]
    before = matrices.panels[0].marks[0]
    flips = cells["three-A"].array("dependence/flip")[0, 0]
    assert before.values[-1, 0] == flips[0, 0] and before.values[0, -1] == flips[2, 2]  # type: ignore[union-attr]


def test_paper_scale_without_data_is_one_line_and_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path / "none"))
    store = tmp_path / "store"
    words = ("reproduce", "gradient/pairs", "--scale", "paper", "--seeds", 1, "--workers", 1)
    said = call(*words, "--store", store)
    assert (said.code, said.out) == (2, "")
    assert "mnist is absent" in said.line and "'recombine data get mnist'" in said.line
    assert not list(store.glob("runs/*/*"))


def test_damaged_data_is_one_line_and_stores_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    for file in data.find("mnist").files:
        with open(tmp_path / "mnist" / file.name, "wb") as hollow:
            hollow.truncate(file.size)  # as long as it should be, and nothing in it
    words = ("reproduce", "gradient/pairs", "--scale", "paper", "--seeds", 1, "--workers", 1)
    said = call(*words, "--store", tmp_path / "store")
    assert said.code == 2
    last = said.err.splitlines()[-1]
    assert "is damaged (wrong hash)" in last and "'recombine data get mnist'" in last
    assert not list((tmp_path / "store").glob("runs/*/*"))


def test_examples_are_drawn_where_the_images_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    needs = PART.cells(scale="paper", profile="as-printed", seeds=1)
    specs = {name: need.cell for name, need in needs.items()}
    assert len(examples(Results("paper", "as-printed", {}, specs)).panels) == 4
