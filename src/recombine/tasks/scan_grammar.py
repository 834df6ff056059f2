"""The grammar of SCAN (Lake & Baroni 2018) and its meaning: all 20,910 commands, by program.

    command  → phrase | phrase and phrase | phrase after phrase
    phrase   → core | core twice | core thrice
    core     → verb | verb side | verb opposite side | verb around side
    side     → left | right
    verb     → walk | look | run | jump | turn          (turn alone is no command)

A command is one *combination* of seven factors (see FACTORS): what joins its phrases, and the verb,
manner and times of each. Of the 66,150 combinations in the product 20,910 are commands. The others
are impossible in two ways: `turn` without a side, and a second phrase that is half there (`after`
with nothing to follow it; a manner for a verb that is missing). A command of one phrase has the
verb `(none)`, and `alone` and `once`, in its second place.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Bool, Int

from recombine.tasks.task import IGNORE

VERBS = ("walk", "look", "run", "jump", "turn")
ACTIONS = ("I_WALK", "I_LOOK", "I_RUN", "I_JUMP", "I_TURN_LEFT", "I_TURN_RIGHT")
"""The first four are what the first four verbs mean; a turn has the side it goes to."""
END = "<end>"
SOURCE_WORDS = (
    *VERBS, "left", "right", "opposite", "around", "twice", "thrice", "and", "after",
)  # fmt: skip
TARGET_WORDS = (*ACTIONS, END)
JOINS = ("one phrase", "and", "after")
MANNERS = (
    "alone", "left", "right", "opposite left", "opposite right", "around left", "around right",
)  # fmt: skip
TIMES = ("once", "twice", "thrice")
NONE = "(none)"

FACTORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("join", JOINS),
    ("verb 1", VERBS),
    ("manner 1", MANNERS),
    ("times 1", TIMES),
    ("verb 2", (NONE, *VERBS)),
    ("manner 2", MANNERS),
    ("times 2", TIMES),
)
JOIN, VERB_1, MANNER_1, TIMES_1, VERB_2, MANNER_2, TIMES_2 = range(7)
SIZES = tuple(len(values) for _, values in FACTORS)
LONGEST_COMMAND, LONGEST_ANSWER = 9, 48
"""Words of the longest command; actions of the longest answer, its end not counted."""


@dataclass(frozen=True)
class Commands:
    """Every command with its factors, its words and its answer, padded with −1."""

    z: Int[np.ndarray, "command 7"]
    words: Int[np.ndarray, "command 9"]
    answers: Int[np.ndarray, "command 49"]
    """Actions, then the end, then −1."""
    row: Int[np.ndarray, "*factor"]
    """From a combination to its row; −1 where the combination is no command."""

    @functools.cached_property
    def texts(self) -> tuple[str, ...]:
        """The commands as they are written."""
        return tuple(
            " ".join(SOURCE_WORDS[word] for word in row if word >= 0) for row in self.words.tolist()
        )

    @functools.cached_property
    def by_text(self) -> dict[str, int]:
        """From a written command to its row."""
        return {text: row for row, text in enumerate(self.texts)}

    @functools.cached_property
    def answer_texts(self) -> tuple[str, ...]:
        """The answers as they are written."""
        end = len(ACTIONS)
        return tuple(
            " ".join(ACTIONS[action] for action in row[: row.index(end)])
            for row in self.answers.tolist()
        )

    @functools.cached_property
    def lengths(self) -> Int[np.ndarray, " command"]:
        """Actions of each answer, its end counted."""
        return np.asarray((self.answers >= 0).sum(1))

    def rows(self, z: Int[np.ndarray, "n 7"]) -> Int[np.ndarray, " n"]:
        """The rows of combinations, which must be commands."""
        rows = self.row[tuple(z.T)]
        if (rows < 0).any():
            bad = z[int(np.argmin(rows))]
            names = [values[v] for (_, values), v in zip(FACTORS, bad.tolist(), strict=True)]
            raise ValueError(f"no command combines {', '.join(names)}")
        return np.asarray(rows)


@functools.cache
def commands() -> Commands:
    """All 20,910 commands, in the lexicographic order of their factors."""
    phrases = [
        (v, m, t, *_phrase(v, m, t))
        for v, m, t in product(range(5), range(7), range(3))
        if possible_core(v, m)
    ]
    z, words, answers = [], [], []
    for v, m, t, text, answer in phrases:
        z.append((0, v, m, t, 0, 0, 0))
        words.append(text)
        answers.append(answer)
    for join in (1, 2):
        link = [SOURCE_WORDS.index(JOINS[join])]
        for v, m, t, text, answer in phrases:
            for v2, m2, t2, text2, answer2 in phrases:
                z.append((join, v, m, t, v2 + 1, m2, t2))
                words.append(text + link + text2)
                answers.append(answer + answer2 if join == 1 else answer2 + answer)
    combinations = np.array(z)
    row = np.full(SIZES, -1)
    row[tuple(combinations.T)] = np.arange(len(z))
    end = [len(ACTIONS)]
    made = Commands(
        combinations,
        _padded(words, LONGEST_COMMAND),
        _padded([answer + end for answer in answers], LONGEST_ANSWER + 1),
        row,
    )
    for array in (made.z, made.words, made.answers, made.row):
        array.setflags(write=False)
    return made


def possible(z: Int[np.ndarray, "n 7"]) -> Bool[np.ndarray, " n"]:
    """Which combinations are commands."""
    return np.asarray(commands().row[tuple(z.T)] >= 0)


def possible_core(verb: int, manner: int) -> bool:
    """Whether a verb can be said in that manner: all but `turn` alone."""
    return not (VERBS[verb] == "turn" and manner == 0)


def _phrase(verb: int, manner: int, times: int) -> tuple[list[int], list[int]]:
    """The words and the actions of one phrase, from its factors."""
    said = [VERBS[verb]]
    how, _, side = MANNERS[manner].rpartition(" ")
    if manner:
        said += [how, side] if how else [side]
    if times:
        said.append(TIMES[times])
    act = [] if VERBS[verb] == "turn" else [verb]
    turn = [ACTIONS.index(f"I_TURN_{side.upper()}")] if manner else []
    # opposite: two turns, then the act; around: four times a turn and the act
    core = {"": turn + act, "opposite": turn * 2 + act, "around": (turn + act) * 4}[how]
    return [SOURCE_WORDS.index(word) for word in said], core * (times + 1)


def _padded(rows: list[list[int]], width: int) -> np.ndarray:
    """Rows of unequal length as one array, −1 after the end."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    flat = np.fromiter((item for row in rows for item in row), np.int64, int(lengths.sum()))
    padded = np.full((len(rows), width), IGNORE)
    padded[np.arange(width) < lengths[:, None]] = flat
    return padded
