"""Part gradient/scan: what its claims, tables and figures say of results that are known."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from recombine.analyses.verb_dependence import MOVES, PARTS
from recombine.cell import Outcome
from recombine.seeds import stream
from recombine.spec import key_of, override
from recombine.studies.gradient import STUDY
from recombine.studies.gradient_scan import ScanPart, early_accuracy, gap_is_larger, rises_faster
from recombine.studies.gradient_scan_tables import SHORT, accuracy, longer_lines, own_task, task
from recombine.studies.results import Results, Seeds
from recombine.studies.study import judge
from recombine.tasks.scan_grammar import commands

STEPS = np.array([0, 10, 15, 20, 25, 100])
LINES = 40


def outcome(train: np.ndarray, answers: np.ndarray, right: int, *, forced: bool = False) -> Outcome:
    """A seed with this training accuracy by step, of whose answers so many are right."""
    scalars = {"accuracy/train": float(train[-1]), "whole/test": right / len(answers)}
    rights = np.zeros((len(STEPS), LINES), dtype=np.int8)
    rights[:, longer_lines(own_task("quick", "A"), LINES)] = 1
    arrays = {
        "accuracy/train": train,
        "accuracy/test": np.zeros(len(STEPS)),
        "right/train": rights,
        "answers/test": answers,
        "verb-dependence": np.tile(np.eye(3)[:, :2], (2, 2, 1, 1)),
    }
    arrays |= {f"{name}@steps": STEPS for name in ("accuracy/train", "accuracy/test")}
    arrays["verb-dependence@steps"] = np.array([25, 100])
    return Outcome(scalars | ({"forced/test": 0.5} if forced else {}), arrays)


@pytest.fixture(scope="module")
def results() -> Results:
    """A: all words of all answers are walk. B: everything is right. Three seeds each."""
    scan = own_task("quick", "A")
    z = scan.combinations("test")
    truth = scan.targets(z)
    ended = np.where(truth < 0, 6, truth)
    walked = np.where(ended < 4, 0, ended)
    cells: Mapping[str, dict[int, Outcome]] = {"A": {}, "B": {}}
    for seed in range(3):
        a = np.array([0, 0.1, 0.11, 0.12, 0.13, 0.9]) + 0.001 * seed
        b = np.array([0, 0, 0.01, 0.02, 0.03, 0.9]) + 0.002 * seed
        cells["A"][seed] = outcome(a, walked.astype(np.int8), 0, forced=True)
        cells["B"][seed] = outcome(b, ended.astype(np.int8), len(z))
    return Results("quick", "as-run", {name: Seeds(seeds) for name, seeds in cells.items()})


def test_claims_come_out_as_the_numbers_say(results: Results) -> None:
    verdicts = judge(STUDY, ScanPart(), results)
    assert verdicts["B1"].outcome == "reproduced"
    assert verdicts["B1"].effect == pytest.approx(0.1, abs=0.002)
    assert verdicts["B2"].outcome == "reproduced"
    assert verdicts["B2"].effect == pytest.approx(1.0, abs=0.01)


def test_claims_are_contradicted_when_it_is_the_other_way_round(results: Results) -> None:
    other = Results("quick", "as-run", {"A": results["B"], "B": results["A"]})
    assert rises_faster(other, 0.95).outcome == "contradicted"
    assert gap_is_larger(other, 0.95).outcome == "contradicted"


def test_the_early_window_is_steps_10_to_25(results: Results) -> None:
    assert early_accuracy(results["A"])[0] == pytest.approx(np.mean([0.1, 0.11, 0.12, 0.13]))


def rows(results: Results, table: str) -> list[tuple[object, ...]]:
    (found,) = [t for t in ScanPart().tables(results) if t.id == table]
    return [tuple(getattr(v, "estimate", v) for v in row) for row in found.rows]


def test_tables_tell_kinds_and_where_they_happen(results: Results) -> None:
    kinds = {row[0]: row[1:] for row in rows(results, "kinds")}
    assert kinds["right"][1] == 1 and kinds["wrong primitive"][1] == 0
    assert kinds["wrong primitive"][0] == pytest.approx(1.0), "each test command jumps somewhere"
    by_value = {row[:2]: row[2:] for row in rows(results, "breakdown")}
    assert by_value["verb 1", "jump"][1:] == (0, 1)
    tested = len(own_task("quick", "A").combinations("test"))
    assert sum(row[2] for row in rows(results, "breakdown") if row[0] == "join") == tested  # type: ignore[misc]


def test_tables_follow_what_was_set(results: Results) -> None:
    """Another split than the part's own is told by its own commands."""
    cell = ScanPart().cells(scale="quick", profile="as-run", seeds=1)["A"].cell
    other = override(cell, {"task.split": "addprim_turn_left"})
    seen = replace(results, specs={"A": other, "B": cell})
    assert task(seen, "A").split == "addprim_turn_left"
    assert task(seen, "B").split == "addprim_jump" == task(results, "A").split


