"""Long-range rules: every corpus is exact and intact, and what cannot fit is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import BadValue
from recombine.tasks.spans import Spans


@settings(max_examples=40, deadline=None)
@given(
    k=st.integers(1, 9),
    rules=st.integers(1, 30),
    spare=st.integers(0, 200),
    copies=st.integers(0, 5),
    fresh=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_every_corpus_is_exact_and_its_rules_are_intact(
    k: int, rules: int, spare: int, copies: int, fresh: bool, seed: int
) -> None:
    listed, copies = (0, 0) if fresh else (rules, copies)
    tokens = rules * (k + 2) + listed * copies * k + spare
    task = Spans(
        vocabulary=50, conduit=k, rules=rules, tokens=tokens, listed=listed, copies=copies,
        test_tokens=35,
    )  # fmt: skip
    text = task.corpus(seed).tolist()
    assert len(text) == tokens
    assert task.filler == spare
    found = [
        tuple(text[i + 1 : i + 1 + k]) for i, word in enumerate(text)
        if word == 50 and text[i + k + 1] == 51
    ]  # fmt: skip
    assert len(found) == rules == text.count(50) == text.count(51)
    assert sorted(found) == sorted(map(tuple, task.conduits(seed).tolist()))
    assert max(max(conduit) for conduit in found) < 50


def test_listed_conduits_are_used_equally_and_scattered_as_often_as_said() -> None:
    task = Spans(
        vocabulary=1000, conduit=4, rules=60, tokens=2000, listed=6, copies=30, test_tokens=35
    )
    text, k = task.corpus(3), 4
    windows = np.lib.stride_tricks.sliding_window_view(text, k)
    for conduit in task.conduits(3):
        places = np.where((windows == conduit).all(1))[0]
        within = [p for p in places if p and text[p - 1] == task.opening]
        assert (len(within), len(places)) == (10, 40)


def test_unpredictable_conduits_stand_in_rules_only() -> None:
    task = Spans(conduit=4, rules=100, tokens=20_000, listed=10)
    text = task.corpus(0)
    windows = np.lib.stride_tricks.sliding_window_view(text, 4)
    for conduit in task.conduits(0):
        assert (windows == conduit).all(1).sum() == 10


def test_a_corpus_that_cannot_hold_its_rules_says_how_many_tokens_are_missing() -> None:
    with pytest.raises(BadValue, match=r"\(300,000 are missing\): 1,000 rules of 12 tokens"):
        Spans(conduit=10, rules=1000, tokens=712_000, listed=100, copies=1000)
    with pytest.raises(BadValue, match=r"or more \(1 are missing\)"):
        Spans(conduit=3, rules=10, tokens=49)
    assert Spans(conduit=3, rules=10, tokens=50).filler_share == 0.0
    assert Spans(listed=100, copies=1000).filler_share == pytest.approx(0.19)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"copies": 3}, "not listed"),
        ({"listed": 7}, "multiple of the 7"),
        ({"block": 9}, "10 tokens"),
        ({"test_tokens": 34}, "at least one block"),
        ({"conduit": 0}, "1 or more"),
    ],
)
def test_what_does_not_go_together_is_refused(fields: dict[str, int], message: str) -> None:
    with pytest.raises(BadValue, match=message):
        Spans(**fields)


@pytest.mark.parametrize("kind", ["fresh", "trained"])
def test_test_blocks_hold_one_rule_each_with_the_right_conduits(kind: str) -> None:
    task = Spans(vocabulary=9, conduit=2, rules=40, tokens=400, test_tokens=3500)
    text, opened = task.test(5, kind)  # type: ignore[arg-type]
    assert text.shape == (100, 35)
    trained = set(map(tuple, task.conduits(5).tolist()))
    for row, at in zip(text, opened, strict=True):
        assert (row == task.opening).sum() == (row == task.closing).sum() == 1
        assert (row[at], row[at + 3]) == (task.opening, task.closing)
        assert (tuple(row[at + 1 : at + 3]) in trained) == (kind == "trained")
    assert opened.min() == 0 and opened.max() == 31
    some, _ = task.test(5, kind, 7)  # type: ignore[arg-type]
    assert np.array_equal(some, text[:7])


def test_a_corpus_that_leaves_no_conduits_to_hold_out_is_refused() -> None:
    with pytest.raises(BadValue, match=r"spans.rules = 40 .* nearly all 2 conduits of 1 symbols"):
        Spans(vocabulary=2, conduit=1, rules=40, tokens=400, test_tokens=35)
    with pytest.raises(BadValue, match=r"spans.listed = 100 .* nearly all 100 conduits"):
        Spans(vocabulary=10, conduit=2, rules=200, listed=100)


def test_the_last_conduit_that_is_left_is_held_out() -> None:
    task = Spans(vocabulary=30, conduit=2, rules=899, tokens=4000, listed=899)
    (left,) = np.unique(task.held_out(0), axis=0)
    every = {(a, b) for a in range(30) for b in range(30)}
    assert every - set(map(tuple, task.conduits(0).tolist())) == {tuple(left)}


@pytest.mark.parametrize(("vocabulary", "conduit", "listed"), [(1000, 1, 100), (1000, 2, 5000)])
def test_listed_conduits_are_all_different(vocabulary: int, conduit: int, listed: int) -> None:
    """Of 100 of 1,000 words about five would be drawn twice; of 5,000 pairs a dozen."""
    task = Spans(vocabulary=vocabulary, conduit=conduit, rules=listed, listed=listed)
    for seed in range(3):
        assert len(np.unique(task.conduits(seed), axis=0)) == listed


@pytest.mark.usefixtures("unchecked")
def test_a_test_corpus_of_another_kind_is_refused() -> None:
    with pytest.raises(BadValue, match="'fresh' or 'trained'"):
        Spans().test(0, "frsh")  # type: ignore[arg-type]
