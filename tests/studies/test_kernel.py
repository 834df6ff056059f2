"""What the study `kernel` reads off answers, what it asks to be run, and what only on request."""

from dataclasses import replace

import numpy as np
import pytest

from recombine.analyses.additivity import rows
from recombine.cell import Context, Outcome
from recombine.conduct import everything, requests
from recombine.spec import key_of
from recombine.studies.kernel import STUDY
from recombine.studies.kernel_cells import Dispersed, Forms, WideNets
from recombine.studies.kernel_images_shown import course_table, halves_named
from recombine.studies.kernel_reading import (
    conjunction_shares,
    inferred_values,
    kind_of,
    lazy_leak,
    outermost_slope,
    relative_margin,
    shrinkage,
)
from recombine.studies.results import Results, Seeds
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence


def answered(*tables: np.ndarray) -> Seeds:
    return Seeds({i: Outcome({}, {"answers/mean": t[None]}) for i, t in enumerate(tables)})


def test_a_shrunken_copy_has_its_slope_and_constant() -> None:
    task = Addition(trained_items=SETS["both"])
    z, _ = rows(task)
    cell = answered(0.7 * task.values[z].sum(axis=1) - 1.5, task.values[z].sum(axis=1))
    slope, constant = shrinkage(cell, task)
    assert slope == pytest.approx([0.7, 1.0])
    assert constant == pytest.approx([-1.5, 0.0])


def test_items_have_the_values_that_held_out_answers_give_them() -> None:
    task = Addition(trained_items=SETS["interpolation"])
    z, train = rows(task)
    # Trained pairs are right; in the others every item counts .7 of its value, items ±3 only half.
    given = np.where(np.abs(task.values) == 3, 0.5, 0.7) * task.values
    table = np.where(train, task.values[z].sum(axis=1), given[z].sum(axis=1) - 1.5)[None]
    found = inferred_values(table, task)[0]
    held = [item for item in range(task.items) if item not in task.trained_items]
    assert np.diff(found[held]) == pytest.approx(np.diff(given[held]))
    assert found[[0, 8]] == pytest.approx(task.values[[0, 8]] + 1.5 * 7 / 9)
    assert outermost_slope(table, task) == pytest.approx([0.5])


def test_a_margin_is_relative_to_the_trained_cells() -> None:
    task = ContextDependence()
    z, train = rows(task)
    y = 2 * task.targets(z)[:, 0] - 1
    cell = answered(np.where(train, 2 * y, -y).astype(float))
    assert relative_margin(cell, task) == pytest.approx([-0.5])


def test_conjunctions_are_sorted_by_kind() -> None:
    assert kind_of((0,), (1,)) == "context"
    assert kind_of((0, 1), (0, 4)) == "right" and kind_of((0, 2), (0, 4)) == "wrong"
    assert kind_of((0, 1), (1, 4)) == "wrong" and kind_of((0, 2), (1, 4)) == "right"
    assert kind_of((1, 2), (0, 0)) == kind_of((2,), (0,)) == "sensory"
    assert kind_of((0, 1, 2), (0, 0, 0)) == "memorization"
    task = ContextDependence(left_out=1)
    z, _ = rows(task)
    y = (2 * task.targets(z)[:, 0] - 1).astype(float)
    shares = conjunction_shares(answered(y), task)
    assert max(shares, key=lambda name: shares[name][0]) == "right"
    assert sum(values[0] for values in shares.values()) == pytest.approx(1)


def test_lazy_theory_is_near_the_notes() -> None:
    assert lazy_leak(Addition()).slopes[0] == pytest.approx(0.759, abs=1e-3)
    assert lazy_leak(Addition(trained_items=SETS["both"])).slopes[0] == pytest.approx(
        0.863, abs=1e-3
    )


def test_closed_forms_hold_at_drawn_parameters() -> None:
    outcomes = Forms().run(range(300, 306), Context())
    for outcome in outcomes.values():
        gaps = dict(outcome.scalars)
        assert gaps.pop("ordering/accuracy") == 1
        assert max(gaps.values()) < 1e-6, gaps