def test_the_table_tells_how_long_commands_were(results: Results) -> None:
    cell = ScanPart().cells(scale="quick", profile="as-run", seeds=1)["A"].cell
    seen = replace(results, specs={"A": override(cell, {"task.longest": "48"})})
    assert "at most 12 actions" in accuracy(results).note
    assert "at most" not in accuracy(seen).note
    other = replace(results, specs={"A": override(cell, {"task.split": "filler_num1"})})
    assert {row[2] for row in accuracy(other).rows} == {None}


def test_lines_of_one_word_are_left_out_where_it_says_so(results: Results) -> None:
    early = {row[0]: row[1:] for row in rows(results, "early")}
    assert early[25][2] == 1, "all longer lines were right"
    scan = own_task("paper", "A")
    z, _ = scan.draw("train", 1000, stream(
        0, "evaluation", "train"
    ))  # fmt: skip
    words = np.array([len(commands().texts[row].split()) for row in commands().rows(z)])
    assert np.array_equal(longer_lines(scan, 1000), words > 1)
    assert (words == 1).mean() == pytest.approx(0.1, abs=0.03)


def test_the_report_says_plainly_that_b_contains_the_test_items(results: Results) -> None:
    (accuracy,) = [t for t in ScanPart().tables(results) if t.id == "accuracy"]
    assert "Setting B contains the test commands" in accuracy.note
    assert "0-1.2% (literature)" in [row[2] for row in accuracy.rows]
    assert any("teacher-forced" in str(row[1]) for row in accuracy.rows)
    assert any("Setting B contains" in figure.caption for figure in ScanPart().figures(results))
    (claim,) = [claim for claim in STUDY.claims if claim.id == "B2"]
    assert "Setting B contains the test commands" in claim.caveat


def test_a_matrix_has_a_row_for_every_part_move_and_setting(results: Results) -> None:
    assert len(rows(results, "dependence")) == 2 * len(MOVES) * len(PARTS)


def test_cells_are_the_papers() -> None:
    for profile, encoder in {"as-run": 32, "as-printed": 16}.items():
        needs = ScanPart().cells(scale="paper", profile=profile, seeds=5)
        assert list(needs) == ["A", "B"] and needs["A"].seeds == range(5)
        cell = needs["B"].cell
        assert cell.task.setting == "B" and cell.task.longest == 48  # type: ignore[attr-defined]
        assert cell.model.encoder == encoder and cell.model.decoder == 64  # type: ignore[attr-defined]
        recipe = cell.recipe  # type: ignore[attr-defined]
        assert (recipe.steps, recipe.batch, recipe.clip) == (2000, 256, 1.0)
        assert recipe.optimizer.rate * recipe.schedule.factor(199) == pytest.approx(0.0096)
    quick = ScanPart().cells(scale="quick", profile="as-run", seeds=1)["A"].cell
    assert quick.task.longest == SHORT  # type: ignore[attr-defined]


def test_keys_of_the_paper_scale_do_not_drift() -> None:
    needs = ScanPart().cells(scale="paper", profile="as-run", seeds=5)
    assert key_of(needs["A"].cell) == "e1f8048b50cafb89d935914c"
    assert key_of(needs["B"].cell) == "a13587bc8e674f1425b597cc"
