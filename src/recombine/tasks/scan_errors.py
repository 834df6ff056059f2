"""What is wrong with a wrong answer to a SCAN command, as the oracle tells it.

The first kind that fits is the kind of an answer:

1. `right`;
2. `did not end`: no end within the longest answer;
3. `stopped early`: the beginning of the right answer, and no more;
4. `wrong primitive`: right but for which of walk, look, run, jump is done;
5. `wrong count`: both phrases in their order, one of them too often or not often enough;
6. `copied`: the right answer to another command, one that was trained on;
7. `other`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Shaped

from recombine.tasks import scan_grammar as grammar
from recombine.tasks.scan_grammar import ACTIONS, FACTORS, JOINS, commands
from recombine.tasks.scan_meaning import interpret

MEANINGS: Mapping[str, str] = {
    "did not end": "no end within the longest answer",
    "stopped early": "the beginning of the right answer",
    "wrong primitive": "right but for which of walk, look, run, jump is done",
    "wrong count": "both phrases in order, one too often or too rarely",
    "copied": "the right answer to another command, one of training",
    "other": "none of these",
}
KINDS = ("right", *MEANINGS)
END = len(ACTIONS)
ACTS = 4
"""Actions below this number belong to a verb; those above are turns."""


def kinds(
    rows: Int[np.ndarray, " n"],
    answers: Int[np.ndarray, "n place"],
    trained: Int[np.ndarray, " line"],
) -> Int[np.ndarray, " n"]:
    """The kind, as an index of KINDS, of the answers to these rows of the table of commands."""
    right = _filled(commands().answers[rows])
    given = _filled(answers, width=right.shape[1])
    ended = (answers == END).any(1)
    told = np.full(len(rows), -1)
    # The two kinds that most answers are of, for all at once; the others one by one.
    told[ended & (_alike(given) == _alike(right)).all(1)] = KINDS.index("wrong primitive")
    told[ended & (given == right).all(1)] = KINDS.index("right")
    known = {_until_end(answer) for answer in commands().answers[np.unique(trained)].tolist()}
    for at in np.flatnonzero(told < 0):
        told[at] = KINDS.index(kind(int(rows[at]), answers[at].tolist(), known))
    return told


def _filled(
    answers: Int[np.ndarray, "n place"], width: int | None = None
) -> Int[np.ndarray, "n width"]:
    """Answers with the end in every place after their end."""
    over = np.logical_or.accumulate(answers == END, axis=1)
    filled = np.where(over | (answers < 0), END, answers)
    missing = 0 if width is None else width - answers.shape[1]
    return np.pad(filled, ((0, 0), (0, missing)), constant_values=END)


def _alike(answers: Int[np.ndarray, "n place"]) -> Int[np.ndarray, "n place"]:
    """Answers with all acts made alike."""
    return np.where(answers < ACTS, 0, answers)


def kind(row: int, answer: Sequence[int], known: set[tuple[int, ...]]) -> str:
    """The kind of one answer; `known` are the answers to commands that were trained on."""
    right, given = _until_end(commands().answers[row].tolist()), _until_end(answer)
    if END not in answer:
        return "did not end"
    if given == right:
        return "right"
    if given == right[: len(given)]:
        return "stopped early"
    if _skeleton(given) == _skeleton(right):
        return "wrong primitive"
    if _miscounted(given, row):
        return "wrong count"
    return "copied" if given in known else "other"


def _until_end(answer: Sequence[int]) -> tuple[int, ...]:
    """The actions before the end."""
    return tuple(answer[: answer.index(END)] if END in answer else answer)


def _skeleton(actions: Sequence[int]) -> tuple[int, ...]:
    """The actions with all acts made alike."""
    return tuple(0 if action < ACTS else action for action in actions)


def _miscounted(given: tuple[int, ...], row: int) -> bool:
    """Whether the answer is i times the one phrase and then j times the other."""
    join, verb, manner, _, verb_2, manner_2, _ = commands().z[row].tolist()
    first, second = _core(verb, manner), _core(verb_2 - 1, manner_2) if join else ()
    if JOINS[join] == "after":
        first, second = second, first
    for i in range(len(given) // len(first) + 1):
        rest = given[i * len(first) :]
        if given[: i * len(first)] != first * i:
            return False
        if not rest or (second and rest == second * (len(rest) // len(second))):
            return True
    return False


@functools.cache
def _core(verb: int, manner: int) -> tuple[int, ...]:
    """What a phrase asks for, once."""
    words = grammar.VERBS[verb] + (f" {grammar.MANNERS[manner]}" if manner else "")
    return tuple(ACTIONS.index(action) for action in interpret(words))


@dataclass(frozen=True)
class Share:
    """How a number comes out where a factor has one value."""

    factor: str
    value: str
    commands: int
    mean: Shaped[np.ndarray, "*seed"]
    """Over these commands, seed by seed."""


def by_value(
    z: Int[np.ndarray, "n factor"], scores: Shaped[np.ndarray, "*seed n"]
) -> tuple[Share, ...]:
    """The mean score of the commands with each value of each factor."""
    shares = []
    for column, (factor, values) in enumerate(FACTORS):
        for index, value in enumerate(values):
            here = z[:, column] == index
            if here.any():
                mean = scores[..., here].mean(-1)
                shares.append(Share(factor, value, int(here.sum()), np.asarray(mean)))
    return tuple(shares)
