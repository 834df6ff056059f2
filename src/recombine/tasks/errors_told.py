"""Kinds of error in answers that are sentences, told by comparing with the right answer.

A wrong answer is put under the first of these that fits it:

- `copied`: it is the right answer to some sentence of training;
- `stopped early`: it is the beginning of the right answer;
- `went on`: it begins with the right answer and goes on;
- `wrong count`: the right words in the right order, some of them too often or too rarely;
- `wrong word`: of the right length, with other words at some places;
- `other`: none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

if TYPE_CHECKING:
    from recombine.tasks.sequence import SequenceTask

RIGHT = "right"
KINDS: Mapping[str, str] = {
    "copied": "the right answer to a sentence of training",
    "stopped early": "the beginning of the right answer",
    "went on": "the right answer, and more",
    "wrong count": "the right words in order, some too often or too rarely",
    "wrong word": "the right length, other words",
    "other": "none of these",
}
"""What each kind of wrong answer is."""

Words = tuple[int, ...]


def told(
    task: SequenceTask, z: Int[np.ndarray, "n factor"], answers: Int[np.ndarray, "n output"]
) -> list[str]:
    """The kind of each answer to these combinations, or RIGHT."""
    end, targets = end_of(task), task.targets(z)
    trained = {answer(row) for row in task.targets(np.unique(task.combinations("train"), axis=0))}
    found = []
    for target, given in zip(targets, answers, strict=True):
        right, said = answer(target), cut(given, target, end)
        found.append(RIGHT if said == right else kind(said, right, trained, end))
    return found


def answer(target: Int[np.ndarray, " output"]) -> Words:
    """The scored words of a target."""
    return tuple(int(w) for w in target if w >= 0)


def cut(
    given: Int[np.ndarray, " output"], target: Int[np.ndarray, " output"], end: int | None
) -> Words:
    """What was answered: up to and with the word that ends answers, or over the scored places."""
    words = tuple(int(w) for w in given)
    if end is None:
        return words[: len(answer(target))]
    return words[: words.index(end) + 1] if end in words else words


def end_of(task: SequenceTask) -> int | None:
    """The word that ends every answer, if there is one."""
    for i, word in enumerate(task.target_words):
        if word.strip("<>").lower() in ("eos", "end"):
            return i
    return None


def kind(said: Words, right: Words, trained: set[Words], end: int | None) -> str:
    """The first kind that fits a wrong answer."""
    if said in trained:
        return "copied"
    body, stem = _body(said, end), _body(right, end)
    if len(body) < len(stem) and stem[: len(body)] == body:
        return "stopped early"
    if len(body) > len(stem) and body[: len(stem)] == stem:
        return "went on"
    if [w for w, _ in groupby(body)] == [w for w, _ in groupby(stem)]:
        return "wrong count"
    return "wrong word" if len(body) == len(stem) else "other"


def _body(words: Words, end: int | None) -> Words:
    """An answer without the word that ends it."""
    return words[:-1] if words and words[-1] == end else words
