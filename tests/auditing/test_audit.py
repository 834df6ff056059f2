"""The audit as a whole: planted defects are found, and how a table is written does not matter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recombine
from factor_tables import CONTEXT, SUM, XOR, audited, columns, corner, found, kinds, laid
from recombine.auditing import KINDS, Audit
from recombine.auditing.leakage import leakage
from recombine.errors import BadValue, UsageError
from recombine.tasks.corners import Corners
from recombine.theory.leak import slope
from recombine.theory.salience import salience
from recombine.theory.shortcut import margin


def test_a_clean_additive_split_has_nothing_to_say() -> None:
    done = audited(SUM)
    assert kinds(done) <= {"shift"}
    assert "every such fit is right on all held-out" in done.summary
    assert done.leakage.held_out == 9 and done.sampled == ()


def test_an_exclusive_or_is_unlearnable_with_its_rows() -> None:
    done = audited(XOR)
    (finding,) = [each for each in done.findings if each.kind == "unlearnable"]
    assert finding.weight == "problem" and "At least 1 of the 4" in finding.text
    assert [row["row"] for row in finding.rows] == [11, 12, 15, 16]
    assert finding.rows[0]["factors"] == {"a": "2", "b": "2"} and finding.rows[0]["label"] == "0"


def test_the_corner_of_an_exclusive_or_is_answered_wrong_by_every_kernel() -> None:
    three = columns((2, 2), lambda z: z.sum(1) % 2, corner((2, 2)))
    done = audited(three)
    assert "unlearnable" not in kinds(done) and "misled" in kinds(done)
    assert "every such fit is wrong on 1 held-out combination" in done.summary


def test_a_leaked_combination_is_named() -> None:
    table = columns((5, 5), lambda z: z[:, 0] + 2.5 * z[:, 1], corner((5, 5)))
    for name, cell in {"a": 0, "b": 1, "y": 2.5, "split": "test"}.items():
        table[name].append(cell)
    done = audited(table)
    (finding,) = [each for each in done.findings if each.kind == "leak"]
    assert "1 tested combination of 10" in finding.text and finding.rows[0]["row"] == 26
    assert (done.leakage.leaked_same, done.leakage.leaked_other) == (1, 0)
    table["y"][-1] = 7.0
    changed = audited(table)
    assert changed.leakage.leaked_other == 1
    assert "1 combination changed its label" in found(changed, "contradiction")


def test_a_split_that_holds_nothing_out_says_so() -> None:
    table = columns((3, 3), lambda z: z[:, 0] > 0, lambda z: z[:, 0] < 0)
    both = {name: cells * 2 for name, cells in table.items()}
    both["split"] = ["train"] * 9 + ["test"] * 9
    done = audited(both)
    assert "No combination is held out" in found(done, "leak")
    assert done.prediction is None and json.dumps(done.plain())


def test_labels_that_contradict_bound_what_can_be_reached() -> None:
    table = columns((3, 3), lambda z: z[:, 0] > 0, corner((3, 3)))
    for name in table:
        table[name] = table[name] + [table[name][-1]] * 2
    table["y"][-1] = not table["y"][-1]
    done = audited(table)
    told = found(done, "contradiction")
    assert "more than 5 of 6 test rows (83.3%)" in told and "from training to test" not in told
    assert done.leakage.ambiguous_test == 1 and done.leakage.repeated_test == 1


def test_labels_that_change_from_training_to_test_are_told() -> None:
    table = columns((3, 3), lambda z: z[:, 0] > 0, corner((3, 3)))
    for name in table:
        table[name] += table[name][:2]
    table["y"][-2:], table["split"][-2:] = [True, True], ["test", "test"]
    told = found(audited(table), "contradiction")
    assert "factors: 2 combinations changed their label from training to test." in told
    assert "more than" not in told  # each label by itself could be right


@pytest.mark.parametrize(
    ("labels", "repeats"), [("AAABB", 3), ("ABC", 0), ((1.5, 1.5, 2.5), 1), ((1.5, 1.5, 1.5), 2)]
)
def test_rows_repeat_that_have_the_combination_and_label_of_an_earlier_one(
    labels: Sequence[Any], repeats: int
) -> None:
    n = len(labels)
    table = {"a": [1] * n + [2, 3], "y": [*labels, labels[0], labels[-1]]}
    done = audited({**table, "split": ["train"] * n + ["test"] * 2})
    assert (done.leakage.repeated_train, done.leakage.repeated_test) == (repeats, 0)


def test_combinations_beyond_what_floats_count_are_counted() -> None:
    table: dict[str, list[Any]] = {name: list(range(101)) for name in "abcdefgh"}
    table |= {"y": [0, 1] * 50 + [0], "split": ["train"] * 100 + ["test"]}
    combinations, _ = laid(table)
    assert leakage(combinations, classes=True).possible == 101**8


def test_missing_cells_are_counted_by_column() -> None:
    table = columns((3, 3), lambda z: z[:, 0] > 0, corner((3, 3)))
    table["a"][0], table["b"][0], table["b"][1], table["y"][2] = None, "", " NA ", "nan"
    done = audited(table)
    assert done.table.missing == {"a": 1, "b": 1, "y": 1}
    assert "'a' 1, 'b' 1, 'y' 1; left out" in found(done, "missing")
    assert len(done.table.y) == 6
    kept = audited(table, missing="keep")
    assert len(kept.table.y) == 8 and "(missing)" in kept.table.values[0]
    (told,) = [each for each in kept.findings if each.kind == "missing"]
    assert "--missing keep" not in told.advice
    table["b"][1] = "2"
    assert audited(table).table.missing == {"a": 1, "y": 1}  # 'b' is missing where 'a' is


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"labels": "number"}, {"missing": "foo"}])
def test_a_wrong_value_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadValue, match=next(iter(wrong))):
        audited(XOR, **wrong)


def test_a_constant_factor_an_unseen_value_and_a_rare_class() -> None:
    table = columns((3, 4, 1), lambda z: (z[:, 0] == 2) & (z[:, 1] == 0), lambda z: z[:, 1] == 3)
    done = audited(table)
    assert "'c' has one value" in found(done, "constant")
    assert "'b'" in found(done, "unseen") and "('3')" in found(done, "unseen")
    assert audited(columns((5, 5), lambda z: z.sum(1) == 0, corner((5, 5)))).balance.top == 15 / 16


def test_a_class_that_training_lacks_is_told_beside_what_could_be_right() -> None:
    table = columns((3, 3), lambda z: z[:, 0] > 0, corner((3, 3)))
    table["y"][-1] = "new"
    summary = audited(table).summary
    assert "rules out no held-out label" in summary
    assert "But no model answers with a class that training lacks." in summary


def test_lookalikes_and_one_factor_that_is_enough() -> None:
    table = columns((2, 4), lambda z: z[:, 0], corner((2, 4)))
    table["b"] = [{0: "red", 1: "Red ", 2: "blue", 3: "green"}[b] for b in table["b"]]
    done = audited(table)
    assert "'Red' and 'red'" in found(done, "lookalike")
    assert "'a' alone gives the label" in found(done, "single-factor")


@pytest.mark.parametrize("items", [(4,), (2, 6)])
def test_predicted_shrinkage_is_the_closed_form_of_the_leak(items: tuple[int, ...]) -> None:
    table = columns((9, 9), lambda z: (z - 4).sum(1) * 1.0, lambda z: ~np.isin(z, items).any(1))
    done = audited(table, labels="numbers")
    assert done.prediction is not None
    for each in done.prediction.predicted:
        expected = slope(len(items), float(each.code.saliences[0]))
        assert each.shrinkage == pytest.approx(expected, abs=1e-6)


def test_predicted_margins_are_the_closed_forms_of_context_dependence() -> None:
    done = audited(CONTEXT)
    assert done.prediction is not None and len(done.prediction.predicted) == 2 * (9 + 9 + 4)
    for each in done.prediction.predicted:
        first, second = (float(s) for s in salience(each.code.kappa)[:2])
        method = "svm" if each.fit == "largest margin" else "regression"
        expected = margin(first, second, method=method)  # type: ignore[arg-type]
        assert each.shrinkage == pytest.approx(expected, abs=1e-5)
        if abs(expected) > 1e-6:
            assert each.right == float(expected > 0)


def test_contributions_sum_to_the_score() -> None:
    done = audited(CONTEXT)
    assert done.prediction is not None
    relu = next(p for p in done.prediction.predicted if p.code.depth == 1)
    total = sum(part.towards for part in done.prediction.parts)
    assert total == pytest.approx(relu.shrinkage, abs=1e-6)  # the intercept is even-handed here


def test_a_task_is_audited_by_name_or_itself() -> None:
    assert recombine.audit("corners").plain() == recombine.audit(Corners()).plain()
    done = recombine.audit("corners")
    assert done.leakage.held_out == 1 and done.table.label == "Y1 (output)"
    control = recombine.audit(Corners(train_on="four"))
    assert kinds(control) >= {"leak"}


def test_many_factors_leave_high_orders_aside_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, size=(200, 8))
    made: dict[str, Any] = {f"f{i}": z[:, i].tolist() for i in range(8)}
    made |= {
        "y": (z.sum(1) % 2).tolist(),
        "split": np.where(z[:, 0] & z[:, 1], "test", "train").tolist(),
    }
    whole = audited(made, predictions=False)
    assert whole.conjunctions.complete and whole.sampled == ()
    monkeypatch.setattr("recombine.auditing.conjunctions.MOST_CELLS", 9_000)
    part = audited(made, predictions=False)
    assert part.conjunctions.order == 2 and "up to order 2 of 7" in part.sampled[0]
    assert part.learnable.set_aside == part.leakage.held_out  # all share pairs: nothing is claimed
    assert part.learnable.decision.answer == "possible" and part.learnable.decision.rows == 0


def numbers_of(done: Audit) -> Any:
    """What must not depend on how a table is written."""
    plain = done.plain()
    codes = (plain["prediction"] or {"codes": []})["codes"]
    return {
        "coverage": plain["coverage"]["orders"],
        "combinations": plain["combinations"],
        "answer": plain["additivity"]["answer"],
        "orders": [{k: v for k, v in each.items() if k != "explained"} for each in plain["orders"]],
        "gains": sorted(
            (round(r["train_gain"] or 0, 9), round(r["test_gain"] or 0, 9), r["unseen"])
            for r in plain["shortcuts"]
        ),
        "kinds": sorted(each["kind"] for each in plain["findings"]),
        "right": [round(each["right"], 6) for each in codes],
    }


@given(st.integers(0, 10_000), st.sampled_from(["rows", "values", "columns"]))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_depends_on_the_order_of_rows_or_columns_or_on_names(seed: int, how: str) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    made = {name: rng.integers(0, 3, n) for name in "abc"}
    z = np.stack(list(made.values()), axis=1)
    y = np.where(z[:, 0] > 0, z[:, 1] > 1, z[:, 2] > 0)
    test = (z[:, 0] > 0) & (z[:, 1] > 0)
    table = {
        **{k: v.tolist() for k, v in made.items()},
        "y": y.tolist(),
        "split": np.where(test, "test", "train").tolist(),
    }
    if len(set(table["split"])) < 2:
        return
    before = numbers_of(audited(table))
    if how == "rows":
        order = rng.permutation(n)
        table = {name: [cells[i] for i in order] for name, cells in table.items()}
    elif how == "values":
        for name in "abc":
            names = rng.permutation(["ä", "b c", "9"])
            table[name] = [names[v] for v in table[name]]
    else:
        table = {name: table[name] for name in rng.permutation(list(table)).tolist()}
    assert numbers_of(audited(table)) == before


def test_every_kind_of_finding_is_described() -> None:
    for table in (SUM, XOR, CONTEXT):
        done = audited(table)
        assert {each.kind for each in done.findings} <= set(KINDS)
        assert all(each.advice.endswith(".") and "\n" not in each.text for each in done.findings)


def test_columns_of_the_table_keep_their_names_in_rows() -> None:
    names = {"a": "row", "b": "clash", "y": "rows in test", "split": "split"}
    table = {names[name]: cells for name, cells in XOR.items()}
    rows = recombine.audit(table, label="rows in test", split="split").rows()
    assert rows["row"].to_list() == ["2", "2", "3", "3"] and rows["clash"][0] == "2"
    assert rows["row (audit)"].to_list() == [11, 12, 15, 16]
    assert rows["clash (audit)"].to_list() == rows["rows in test (audit)"].to_list() == [1] * 4


def test_each_tested_combination_has_a_row() -> None:
    rows = audited(XOR).rows()
    assert rows.height == 4 and rows["clash"].to_list() == [1, 1, 1, 1]
    assert rows["seen of order 1"].to_list() == [1.0] * 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": 1.5}, "order = 1.5"),
        ({"order": None}, "order = None"),
        ({"seed": None}, "seed = None"),
        ({"seed": True}, "seed = True"),
    ],
)
def test_what_is_no_whole_number_is_refused(
    unchecked: None, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadValue, match=said):
        audited(XOR, **options)


def test_values_of_any_kind_name_columns_and_parts(unchecked: None) -> None:
    table = {0: XOR["a"], 1: XOR["b"], 2: XOR["y"], 3: [int(s == "test") for s in XOR["split"]]}
    done = recombine.audit(table, factors=None, label=2, split=3, train=0)  # type: ignore[arg-type]
    assert done.learnable.decision.answer == "impossible" and done.table.factors == ("0", "1")
    with pytest.raises(UsageError, match="give a list of cells"):
        audited({**XOR, "a": 3})
