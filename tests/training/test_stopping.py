"""Early stopping: by goal and by patience, lane by lane."""

import pytest
import torch

from recombine.errors import BadValue
from recombine.training import Stop


def follow(rule: Stop, values: list[list[float]]) -> list[list[bool]]:
    best, waited = torch.full((2,), torch.inf), torch.zeros(2)
    stops = []
    for value in values:
        best, waited, stop = rule.update(torch.tensor(value), best, waited)
        stops.append(stop.tolist())
    return stops


def test_a_goal_stops_the_lane_that_reaches_it() -> None:
    rule = Stop(measure="accuracy/train", better="higher", goal=0.9)
    assert follow(rule, [[0.5, 0.95], [0.9, 0.1]]) == [[False, True], [True, False]]


def test_patience_counts_evaluations_without_improvement() -> None:
    rule = Stop(patience=2)
    values = [[1.0, 1.0], [0.9, 1.0], [0.8, 1.1]]
    assert follow(rule, values) == [[False, False], [False, False], [False, True]]


def test_a_value_that_is_no_number_never_counts_as_improvement() -> None:
    assert follow(Stop(patience=1), [[1.0, 1.0], [float("nan"), 0.5]])[1] == [True, False]


def test_a_rule_needs_a_reason() -> None:
    with pytest.raises(BadValue, match="a patience or a goal"):
        Stop()
