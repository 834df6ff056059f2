"""Kinds of error: one wrong answer of each."""

from __future__ import annotations

import numpy as np
import pytest

from recombine.tasks.errors_told import KINDS, answer, cut, kind

END = 9
RIGHT = (1, 1, 2, END)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ((3, END), "copied"),
        ((1, 1, END), "stopped early"),
        ((END,), "stopped early"),
        ((1, 1, 2, 3, END), "went on"),
        ((1, 2, 2, END), "wrong count"),
        ((1, 1, 1, 2, END), "wrong count"),
        ((1, 3, 2, END), "wrong word"),
        ((3, 3, 3, 3, 3, END), "other"),
    ],
)
def test_each_kind(said: tuple[int, ...], wanted: str) -> None:
    assert wanted in KINDS
    assert kind(said, RIGHT, {(3, END)}, END) == wanted


def test_without_an_end_only_words_can_be_wrong() -> None:
    assert kind((1, 1, 3), (1, 1, 2), set(), None) == "wrong word"
    assert kind((1, 2, 2), (1, 1, 2), set(), None) == "wrong count"


def test_an_answer_ends_with_its_end() -> None:
    target = np.array([1, 2, END, -1, -1])
    assert answer(target) == (1, 2, END)
    assert cut(np.array([1, END, 4, 4, 4]), target, END) == (1, END)
    assert cut(np.array([1, 4, 4, 4, 4]), target, END) == (1, 4, 4, 4, 4)
    assert cut(np.array([1, 4, 7, 4, 4]), target, None) == (1, 4, 7)
