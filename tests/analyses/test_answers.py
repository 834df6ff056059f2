"""Whole answers under interventions: on networks whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from known_answers import Answering, Answers, Softmax
from recombine.analyses.answers import AnswerDependence
from recombine.errors import BadValue
from recombine.tasks.lookup import LookupTables
from recombine.tasks.scan import Scan
from recombine.tasks.sequence import SequenceTask

LOOKUP, JUMP = LookupTables(), Scan(split="addprim_jump")


def measured(task: SequenceTask, *rules: Answers) -> dict[str, np.ndarray]:
    """By what is measured: [lane, factor]."""
    stack = Answering(list(rules), task.classes)
    found = AnswerDependence(60).measure(stack, task, Softmax())
    return {name.removeprefix("answer-dependence/"): value for name, value in found.items()}


def by_heart(task: SequenceTask) -> Answers:
    """Right on training, and one and the same answer everywhere else."""
    trained = np.unique(task.combinations("train"), axis=0)
    shown = task.show(trained, task.draw_noise(len(trained), np.random.default_rng(0)))
    known = {x.tobytes() for x in shown.inputs}

    def answers(inputs: np.ndarray) -> np.ndarray:
        right = task.oracle(inputs)
        seen = np.array([x.tobytes() in known for x in inputs])
        return np.where(seen[:, None], right, 1)

    return answers


def constant(task: SequenceTask) -> Answers:
    return lambda inputs: np.zeros((len(inputs), len(task.outputs)), dtype=np.int64)


@pytest.mark.parametrize("task", [LOOKUP, JUMP], ids=["lookup-tables", "scan"])
def test_an_oracle_changes_where_it_should_and_stays_right(task: SequenceTask) -> None:
    found = measured(task, task.oracle)
    moved = np.isfinite(found["should"])
    assert moved.any()
    assert np.array_equal(found["changed"][moved], found["should"][moved])
    assert (found["follows"][moved] == 1).all()


def test_what_is_known_by_heart_is_lost_where_training_ends() -> None:
    found = measured(JUMP, by_heart(JUMP), JUMP.oracle)
    names = [factor.name for factor in JUMP.factors]
    lost, kept = found["follows"]
    verb = names.index("verb 1")
    # of a verb's four other values one is jump, which training shows by itself only
    assert 0.6 < lost[verb] < 0.95 and kept[verb] == 1
    assert np.array_equal(lost <= kept, np.ones(len(names), dtype=bool))


def test_what_stands_after_the_end_is_no_change() -> None:
    def rambling(inputs: np.ndarray) -> np.ndarray:
        """One act and the end, whatever is asked; then something else for every sentence."""
        after = inputs.reshape(len(inputs), -1) @ np.arange(inputs[0].size) % 6
        row = np.tile(after[:, None].astype(np.int64), len(JUMP.outputs))
        row[:, :2] = [0, JUMP.target_words.index("<end>")]
        return row

    changed = measured(JUMP, rambling)["changed"]
    assert (changed[np.isfinite(changed)] == 0).all()


def test_a_constant_never_changes_and_has_nothing_to_lose() -> None:
    found = measured(LOOKUP, constant(LOOKUP))
    assert (found["changed"] == 0).all()
    assert np.isnan(found["follows"]).all() or (found["follows"] < 1).all()


def test_some_examples_are_needed() -> None:
    with pytest.raises(BadValue, match="at least 1"):
        AnswerDependence(0)
