"""`realization/accuracy`: judges on made-up numbers, the choice of an epoch, shared cells."""

import numpy as np
import pytest

from recombine.cell import Context, Outcome
from recombine.models.stack import read_sites
from recombine.spec import key_of
from recombine.studies.realization import STUDY
from recombine.studies.realization_accuracy import AccuracyPart
from recombine.studies.realization_accuracy_shown import PUBLISHED, SETS, at, chosen
from recombine.studies.realization_cells import LAST, LOSS, SELECTIONS, network, training
from recombine.studies.realization_chains import Chains
from recombine.studies.realization_variants import VariantsPart
from recombine.studies.results import Results, Seeds
from recombine.studies.study import judge

PART, VARIANTS = AccuracyPart(), VariantsPart()
EVERY = ("train", "validation", *SETS.values())


def cell(finals: dict[str, tuple[float, ...]]) -> Seeds:
    """Five seeds that pass through 0, these accuracies and .5; both rules chose the middle."""
    outcomes = {}
    for seed in range(5):
        arrays, scalars = {}, {f"kept_at/{label}": 232.0 for label in SELECTIONS[1:]}
        for split in EVERY:
            value = finals.get(split, (1.0,) * 5)[seed]
            arrays[f"accuracy/{split}"] = np.array([0.0, value, 0.5])
            arrays[f"accuracy/{split}@steps"] = np.array([0, 232, 464])
        outcomes[seed] = Outcome(scalars, arrays)
    return Seeds(outcomes)


def chains(value: float) -> Seeds:
    names = [f"longer_{kind}_{n}" for kind in ("seen", "incremental", "new") for n in (3, 4)]
    scalars = {f"{what}/{name}": value for name in names for what in ("accuracy", "beginning")}
    return Seeds({seed: Outcome(scalars) for seed in range(5)})


def results(guided: dict[str, tuple[float, ...]], lstm: dict[str, tuple[float, ...]]) -> Results:
    by_split = {SETS[name]: values for name, values in PUBLISHED["baseline"].items()}
    cells = {
        "baseline": cell(by_split),
        "guided": cell({SETS[name]: values for name, values in guided.items()}),
        "lstm": cell({SETS[name]: values for name, values in lstm.items()}),
        "batch": cell({}),
        "chains-baseline": chains(0.1),
        "chains-guided": chains(0.4),
    }
    return Results("paper", "as-run", cells)


def verdicts(found: Results) -> dict[str, str]:
    judged = {**judge(STUDY, PART, found), **judge(STUDY, VARIANTS, found)}
    return {name: verdict.outcome for name, verdict in judged.items()}


def test_the_published_runs_reproduce_what_the_paper_claims() -> None:
    same = results(PUBLISHED["guided"], PUBLISHED["guided"])
    assert verdicts(same) == {"C1": "reproduced", "C2": "reproduced", "C8": "reproduced"}


def test_the_stored_lstms_contradict_the_footnote() -> None:
    stored = {**PUBLISHED["guided"], "NC": (0.28, 0.44, 0.31, 0.38, 0.41)}
    assert verdicts(results(PUBLISHED["guided"], stored))["C8"] == "contradicted"
    unfinished = results(PUBLISHED["guided"], stored)
    undone = {SETS[name]: values for name, values in stored.items()} | {"train": (0.9,) * 5}
    both = {**unfinished.cells, "lstm": cell(undone)}
    assert verdicts(Results("quick", "as-run", both))["C8"] == "inconclusive"


def test_more_seeds_of_one_kind_do_not_keep_the_other_from_being_judged() -> None:
    found = results(PUBLISHED["guided"], PUBLISHED["guided"])
    few = Seeds({seed: found["lstm"].outcomes[seed] for seed in (0, 2, 3)})
    verdict = judge(STUDY, VARIANTS, Results("paper", "as-run", {**found.cells, "lstm": few}))["C8"]
    assert verdict.outcome == "reproduced" and verdict.n == 3


def test_a_guided_network_like_the_baseline_contradicts_both_claims() -> None:
    found = verdicts(results(PUBLISHED["baseline"], PUBLISHED["baseline"]))
    assert (found["C1"], found["C2"]) == ("contradicted", "contradicted")


def test_means_below_the_line_leave_the_first_claim_open() -> None:
    nearly = {**PUBLISHED["guided"], "HC": (0.93, 0.94, 0.93, 0.94, 0.93)}
    assert verdicts(results(nearly, nearly))["C1"] == "inconclusive"


