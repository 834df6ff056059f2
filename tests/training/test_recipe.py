"""A recipe refuses what cannot be trained."""

import pytest

from recombine.errors import BadValue
from recombine.training import Recipe


@pytest.mark.parametrize(
    ("fields", "legal"),
    [
        ({"steps": -1}, "0 or more"),
        ({"batch": 0}, "at least 1"),
        ({"clip": 0.0}, "a positive number"),
        ({"examples": 10}, "none with fresh samples"),
        ({"sampling": "in-order"}, "a number with any other sampling"),
        ({"sampling": "in-order", "examples": 5}, "at least one batch"),
        ({"evaluation_examples": 0}, "at least 1"),
        ({"optimizer": "sgd"}, "a SGD or a Adam"),
    ],
)
def test_what_cannot_be_trained_is_refused(fields: dict[str, object], legal: str) -> None:
    with pytest.raises(BadValue, match=legal):
        Recipe(**fields)  # type: ignore[arg-type]


def test_evaluation_steps_end_with_the_last() -> None:
    assert Recipe(steps=20, evaluate_at=(30, 5, 0)).evaluation_steps == (0, 5, 20)
