"""What changes in an answer when a verb moves: on networks whose answers are known."""

import numpy as np
import pytest

from known_answers import Answering, Softmax
from recombine.analyses.verb_dependence import VerbDependence, answer_parts
from recombine.errors import BadValue
from recombine.tasks.corners import Corners
from recombine.tasks.scan import Scan
from recombine.tasks.scan_grammar import ACTIONS, commands


def measured(swap: dict[str, str]) -> np.ndarray:
    """Of a network that takes some words for others, and is right about what it reads."""

    def answers(sentences: np.ndarray) -> np.ndarray:
        task, every = Scan(), commands()
        texts = [" ".join(swap.get(w, w) for w in task.sentence(one)) for one in sentences]
        return every.answers[[every.by_text[text] for text in texts]]

    stack = Answering([answers], classes=7)
    return VerbDependence(examples=60).measure(stack, Scan(), Softmax())["verb-dependence"][0]


COMPOSING = [[1, 0], [0, 1], [0, 0]]


def test_an_oracle_has_the_matrix_of_a_network_that_composes() -> None:
    among, to_jump = measured({})
    assert among.tolist() == COMPOSING and to_jump.tolist() == COMPOSING


def test_a_network_that_reads_jump_as_walk_moves_less() -> None:
    among, to_jump = measured({"jump": "walk"})
    assert among.tolist() == COMPOSING
    own = to_jump[[0, 1], [0, 1]]
    assert ((own > 0.5) & (own < 0.8)).all(), "where it was walk before, nothing changes"
    assert to_jump[2].tolist() == [0, 0]


def test_parts_of_an_answer() -> None:
    rows = [
        commands().by_text["walk left and run twice"],
        commands().by_text["walk after run left"],
    ]
    parts = answer_parts(commands().z[rows])
    assert [np.flatnonzero(p).tolist() for p in parts[0]] == [[1], [2, 3], [0, 4]]
    assert [np.flatnonzero(p).tolist() for p in parts[1]] == [[2], [1], [0, 3]]
    assert commands().answers[rows[0]][:4].tolist() == [ACTIONS.index("I_TURN_LEFT"), 0, 2, 2]


def test_it_needs_scan() -> None:
    with pytest.raises(BadValue, match="the task scan"):
        VerbDependence().measure(Answering([], 2), Corners(), Softmax())
    with pytest.raises(BadValue, match="at least 1"):
        VerbDependence(examples=0)
