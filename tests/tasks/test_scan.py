"""SCAN as a factored task: splits, setting B, resampling, and the kinds of error."""

from collections import Counter

import numpy as np
import pytest

from recombine.errors import BadValue, UnknownName, UsageError
from recombine.seeds import stream
from recombine.tasks import scan_errors
from recombine.tasks import scan_grammar as grammar
from recombine.tasks.scan import Scan, replaced
from recombine.tasks.scan_grammar import ACTIONS, commands
from recombine.tasks.scan_meaning import interpret


def texts(z: np.ndarray) -> list[str]:
    return [commands().texts[row] for row in commands().rows(z)]


def read(inputs: np.ndarray) -> list[str]:
    return [" ".join(Scan().sentence(one)) for one in inputs]


def test_setting_b_is_what_drawing_words_at_random_gives() -> None:
    """The written-out distribution against a simulation by words, not by factors."""
    rng = stream(0, "test")
    verbs = ("walk", "look", "run", "jump")
    lines = texts(Scan().combinations("train"))
    drawn = Counter(
        " ".join(str(rng.choice(verbs)) if word in verbs else word for word in line.split())
        for line in rng.choice(lines, size=20_000)
    )
    exact = Counter(texts(Scan(setting="B").combinations("train")))
    total = sum(exact.values())
    assert total == 16 * 14_670 and set(drawn) <= set(exact)
    for command in ("jump", "walk", "turn left"):
        assert drawn[command] / 20_000 == pytest.approx(exact[command] / total, abs=0.004)
    with_jump = sum(n for text, n in exact.items() if "jump" in text) / total
    assert sum(n for t, n in drawn.items() if "jump" in t) / 20_000 == pytest.approx(
        with_jump, abs=0.015
    )


def test_setting_b_contains_every_test_command() -> None:
    b = Scan(setting="B")
    assert set(texts(b.combinations("test"))) <= set(texts(b.combinations("train")))


def test_turning_has_no_word_to_replace() -> None:
    row = commands().by_text["turn left twice and turn right"]
    assert (replaced(commands().z[[row]]) == commands().z[row]).all()


def test_resampling_moves_one_factor_to_each_legal_value_equally_often() -> None:
    task, row = Scan(), commands().by_text["walk and turn left"]
    examples = task.show(np.repeat(commands().z[[row]], 600, axis=0), np.zeros((600, 7, 0)))
    moved = task.resample(examples, grammar.VERB_1, stream(0, "test"))
    counts = Counter(read(moved.inputs))
    wanted = {f"{verb} and turn left" for verb in ("look", "run", "jump")}  # not `turn` alone
    assert set(counts) == wanted and min(counts.values()) > 150
    others = task.resample(examples, grammar.MANNER_2, stream(0, "test"))
    assert len(set(read(others.inputs))) == 5


def test_a_single_phrase_has_no_second_one_to_move() -> None:
    task = Scan()
    examples = task.show(commands().z[[commands().by_text["jump"]]], np.zeros((1, 7, 0)))
    for factor in (grammar.JOIN, grammar.VERB_2, grammar.MANNER_2, grammar.TIMES_2):
        assert read(task.resample(examples, factor, stream(0, "t")).inputs) == ["jump"]
        assert not task.movable(examples.z, factor).any()
    assert task.movable(examples.z, grammar.VERB_1).all()


def test_shorter_scan_keeps_jump_a_tenth_and_everything_within_bounds() -> None:
    task = Scan(longest=8)
    train, test = (task.combinations(split) for split in ("train", "test"))
    assert (np.array(texts(train)) == "jump").mean() == pytest.approx(0.1, abs=0.002)
    assert (task.targets(test) == scan_errors.END).any(1).all() and task.targets(test).shape[1] == 9
    whole = Scan().combinations("test")
    short = whole[commands().lengths[commands().rows(whole)] <= 9]
    assert sorted(texts(short)) == sorted(texts(test))
    examples = task.sample("all", 200, stream(0, "test"))
    for factor in range(7):
        moved = task.resample(examples, factor, stream(0, "test", factor))
        assert (moved.targets == scan_errors.END).any(1).all()


