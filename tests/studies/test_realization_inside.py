"""Parts `inside` and `surgery` of `realization`: cells, judges, and identities of operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from recombine.cell import Context, Outcome
from recombine.errors import BadValue
from recombine.spec import key_of
from recombine.studies.realization_inside import (
    InsidePart,
    gates_are_saturated,
    groups_are_smaller,
)
from recombine.studies.realization_looking import GATES, ROWS
from recombine.studies.realization_surgery import (
    GRAFTS,
    SurgeryPart,
    embedding_does_not_matter,
    nothing_rescues,
    pruning_collapses,
    retraining,
    retraining_restores,
    whole_parts_matter,
)
from recombine.studies.realization_surgery_cells import Graft, Pruning, Surgery, fresh, selected
from recombine.studies.realization_surgery_shown import ROWS as LABELS
from recombine.studies.realization_trained import network, trained
from recombine.studies.results import Results, Seeds
from recombine.training.trial import Trial

NEW = "new_compositions"


def small(kind: str = "guided") -> Trial:
    trial = network(kind, scale="quick", profile="as-run")  # type: ignore[arg-type]
    model = replace(trial.model, hidden=8, output_embedding=8)
    return replace(trial, model=model, recipe=replace(trial.recipe, steps=12, evaluate_at=(0, 6)))


def remembering() -> Context:
    """A context that trains each network once."""
    known: dict[tuple[str, int], Outcome] = {}

    def recall(cell: Trial, seed: int) -> Outcome:
        place = (key_of(cell), seed)
        if place not in known:
            known[place] = cell.run([seed], Context())[seed]
        return known[place]

    return Context(recall=recall)  # type: ignore[arg-type]


CONTEXT = remembering()


def operate(host: Trial, donor: Trial, graft: Graft, steps: int) -> Outcome:
    retrain = replace(retraining(host, 1), steps=steps, evaluate_at=(0, steps))
    return Surgery(host, donor.recipe, (graft,), retrain, "last").run([1], CONTEXT)[1]


@pytest.mark.parametrize("graft", GRAFTS["guided"], ids=lambda graft: graft.label)
def test_a_component_exchanged_for_itself_changes_nothing(graft: Graft) -> None:
    host = small()
    weights = CONTEXT.recall(host, 1).scalars
    before = operate(host, host, graft, 0).scalars
    for split in (NEW, "train", "heldout_inputs"):
        assert before[f"{graft.label}/first/{split}"] == weights[f"accuracy/{split}"]


def test_every_pattern_names_parameters_and_cells_are_whole() -> None:
    host = trained(small(), 1, CONTEXT, weights="last")
    for grafts in GRAFTS.values():
        for graft in grafts:
            for pattern in graft.parameters:
                assert any(name.startswith(pattern.rstrip("*")) for name in host)


def test_the_rows_that_are_shown_are_the_rows_that_are_run() -> None:
    assert {kind: tuple(g.label for g in grafts) for kind, grafts in GRAFTS.items()} == LABELS
    part = SurgeryPart()
    paper = part.cells(scale="paper", profile="as-run", seeds=3)
    assert {f"{kind}, {g.label}" for kind, grafts in GRAFTS.items() for g in grafts} < set(paper)
    assert len(part.cells(scale="quick", profile="as-run", seeds=3)) == 5


def test_keys_of_paper_scale_do_not_drift() -> None:
    """Golden: what is stored for hours of training must be found again."""
    inside = InsidePart().cells(scale="paper", profile="as-run", seeds=5)
    surgery = SurgeryPart().cells(scale="paper", profile="as-run", seeds=3)
    assert key_of(inside["guided"].cell) == "15bea3a37e95fb5406e6c28b"
    assert key_of(surgery["guided, encoder"].cell) == "c0e2f9b39e5855442298ebff"
    assert key_of(surgery["pruning"].cell) == "d755b5ac063247a1afff8d40"


def test_what_is_kept_by_a_rule_is_what_is_opened() -> None:
    trial = small()
    weights = CONTEXT.recall(trial, 1).weights
    for rule in ("last", "lowest-dev-loss", "best-dev-accuracy"):
        found = trained(trial, 1, CONTEXT, weights=rule)  # type: ignore[arg-type]
        prefix = "" if rule == "last" else f"{rule}:"
        assert set(found) == {name for name, _ in fresh(trial, [found]).named_parameters()}
        assert all(np.array_equal(v, weights[prefix + name]) for name, v in found.items())


def test_exchanges_side_by_side_are_those_alone() -> None:
    host, donor = small("guided"), small("baseline")
    retrain = replace(retraining(host, 1), steps=5, evaluate_at=(0, 5))
    some = (GRAFTS["guided"][0], GRAFTS["guided"][4])
    together = Surgery(host, donor.recipe, some, retrain, "last").run([1], CONTEXT)[1]
    for graft in some:
        alone = Surgery(host, donor.recipe, (graft,), retrain, "last").run([1], CONTEXT)[1]
        for name, value in alone.scalars.items():
            assert together.scalars[name] == pytest.approx(value, abs=1e-6)


def test_a_donor_may_have_started_elsewhere() -> None:
    host, donor, asked = small("baseline"), small("guided"), []

    def recall(cell: Trial, seed: int) -> Outcome:
        asked.append((key_of(cell), seed))
        return CONTEXT.recall(cell, seed)

    retrain = replace(retraining(host, 1), steps=0)
    cell = Surgery(host, donor.recipe, GRAFTS["baseline"][1:], retrain, "last", apart=2)
    cell.run([1], Context(recall=recall))  # type: ignore[arg-type]
    assert asked == [(key_of(host), 1), (key_of(donor), 3)]
    assert key_of(replace(cell, apart=0)) != key_of(cell)
    with pytest.raises(BadValue, match="apart"):
        replace(cell, apart=-1)


def test_pruning_nothing_leaves_the_network_and_everything_leaves_its_biases() -> None:
    host = small()
    retrain = replace(retraining(host, 1), steps=0)
    whole = Pruning(host, retrain, keep=1.0, weights="last").run([1], CONTEXT)[1].scalars
    assert all(whole[f"first/{split}"] == whole[f"whole/{split}"] for split in (NEW, "train"))
    none = Pruning(host, retrain, keep=0.0, weights="last").run([1], CONTEXT)[1].scalars
    parameters = trained(host, 1, CONTEXT, weights="last")
    word = int(np.argmax(parameters["decoder.output_bias"]))
    targets = torch.from_numpy(host.task.targets(host.task.combinations("train")))
    constant = ((targets == word) | (targets == -1)).all(-1).double().mean()
    assert none["first/train"] == pytest.approx(float(constant))


def test_rules_choose_among_epochs_after_the_operation() -> None:
    curve = {
        "loss/validation": [0.1, 3.0, 1.0, 2.0],
        "accuracy/validation": [0.9, 0.3, 0.2, 0.1],
        "accuracy/train": [0.0, 0.1, 0.2, 0.3],
    }
    found = selected(curve)
    assert (found["first/train"], found["last/train"]) == (0.0, 0.3)
    assert (found["lowest-dev-loss/train"], found["best-dev-accuracy/train"]) == (0.2, 0.1)


def results(**cells: list[dict[str, float]]) -> Results:
    made = {
        name: Seeds({i: Outcome(s) for i, s in enumerate(rows)}) for name, rows in cells.items()
    }
    return Results("quick", "last-epoch", made)


def probed(units: float, spread: float, saturated: float) -> list[dict[str, float]]:
    return [
        {f"diagnostics/{row.name}.honest/units": units + spread * i for row in ROWS}
        | {f"gates/{part}.{gate}/saturated": saturated + 0.01 * i for part, gate in GATES}
        for i in range(5)
    ]


def test_groups_and_gates_are_judged_in_both_directions() -> None:
    small_groups, large_groups = probed(3, 0.1, 0.6), probed(30, 0.5, 0.1)
    as_claimed = results(baseline=large_groups, guided=small_groups)
    other_way = results(baseline=small_groups, guided=large_groups)
    assert groups_are_smaller(as_claimed, 0.95, variant="honest").outcome == "reproduced"
    assert groups_are_smaller(other_way, 0.95, variant="honest").outcome == "contradicted"
    assert gates_are_saturated(as_claimed, 0.95).outcome == "reproduced"
    assert gates_are_saturated(other_way, 0.95).outcome == "contradicted"
    one_row = [dict(row) for row in small_groups]
    for i, row in enumerate(one_row):
        row[f"diagnostics/{ROWS[0].name}.honest/units"] = 30.0 + 9 * (-1) ** i
    mixed = results(baseline=large_groups, guided=one_row)
    assert groups_are_smaller(mixed, 0.95, variant="honest").outcome == "inconclusive"


def operated(alone: float, left: float, pruned: float, after: float) -> Results:
    def row(label: str, value: float, i: int) -> dict[str, float]:
        return {f"{label}/last/{NEW}": value + 0.01 * i, f"{label}/first/{NEW}": value}

    guided = [
        row("encoder", left, i) | row("decoder", left, i) | row("encoder embedding", alone, i)
        for i in range(3)
    ]  # fmt: skip
    baseline = [row("encoder", left, i) | row("decoder", left, i) for i in range(3)]
    cut = [
        {f"whole/{NEW}": alone, f"first/{NEW}": pruned + 0.01 * i, f"last/{NEW}": after + 0.01 * i}
        for i in range(3)
    ]
    made = results(guided=guided, baseline=baseline, pruning=cut)
    curves = {f"accuracy/{NEW}": np.array([0.0, alone])}
    # a network more than was operated on
    hosts = Seeds({i: Outcome({}, {n: v + 0.01 * i for n, v in curves.items()}) for i in range(4)})
    return replace(made, cells={**made.cells, "guided network": hosts})


def test_operations_are_judged_in_both_directions() -> None:
    as_claimed = operated(alone=0.9, left=0.1, pruned=0.1, after=0.9)
    otherwise = operated(alone=0.9, left=0.85, pruned=0.85, after=0.2)
    for judge in (whole_parts_matter, nothing_rescues, pruning_collapses, retraining_restores):
        assert judge(as_claimed, 0.95).outcome == "reproduced", judge.__name__
        assert judge(otherwise, 0.95).outcome == "contradicted", judge.__name__
    assert embedding_does_not_matter(as_claimed, 0.95).outcome == "reproduced"


def test_networks_that_know_nothing_prove_nothing() -> None:
    empty = operated(alone=0.02, left=0.0, pruned=0.0, after=0.02)
    assert embedding_does_not_matter(empty, 0.95).outcome == "inconclusive"
    assert retraining_restores(empty, 0.95).outcome == "inconclusive"


@pytest.mark.parametrize(("scale", "outcome"), [("quick", "inconclusive"), ("paper", "reproduced")])
def test_retraining_that_is_too_short_proves_nothing(scale: str, outcome: str) -> None:
    made = operated(alone=0.9, left=0.1, pruned=0.1, after=0.9)
    needs = SurgeryPart().cells(scale=scale, profile="last-epoch", seeds=3)
    decoder = needs.get("baseline") or needs["baseline, decoder"]
    ran = replace(made, specs={"baseline": decoder.cell, "pruning": needs["pruning"].cell})
    for judge in (nothing_rescues, retraining_restores):
        assert judge(ran, 0.95).outcome == outcome