def test_the_epoch_is_the_one_the_selection_chose() -> None:
    found = results(PUBLISHED["guided"], PUBLISHED["guided"])
    assert at(found["guided"], SETS["NC"], LOSS).tolist() == list(PUBLISHED["guided"]["NC"])
    assert at(found["guided"], SETS["NC"], LAST).tolist() == [0.5] * 5
    assert chosen(found, "guided", SETS["HT"]).tolist() == list(PUBLISHED["guided"]["HT"])


def test_the_set_that_contradicts_is_shown_not_one_that_is_farther_off_but_open() -> None:
    wide = {**PUBLISHED["guided"], "HI": (0.8, 0.81, 0.8, 0.79, 0.8), "NC": (0.0, 0.9, 0.1, 1.0, 0)}
    verdict = judge(STUDY, VARIANTS, results(PUBLISHED["guided"], wide))["C8"]
    assert verdict.outcome == "contradicted" and verdict.effect == pytest.approx(-0.2)


def test_tables_show_every_run_beside_the_published_ones() -> None:
    found = results(PUBLISHED["guided"], PUBLISHED["guided"])
    runs, selections, longer = PART.tables(found)
    variants, _ = VARIANTS.tables(found)
    row = next(row for row in runs.rows if row[:2] == ("guided", "NC"))
    assert row[2] == row[4] == "0.69 0.81 0.91 0.97 0.97"
    assert len(selections.rows) == 12 and len(variants.rows) == 6
    assert [row[:2] for row in longer.rows[:3]] == [(3, "incremental"), (3, "new"), (3, "seen")]
    assert len(PART.figures(found)) == 3 and len(VARIANTS.figures(found)) == 1


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_arms_differ_only_in_guidance_and_are_the_same_cell_for_every_part(scale: str) -> None:
    for profile in PART.profiles:
        needs = PART.cells(scale=scale, profile=profile, seeds=3)
        baseline, guided = training(scale, profile, "baseline"), training(scale, profile, "guided")
        assert key_of(needs["guided"].cell) == key_of(guided)
        assert (baseline.task, baseline.model) == (guided.task, guided.model)
        chained = needs["chains-guided"].cell
        assert isinstance(chained, Chains) and chained.trained == guided


def test_keys_of_the_published_networks_do_not_drift() -> None:
    keys = [key_of(training("paper", "as-run", arm)) for arm in ("baseline", "guided")]
    assert keys == ["3f2ce12dfc443e9f503539e7", "9ca18af55672a0c07848234b"]
    lstm = training("paper", "as-run", "guided", kind="lstm")
    assert key_of(lstm) == "a46332bfd8c77c3bdb2e9f2f"


def test_the_paper_scale_is_as_published() -> None:
    trial = training("paper", "as-run", "guided")
    assert trial.recipe.steps == 23_200 and len(trial.recipe.evaluation_steps) == 101
    stack = trial.model.stack([0], trial.task.input_shape, 3, 11)
    assert sum(p.numel() for p in stack.parameters()) == 3_451_708


def test_a_network_made_of_kept_weights_is_the_trained_one() -> None:
    from dataclasses import replace

    trial = training("quick", "as-run", "guided")
    short = replace(trial, recipe=replace(trial.recipe, steps=12, evaluate_at=(0, 4, 8)))
    small = replace(short, model=replace(short.model, hidden=16, output_embedding=16))
    outcome = small.run([4], Context())[4]
    for selection in SELECTIONS:
        stack = network(small, outcome.weights, selection)
        z = small.task.combinations("new_compositions")
        examples = small.task.show(z, np.zeros((len(z), 3, 0), np.float32))
        import torch

        seen = read_sites(stack, torch.from_numpy(examples.inputs)[None], ["decoder.2.logits"])
        assert seen["decoder.2.logits"].shape == (1, 32, 11)
        guess = stack(torch.from_numpy(examples.inputs)[None]).argmax(-1)[0].numpy()
        split = Seeds({4: outcome})
        expected = at(split, "new_compositions", selection)[0]
        assert (guess == examples.targets).all(1).mean() == pytest.approx(expected)
    cell = Chains(small, longest=3)
    found = cell.run([4], Context())[4].scalars
    assert set(found) >= {"accuracy/longer_new_3", "beginning/longer_seen_3"}
