"""The cells of `reuse` keep their promises; its judges decide results made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from recombine import catalog
from recombine.cell import Cell, Context, Outcome
from recombine.conduct import setting
from recombine.errors import BadValue
from recombine.spec import override
from recombine.studies import Results, Seeds, find
from recombine.studies import reuse_diagonal_shown as shown
from recombine.studies.reuse_diagonal import (
    DiagonalPart,
    alone_is_best,
    both_are_sparse,
    both_reuse,
    nested,
    rescaling_elicits,
    rescaling_unharms,
)
from recombine.studies.reuse_forms import GroupNorms, PenaltyForms
from recombine.studies.reuse_penalty import (
    PenaltyPart,
    exact_form,
    printed_form,
    with_decay,
    without_decay,
)
from recombine.studies.reuse_regimes import (
    FACTORS,
    RegimesPart,
    comparable_strength,
    grid,
    large_is_lazy,
    partly_shared,
    small_costs,
)
from recombine.studies.reuse_relu import (
    ReluPart,
    correlated,
    few_samples,
    many_samples,
    one_unit,
    unrelated,
)
from recombine.studies.reuse_sparse import DescentReuse, ExactReuse
from recombine.studies.reuse_teachers import ReluReuse
from recombine.studies.study import Part

SMALL = {"dimension": 30, "active": 4, "main_active": 4, "overlap": 2, "aux_samples": 20}
CELLS: dict[str, Cell] = {
    "exact": ExactReuse(**SMALL, samples=(3, 6), rescalings=(1.0, 0.1)),
    "descent": DescentReuse(**SMALL, samples=(3, 6), rescalings=(1.0, 0.1), steps=300),
    "wide": DescentReuse(**{**SMALL, "dimension": 300}, samples=(3, 6), steps=60),
    "forms": PenaltyForms(steps=300),
    "groups": GroupNorms(steps=300, scales=(0.1, 0.001)),
    "relu": ReluReuse(hidden=20, samples=(8, 16), aux_samples=200, steps=150, pretrain_steps=150),
    "relu-wide": ReluReuse(hidden=300, samples=(40,), aux_samples=130, steps=10, pretrain_steps=10),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_seed_has_the_same_bits_alone_and_beside_others(name: str) -> None:
    cell = CELLS[name]
    together = cell.run([3, 0, 5, 1, 2], Context())
    for seed in (5, 2):
        alone = cell.run([seed], Context())[seed]
        assert alone.scalars == together[seed].scalars
        for key, value in alone.arrays.items():
            assert np.array_equal(value, together[seed].arrays[key]), f"{key} of seed {seed}"


@pytest.mark.parametrize("name", CELLS)
def test_cells_tell_their_progress_and_give_finite_numbers(name: str) -> None:
    told: list[tuple[int, int]] = []
    outcome = CELLS[name].run([1], Context(progress=lambda *at: told.append(at)))[1]
    assert told and all(done <= total for done, total in told)
    assert all(np.isfinite(value).all() for value in outcome.arrays.values())


def test_teachers_share_what_they_should() -> None:
    cell = ExactReuse(**SMALL)
    draw = cell.draw(0)
    shared = (draw.aux != 0) & (draw.main != 0)
    assert shared.sum() == 2 and (draw.aux * draw.main)[shared].min() > 0
    assert np.linalg.norm(draw.aux) == pytest.approx(1) == np.linalg.norm(draw.main)
    longer = replace(cell, samples=(3, 700)).draw(0)
    assert np.array_equal(longer.main_inputs[:512], draw.main_inputs)


def test_relu_teachers_have_the_correlation_they_say() -> None:
    for rho in (0.0, 0.9, 1.0):
        (aux, _), (main, _) = ReluReuse(correlation=rho).teachers(0)
        assert aux @ main.T == pytest.approx(rho * np.eye(6), abs=1e-12)
        assert main @ main.T == pytest.approx(np.eye(6), abs=1e-12)


def test_relu_teachers_share_as_many_units_as_they_say() -> None:
    (aux, _), (main, _) = ReluReuse(shared=5).teachers(0)
    assert aux @ main.T == pytest.approx(np.diag([1, 1, 1, 1, 1, 0]), abs=1e-12)
    assert main @ main.T == pytest.approx(np.eye(6), abs=1e-12)


def test_descent_ends_where_the_exact_solution_is() -> None:
    fields = {**SMALL, "samples": (3, 6), "gamma": 0.1}
    trained = DescentReuse(**fields, steps=4_000, rate=0.05).run([0], Context())[0].arrays
    solved = ExactReuse(**fields).run([0], Context())[0].arrays
    for method in ("stl", "ptft"):
        assert trained[f"test/{method}"] == pytest.approx(solved[f"test/{method}"], rel=0.02)
        assert (trained[f"best/{method}"] <= trained[f"test/{method}"] + 1e-12).all()


def test_the_exact_form_predicts_and_the_printed_does_not() -> None:
    scalars = PenaltyForms(steps=40_000, rate=0.01).run([0], Context())[0].scalars
    assert scalars["gap/exact"] < 0.005 < 0.03 < scalars["gap/printed"] < scalars["gap/script"]


@pytest.mark.parametrize(
    ("cell", "fields"),
    [
        (ExactReuse, {"overlap": 41}),
        (ExactReuse, {"dimension": 30}),
        (ExactReuse, {"gamma": 0.0}),
        (ExactReuse, {"samples": ()}),
        (ReluReuse, {"main_units": 7}),
        (ReluReuse, {"correlation": 2.0}),
        (ReluReuse, {"samples": (0,)}),
        (ReluReuse, {"shared": 7}),
        (ReluReuse, {"methods": ("guessing",)}),
        (ReluReuse, {"magnitude": 0.0}),
        (PenaltyForms, {"samples": 0}),
    ],
)
def test_what_cannot_be_drawn_is_refused(cell: type[Cell], fields: dict[str, object]) -> None:
    with pytest.raises(BadValue):
        cell(**fields)


# Judges, on results made by hand

LEVEL = 0.99
NOISE = np.random.default_rng(0).normal(0, 0.05, 8)


def seeds(sizes: tuple[int, ...], **levels: float | tuple[float, ...]) -> Seeds:
    """Eight seeds whose log10 losses are these at every size; of finetuning, by rescaling."""

    def arrays(seed: int) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {"samples": np.array(sizes)}
        for i, (method, level) in enumerate(levels.items()):
            flat = 10.0 ** (np.asarray(level) + np.roll(NOISE, i)[seed])
            shape = (*np.shape(flat), len(sizes))
            found[f"test/{method}"] = np.broadcast_to(np.asarray(flat)[..., None], shape)
        return found

    return Seeds({seed: Outcome({}, arrays(seed)) for seed in range(8)})


SIX = (3, 6, 12, 24, 48, 96)


def diagonal(**cells: Seeds) -> Results:
    return Results("quick", "as-run", {name.replace("_", "-"): c for name, c in cells.items()})


def test_r1_asks_both_methods_to_beat_learning_alone() -> None:
    good = seeds(SIX, stl=0.0, mtl=-1.0, ptft=(-2.0, -2.0))
    bad = seeds(SIX, stl=0.0, mtl=0.5, ptft=(-2.0, -2.0))
    undecided = seeds(SIX, stl=0.0, mtl=0.0, ptft=(-2.0, -2.0))
    assert both_reuse(diagonal(trained_shared=good), LEVEL).outcome == "reproduced"
    assert both_reuse(diagonal(trained_shared=bad), LEVEL).outcome == "contradicted"
    assert both_reuse(diagonal(trained_shared=undecided), LEVEL).outcome == "inconclusive"


def test_r2_asks_few_features_to_be_easier() -> None:
    many = seeds(SIX, stl=0.0, mtl=0.0, ptft=(0.0, 0.0))
    few = seeds(SIX, stl=0.0, mtl=-1.0, ptft=(-1.0, 0.0))
    results = diagonal(trained_new=many, trained_few_new=few)
    assert both_are_sparse(results, LEVEL).outcome == "reproduced"
    swapped = diagonal(trained_new=few, trained_few_new=many)
    assert both_are_sparse(swapped, LEVEL).outcome == "contradicted"


def test_r3_asks_learning_alone_to_be_best() -> None:
    good = seeds(SIX, stl=-2.0, mtl=-1.0, ptft=(-1.0, 0.0))
    assert alone_is_best(diagonal(trained_new=good), LEVEL).outcome == "reproduced"
    bad = seeds(SIX, stl=-2.0, mtl=-3.0, ptft=(-1.0, 0.0))
    assert alone_is_best(diagonal(trained_new=bad), LEVEL).outcome == "contradicted"


def test_r4_asks_rescaled_finetuning_to_win_on_a_subset() -> None:
    good = seeds(SIX, stl=0.0, mtl=-1.0, ptft=(0.0, -2.0))
    assert nested(diagonal(trained_few_shared=good), LEVEL).outcome == "reproduced"
    bad = seeds(SIX, stl=0.0, mtl=-3.0, ptft=(0.0, -2.0))
    assert nested(diagonal(trained_few_shared=bad), LEVEL).outcome == "contradicted"


def test_r5_and_r6_ask_what_rescaling_does() -> None:
    falls, rises = (
        seeds(SIX, stl=0.0, ptft=levels)
        for levels in ((0.0, -1.0, -2.0, -3.0), (-1.0, -0.5, 0.0, 0.0))
    )
    good = diagonal(few_shared=falls, overlap_40=rises, few_new=falls)
    assert rescaling_elicits(good, LEVEL).outcome == "reproduced"
    assert rescaling_unharms(good, LEVEL).outcome == "reproduced"
    bad = diagonal(few_shared=falls, overlap_40=falls, few_new=rises)
    assert rescaling_elicits(bad, LEVEL).outcome == "contradicted"
    assert rescaling_unharms(bad, LEVEL).outcome == "contradicted"


def test_k_and_g_ask_for_one_percent() -> None:
    def results(gap: float, excess: float) -> Results:
        forms = {"gap/exact": gap, "gap/printed": gap, "largest": 1.0}
        cells = {
            "forms": {s: Outcome({**forms, "largest": 1 + NOISE[s]}) for s in range(8)},
            "groups": {
                s: Outcome(
                    {"excess/decayed": excess * (1 + NOISE[s])},
                    {"excess/plain": np.array([0.5, excess * (1 + NOISE[s])])},
                )
                for s in range(8)
            },
        }
        return Results("quick", "as-run", {name: Seeds(found) for name, found in cells.items()})

    for judge in (exact_form, printed_form, with_decay, without_decay):
        assert judge(results(0.001, 0.001), LEVEL).outcome == "reproduced"
        assert judge(results(0.1, 0.1), LEVEL).outcome == "contradicted"


def relu(**cells: Seeds) -> Results:
    return Results("quick", "as-run", cells)


def test_u1_and_u2_ask_who_wins() -> None:
    sizes = (32, 64, 256)
    together = relu(same=seeds(sizes, stl=0.0, mtl=-2.0, ptft=(-1.0,)))
    after = relu(same=seeds(sizes, stl=0.0, mtl=-2.0, ptft=(-3.0,)))
    assert few_samples(together, LEVEL).outcome == "reproduced"
    assert many_samples(together, LEVEL).outcome == "contradicted"
    assert few_samples(after, LEVEL).outcome == "contradicted"
    assert many_samples(after, LEVEL).outcome == "reproduced"


@pytest.mark.parametrize(
    ("mtl", "ptft", "outcome"),
    [
        (-1.0, -4.0, "reproduced"),
        (-2.0, -4.0, "reproduced"),
        (-3.0, -4.0, "contradicted"),
        (-1.0, -1.0, "contradicted"),
        (-1.0, -2.0, "inconclusive"),
    ],
)
def test_u3_asks_finetuning_to_gain_and_multi_task_not_to(
    mtl: float, ptft: float, outcome: str
) -> None:
    results = relu(near=seeds((32, 256), stl=-2.0, mtl=mtl, ptft=(ptft,)))
    assert correlated(results, LEVEL).outcome == outcome


def test_u4_and_u5() -> None:
    worse = relu(unrelated=seeds((256,), stl=-2.0, mtl=-1.5, ptft=(-1.0,)))
    assert unrelated(worse, LEVEL).outcome == "reproduced"
    six, one = seeds((64,), mtl=-2.0, ptft=(-2.0,)), seeds((64,), mtl=-2.5, ptft=(-5.0,))
    assert one_unit(relu(same=six, one=one), LEVEL).outcome == "reproduced"
    assert one_unit(relu(same=one, one=six), LEVEL).outcome == "contradicted"


def test_v1_to_v3_ask_who_wins_and_what_rescaling_does() -> None:
    # factors are 1, .01, .1, 10, 100
    six, one = (
        seeds((64,), mtl=-2.0, ptft=levels)
        for levels in ((-2.0, -0.5, -0.5, -4.0, -4.0), (-4.0, -3.0, -3.0, -4.0, -4.0))
    )
    assert FACTORS[2:4] == (0.1, 10.0)
    good = relu(five=seeds((64,), mtl=-2.0, ptft=(-1.0,)), six=six, one=one)
    bad = relu(five=seeds((64,), mtl=-1.0, ptft=(-2.0,)), six=one, one=six)
    for judge in (partly_shared, large_is_lazy):
        assert judge(good, LEVEL).outcome == "reproduced"
        assert judge(bad, LEVEL).outcome == "contradicted"
    assert small_costs(good, LEVEL).outcome == "reproduced"


@pytest.mark.parametrize(
    ("strong", "weak", "outcome"),
    [
        (-4.0, -2.0, "reproduced"),
        (-4.0, -3.0, "contradicted"),
        (-1.0, -2.0, "contradicted"),
        (-4.0, -2.3, "inconclusive"),
    ],
)
def test_v4_asks_for_a_gain_only_at_equal_strength(
    strong: float, weak: float, outcome: str
) -> None:
    cells = {
        grid(0.9, 1.0): seeds((256,), stl=-2.0, ptft=(strong,)),
        grid(0.9, 0.1): seeds((256,), stl=-2.0, ptft=(weak,)),
    }
    assert comparable_strength(relu(**cells), LEVEL).outcome == outcome


def short_run(part: Part, seeds: int, *settings: str) -> Results:
    cells, specs = {}, {}
    for name, need in part.cells(scale="quick", profile="as-run", seeds=seeds).items():
        cell = override(need.cell, dict(map(setting, (*part.smallest, *settings))))
        assert isinstance(cell, Cell)
        cells[name], specs[name] = Seeds(cell.run(need.seeds, Context())), cell
    return Results("quick", "as-run", cells, specs)


def test_one_seed_is_drawn_and_tables_tell_what_was_run() -> None:
    part = PenaltyPart()
    results = short_run(part, 1, "dimension=7", "samples=3")
    forms, _, groups = part.tables(results)
    assert forms.note.startswith("7 inputs, 3 examples")
    assert "7 inputs and 3 examples" in groups.note
    limits = part.figures(results)[-1].panels[0].y.limits
    assert limits is not None and np.isfinite(limits).all()


def test_tables_of_regimes_tell_how_many_samples_were_used() -> None:
    results = short_run(RegimesPart(), 2, "samples=8")
    shared, factors, magnitudes = RegimesPart().tables(results)
    assert all("n = 8" in table.title for table in (shared, factors, magnitudes))
    assert shared.rows[1][1] is None and {row[2] for row in factors.rows} == {None}
    assert {row[3] for row in magnitudes.rows} == {None}


def exact(part: DiagonalPart, **changes: object) -> Results:
    """The solved cells of the part, made by hand."""
    needs = part.cells(scale="quick", profile="as-run", seeds=2)
    specs = {name: replace(need.cell, **changes) for name, need in needs.items()}  # type: ignore[arg-type]
    sizes, factors = specs["few-shared"].samples, specs["few-shared"].rescalings  # type: ignore[attr-defined]
    made = seeds(sizes, stl=-1.0, ptft=tuple(-float(i) for i in range(len(factors))))
    return Results("quick", "as-run", dict.fromkeys(specs, made), specs)


def test_published_numbers_stand_beside_their_own_settings_only() -> None:
    part = DiagonalPart()
    rows = shown.rescaling_table(exact(part)).rows
    assert [row[3] for row in rows[:3]] == ["0.12", "0.006", "0.002"]
    other = shown.rescaling_table(
        exact(part, dimension=90, samples=(4, 6, 8), rescalings=(2.0, 1.0))
    )
    assert [row[2:4] for row in other.rows[:2]] == [("2", None), ("1", None)]
    assert "D = 90" in other.note


def test_claims_refuse_sizes_and_factors_that_were_not_run() -> None:
    few = exact(DiagonalPart(), samples=(4, 6, 8), rescalings=(1.0, 0.1))
    with pytest.raises(BadValue, match="at least 4 sizes"):
        both_reuse(few, LEVEL)
    with pytest.raises(BadValue, match="rescalings"):
        rescaling_unharms(few, LEVEL)


@pytest.mark.parametrize("part", [PenaltyPart(), DiagonalPart(), ReluPart(), RegimesPart()])
def test_tables_and_figures_of_a_short_run(part: Part) -> None:
    study = catalog.find("studies", "reuse")
    finding = find(study, part, short_run(part, seeds=3), command="x", made_with={})
    assert finding.tables and finding.figures and finding.seeds >= 3
    assert len(finding.claims) == len(part.judges())


def test_paper_scale_has_the_published_sizes() -> None:
    cells = DiagonalPart().cells(scale="paper", profile="as-run", seeds=6)
    trained = cells["trained-shared"].cell
    assert isinstance(trained, DescentReuse)
    assert (trained.dimension, trained.active, trained.aux_samples) == (1000, 40, 1024)
    relu_cell = ReluPart().cells(scale="paper", profile="as-run", seeds=6)["same"].cell
    assert isinstance(relu_cell, ReluReuse)
    assert relu_cell.hidden == 1000 and relu_cell.samples == (16, 32, 64, 128, 256, 512)
