"""What changes in an answer when a verb moves: on networks whose answers are known."""

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

from recombine.analyses.verb_dependence import VerbDependence, answer_parts
from recombine.errors import BadValue
from recombine.models.attentive import Attentive
from recombine.models.stack import Stack, Tap, untouched
from recombine.tasks.corners import Corners
from recombine.tasks.scan import Scan
from recombine.tasks.scan_grammar import ACTIONS, commands


class Answering(Stack):
    """Gives the oracle's answer to a sentence, or to what it takes the sentence for."""

    def __init__(self, swap: dict[str, str]) -> None:
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(1))
        self._swap = swap

    @property
    def lanes(self) -> int:
        return 1

    @property
    def sites(self) -> tuple[str, ...]:
        return ()

    def forward(
        self, inputs: Float[Tensor, "1 batch time word"], tap: Tap = untouched
    ) -> Float[Tensor, "1 batch output class"]:
        task, every = Scan(), commands()
        texts = [" ".join(task.sentence(one)) for one in inputs[0].numpy()]
        read = [" ".join(self._swap.get(w, w) for w in text.split()) for text in texts]
        answers = every.answers[[every.by_text[text] for text in read]]
        return torch.nn.functional.one_hot(torch.from_numpy(answers).clamp(min=0), 7).float()[None]


def measured(swap: dict[str, str]) -> np.ndarray:
    return VerbDependence(examples=60).measure(Answering(swap), Scan(), Attentive())[
        "verb-dependence"
    ][0]


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
        VerbDependence().measure(Answering({}), Corners(), Attentive())
    with pytest.raises(BadValue, match="at least 1"):
        VerbDependence(examples=0)
