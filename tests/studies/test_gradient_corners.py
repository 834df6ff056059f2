"""The judges of gradient/corners on results made by hand, its tables and figures on real ones."""

from dataclasses import replace

import numpy as np
import pytest

from recombine import catalog
from recombine.cell import Context, Outcome
from recombine.spec import override
from recombine.studies import Finding, Results, Seeds, find
from recombine.studies.gradient_corners import (
    CornersPart,
    errs_nearly_always,
    errs_widely,
    leans_at_once,
    leans_not,
)
from recombine.training import Trial

PART = CornersPart()
LEVEL = 0.9875


def main_with(errors: np.ndarray) -> Results:
    outcomes = {
        seed: Outcome({}, {"boundary/error": np.array([error])})
        for seed, error in enumerate(errors)
    }
    return Results("quick", "as-run", {"main": Seeds(outcomes)})


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [
        (RNG.normal(0.3, 0.1, 200), "reproduced"),
        (RNG.normal(0.1, 0.05, 200), "contradicted"),
        (RNG.normal(0.2, 0.1, 50), "inconclusive"),
    ],
)
def test_d1_asks_for_a_large_mean_error(errors: np.ndarray, outcome: str) -> None:
    assert errs_widely(main_with(errors), LEVEL).outcome == outcome


@pytest.mark.parametrize(
    ("cut", "outcome"), [(200, "reproduced"), (150, "contradicted"), (182, "inconclusive")]
)
def test_d2_asks_for_nearly_all_seeds(cut: int, outcome: str) -> None:
    errors = np.where(np.arange(200) < cut, 0.1, 0.01)
    assert errs_nearly_always(main_with(errors), LEVEL).outcome == outcome


def first_updates(information: float, slope: float) -> Seeds:
    noise = np.random.default_rng(1).normal(0, 0.01, (100, 2))

    def arrays(seed: int) -> dict[str, np.ndarray]:
        after = np.zeros((2, 1, 2))
        told, leans = after.copy(), after.copy()
        told[1, 0, 1] = information + noise[seed, 0]
        leans[1, 0, 1] = slope + noise[seed, 1]
        return {"redundancy/information": told, "redundancy/slope": leans}

    return Seeds({seed: Outcome({}, arrays(seed)) for seed in range(100)})


def propositions(redundant: tuple[float, float], independent: tuple[float, float]) -> Results:
    cells = {
        "linear-redundant": first_updates(*redundant),
        "linear-independent": first_updates(*independent),
    }
    return Results("quick", "as-run", cells)


def test_t1_asks_for_information_beyond_chance_and_a_slope() -> None:
    assert leans_at_once(propositions((0.4, -0.1), (0.1, 0.0)), LEVEL).outcome == "reproduced"
    assert leans_at_once(propositions((0.1, -0.1), (0.4, 0.0)), LEVEL).outcome == "contradicted"
    assert leans_at_once(propositions((0.4, 0.0), (0.1, 0.0)), LEVEL).outcome == "inconclusive"


def test_t2_asks_for_no_slope_where_nothing_is_told() -> None:
    assert leans_not(propositions((0.4, -0.1), (0.1, 0.0)), LEVEL).outcome == "reproduced"
    assert leans_not(propositions((0.4, -0.1), (0.1, -0.09)), LEVEL).outcome == "contradicted"


def test_the_published_network_has_its_sizes() -> None:
    for profile, outputs in (("as-printed", 2), ("as-run", 1)):
        trial = PART.cells(scale="paper", profile=profile, seeds=1)["main"].cell
        assert isinstance(trial, Trial)
        stack = trial.model.stack([0], (2,), 1, 2)
        count = sum(p.numel() for p in stack.parameters())
        assert count == 2 * 8 + 8 + 2 * (8 * 8 + 8) + 8 * outputs + outputs
        assert (trial.recipe.batch, trial.recipe.optimizer.rate) == (10, 0.1)
        assert trial.recipe.steps == (1024 if profile == "as-printed" else 1024 * 18)


def test_quick_and_paper_share_the_cells_that_do_not_differ() -> None:
    quick = PART.cells(scale="quick", profile="as-printed", seeds=100)
    paper = PART.cells(scale="paper", profile="as-printed", seeds=1000)
    assert {n: need.cell for n, need in quick.items()} == {
        n: need.cell for n, need in paper.items()
    }
    assert len(paper["main"].seeds) == 1000 and len(paper["portrait"].seeds) == 9


def short_run(profile: str, seeds: int, **settings: str) -> Finding:
    cells, specs = {}, {}
    for name, need in PART.cells(scale="quick", profile=profile, seeds=seeds).items():
        cell = override(need.cell, {"recipe.steps": "72", **settings})
        assert isinstance(cell, Trial)
        cells[name], specs[name] = Seeds(cell.run(need.seeds, Context())), cell
    study, results = catalog.find("studies", "gradient"), Results("quick", profile, cells, specs)
    return find(study, PART, results, command="x", made_with={})


def test_one_seed_is_shown_and_decides_nothing() -> None:
    finding = short_run("as-printed", 1)
    assert {verdict.outcome for _, verdict in finding.claims} == {"inconclusive"}
    assert finding.figures[2].panels[0].title == "1 seeds"


def test_the_plane_is_that_of_the_task_that_was_run() -> None:
    finding = short_run("as-printed", 1, **{"task.profile": "as-run"})
    assert finding.figures[0].panels[0].x.limits == (-5.3, 5.3)


@pytest.mark.parametrize("profile", PART.profiles)
def test_tables_and_figures_of_a_short_run(profile: str) -> None:
    finding = short_run(profile, 4)
    assert [table.id for table in finding.tables] == ["unseen-corner", "dependence", "propositions"]
    assert [figure.where for figure in finding.figures[:3]] == ["Figure 4", "Figure 5", "Figure 6"]
    assert finding.seeds == 4
    steps = [panel.title for panel in finding.figures[1].panels]
    unit = 1 if profile == "as-printed" else 18
    assert steps == [f"step {s}" for s in (0, 1, 4, 16, 64) if s * unit <= 72]
    assert replace(finding, command="y").plain() == finding.plain()