def test_wide_nets_and_dispersed_pairs() -> None:
    assert WideNets().run([0], Context())[0].scalars["relu"] < 0.005
    error = Dispersed().run([0], Context())[0].arrays["error"]
    wanted = Addition(dispersed=0).values[Addition(dispersed=0).combinations("test")].sum(axis=1)
    assert error[0] == pytest.approx(np.mean(wanted**2)) and error[-1] < 1e-12
    assert (np.diff(error) < 0).all()


def test_long_parts_run_only_when_they_are_named() -> None:
    whole = {request.part.name for request in requests(["kernel"], scale="paper")}
    assert (
        not {
            "architectures",
            "images-apart",
            "images-beside",
            "images-distances",
            "images-few",
            "images-near",
        }
        & whole
    )
    assert {"theory", "dense", "images-addition", "images-context"} <= whole
    assert requests(["kernel/architectures"])[0].part.name == "architectures"
    assert {r.part.name for r in everything(["kernel"])} == {part.name for part in STUDY.parts}


def test_short_training_is_the_published_one_stopped_after_a_quarter() -> None:
    whole = requests(["kernel/images-addition"], scale="paper")[0].needs()
    whole |= requests(["kernel/images-context"], scale="paper")[0].needs()
    short = requests(["kernel/images-apart"], scale="paper")[0].needs()
    near = requests(["kernel/images-short"], scale="paper")[0].needs()
    assert key_of(short["CD-3 near"].cell) == key_of(near["CD-3 near"].cell)
    for name, need in [*near.items(), *short.items()]:
        mine, published = need.cell.trial, whole[name].cell.trial  # type: ignore[attr-defined]
        assert (mine.task, mine.model) == (published.task, published.model)
        assert 4 * mine.recipe.steps == published.recipe.steps
        marks = published.recipe.evaluate_at
        assert replace(mine.recipe, steps=4 * mine.recipe.steps, evaluate_at=marks) == (
            published.recipe
        )
    quick = requests(["kernel/images-short"])[0].needs()
    same = requests(["kernel/images-addition"])[0].needs()
    assert all(quick[name] == same[name] for name in quick.keys() & same.keys())


def test_halves_stand_where_a_part_or_a_profile_says_so() -> None:
    few = requests(["kernel/images-few"], scale="paper")[0]
    apart = requests(["kernel/images-apart"], scale="paper")[0].needs()
    needs = few.needs()
    assert key_of(needs["CD-3 far"].cell) == key_of(apart["CD-3 far"].cell)
    for part, halves in (
        ("images-addition", {"extrapolation far", "interpolation far"}),
        ("images-context", {"CD-3 far", "CD-1 far"}),
    ):
        plain, half = (
            requests([f"kernel/{part}"], scale="paper", profile=p)[0].needs()
            for p in ("as-run", "half")
        )
        assert {n for n in plain if key_of(plain[n].cell) != key_of(half[n].cell)} == halves
        for name in halves:
            mine, single = half[name].cell.trial, plain[name].cell.trial  # type: ignore[attr-defined]
            assert replace(mine, model=single.model) == single and mine.model.precision == "half"
    mine = needs["CD-1 far"].cell.trial  # type: ignore[attr-defined]
    assert mine.model == half["CD-1 far"].cell.trial.model  # type: ignore[attr-defined]
    assert 4 * mine.recipe.steps == half["CD-1 far"].cell.trial.recipe.steps  # type: ignore[attr-defined]
    assert (
        requests(["kernel/images-few"])[0].needs()["CD-1 far"]
        == (requests(["kernel/images-context"])[0].needs()["CD-1 far"])
    )


def test_tables_name_the_cells_in_halves() -> None:
    request = requests(["kernel/images-few"], scale="paper")[0]
    specs = {name: need.cell for name, need in request.needs().items()}
    wanted = STUDY.part("images-few").wanted  # type: ignore[attr-defined]
    results = Results("paper", "short", {}, specs)
    assert halves_named(results, wanted) == " In half precision: CD-1 far."
    assert halves_named(Results("paper", "short", {}), wanted) == ""