def test_bad_fields_are_refused() -> None:
    with pytest.raises(UnknownName, match="perhaps you meant 'addprim_jump'"):
        Scan(split="addprim_jum")
    with pytest.raises(BadValue, match="one of A, B"):
        Scan(setting="C")  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="from 1 to 48"):
        Scan(longest=49)
    with pytest.raises(BadValue, match="the split length has no test commands so short"):
        Scan(split="length", longest=12)
    with pytest.raises(UsageError, match="no folder or archive"):
        Scan(path="/nowhere").ready()


@pytest.mark.parametrize(
    ("command", "answer", "kind"),
    [
        ("jump twice", "I_JUMP I_JUMP", "right"),
        ("jump twice", "I_WALK I_WALK", "wrong primitive"),
        ("jump twice", "I_JUMP I_WALK", "wrong primitive"),
        ("jump twice", "I_JUMP", "stopped early"),
        ("jump twice", "", "stopped early"),
        ("jump twice", "I_JUMP I_JUMP I_JUMP", "wrong count"),
        ("jump left and run", "I_TURN_LEFT I_JUMP I_TURN_LEFT I_JUMP I_RUN", "wrong count"),
        ("jump left after run", "I_RUN I_RUN I_TURN_LEFT I_JUMP", "wrong count"),
        ("jump twice", "I_RUN", "copied"),
        ("jump twice", "I_TURN_LEFT I_JUMP", "other"),
    ],
)
def test_the_oracle_tells_the_kind_of_an_error(command: str, answer: str, kind: str) -> None:
    row, trained = commands().by_text[command], Scan().lines()["train"]
    given = np.full((1, 49), scan_errors.END)
    actions = [ACTIONS.index(word) for word in answer.split()]
    given[0, : len(actions)] = actions
    found = scan_errors.kinds(np.array([row]), given, trained)
    assert scan_errors.KINDS[found[0]] == kind


def test_kinds_at_once_are_kinds_one_by_one() -> None:
    rng, every, trained = stream(0, "test"), commands(), Scan().lines()["train"]
    rows = rng.integers(len(every.z), size=200)
    answers = np.where(every.answers[rows] < 0, scan_errors.END, every.answers[rows])
    moved = rng.random(answers.shape) < 0.03
    answers[moved] = rng.integers(7, size=int(moved.sum()))
    known = {tuple(a[: a.index(6)]) for a in every.answers[np.unique(trained)].tolist()}
    told = [scan_errors.kind(int(r), a.tolist(), known) for r, a in zip(rows, answers, strict=True)]
    found = scan_errors.kinds(rows, answers, trained)
    assert [scan_errors.KINDS[k] for k in found] == told and len(set(told)) > 3


def test_an_answer_without_an_end_did_not_end() -> None:
    row = np.array([commands().by_text["jump"]])
    endless = scan_errors.kinds(row, np.zeros((1, 49), dtype=np.int64), row)
    assert scan_errors.KINDS[endless[0]] == "did not end"


def test_right_answers_are_right_and_miscounts_of_any_command_are_found() -> None:
    every = commands()
    some = stream(0, "test").integers(len(every.z), size=100)
    right = scan_errors.kinds(some, every.answers[some], some)
    assert (right == 0).all()
    for row in some:
        more = every.z[row].copy()
        more[grammar.TIMES_1] = (more[grammar.TIMES_1] + 1) % 3
        other = every.answers[every.rows(more[None])]
        told = scan_errors.KINDS[scan_errors.kinds(np.array([row]), other, some)[0]]
        assert told in ("wrong count", "stopped early"), every.texts[row]


def test_the_breakdown_counts_by_value() -> None:
    z = Scan().combinations("test")
    scores = np.stack([z[:, grammar.JOIN] == 1, np.ones(len(z))]).astype(float)
    found = {(s.factor, s.value): s for s in scan_errors.by_value(z, scores)}
    assert found["join", "and"].mean.tolist() == [1, 1]
    assert found["join", "after"].mean.tolist() == [0, 1]
    assert sum(s.commands for s in found.values() if s.factor == "verb 1") == len(z)


def test_interpreting_what_was_rendered_gives_the_targets() -> None:
    task = Scan(split="length")
    examples = task.sample("test", 50, stream(0, "test"))
    assert np.array_equal(task.oracle(examples.inputs), examples.targets)
    assert interpret(read(examples.inputs)[0])