def test_the_short_residual_network_is_the_published_one_stopped_after_a_quarter() -> None:
    whole = requests(["kernel/architectures"], scale="paper")[0].needs()
    for part, name in (("residual-addition", "extrapolation"), ("residual-context", "CD-3")):
        mine = requests([f"kernel/{part}"], scale="paper")[0].needs()[name].cell.trial  # type: ignore[attr-defined]
        published = whole[f"resnet {name}"].cell.trial  # type: ignore[attr-defined]
        assert mine.recipe.steps == 25 * (40_000 // 128)
        steps, marks = published.recipe.steps, published.recipe.evaluate_at
        assert replace(mine, recipe=replace(mine.recipe, steps=steps, evaluate_at=marks)) == (
            published
        )


@pytest.mark.parametrize(("slope", "noise", "leaks"), [(0.43, 0.0, True), (1.0, 0.05, False)])
def test_the_residual_network_leaks_where_held_out_sums_are_flat(
    slope: float, noise: float, leaks: bool
) -> None:
    task = Addition()
    z, train = rows(task)
    rng = np.random.default_rng(0)
    sums = task.values[z].sum(axis=1)
    tables = [np.where(train, 1, slope) * sums + noise * rng.standard_normal(81) for _ in range(3)]
    results = Results("paper", "short", {"extrapolation": answered(*tables)})
    verdict = STUDY.part("residual-addition").judges()["C3"](results, 0.95)
    assert (verdict.outcome == "reproduced") is leaks


def test_side_by_side_is_trained_as_in_the_study() -> None:
    """Seeds count for `images-context` and `images-equivalence` as well."""
    whole = requests(["kernel/images-context"], scale="paper")[0].needs()
    whole |= requests(["kernel/images-equivalence"], scale="paper")[0].needs()
    beside = requests(["kernel/images-beside"], scale="paper")[0].needs()
    assert set(beside) == {"CD-3 near", "CD-1 near", "equivalence near"}
    assert all(key_of(beside[name].cell) == key_of(whole[name].cell) for name in beside)


def test_salience_over_distance_is_measured_before_training() -> None:
    request = requests(["kernel/images-salience"], seeds=3)[0]
    cells = {
        name: Seeds(dict(need.cell.run(need.seeds, Context())))
        for name, need in request.needs().items()
    }
    results = Results("quick", "as-run", cells)
    assert request.part.judges()["B8"](results, 0.95).effect > 0.02
    lines = request.part.tables(results)[0].rows
    assert [line[0] for line in lines] == [0, 4, 8]
    for _, salience, one, _, two in lines:
        assert 0 < salience.estimate < 0.5 and one.estimate < two.estimate < 1
    at = results["d=4"].steps("salience")
    assert at.tolist() == [0]


def test_the_course_of_training_tells_what_was_still_to_come() -> None:
    losses = np.array([[9.0, 5.0, 4.0], [9.0, 6.0, 4.0]])
    steps = {f"loss/{part}@steps": np.array([0, 10, 20]) for part in ("train", "test")}
    seeds = {
        i: Outcome({}, {"loss/test": row, "loss/train": row / 2, **steps})
        for i, row in enumerate(losses)
    }
    wanted = [("extrapolation near", Addition(), False)]
    results = Results("paper", "short", {"extrapolation near": Seeds(seeds)})
    updates, now, left, trained = zip(
        *(line[1:] for line in course_table(results, wanted, measure="loss").rows), strict=True
    )
    assert updates == (0, 10, 20)
    assert [interval.estimate for interval in left[:2]] == [-5.0, -1.5] and left[2] is None
    assert now[1].estimate == 5.5 and trained[1].estimate == 2.75


def test_paper_scale_is_the_published_size() -> None:
    needs = requests(["kernel/images-context"], scale="paper")[0].needs()
    trial = needs["CD-3 far"].cell.trial  # type: ignore[attr-defined]
    assert trial.task.input_shape == (3, 28, 68)
    assert trial.recipe.examples == 30_000 and trial.recipe.steps == 100 * (30_000 // 128)
    dense = requests(["kernel/dense"], scale="paper")[0].needs()
    assert len([name for name in dense if name.startswith("equivalence")]) == 2 * 7
    assert len(dense["both 1e-6"].seeds) == 6
