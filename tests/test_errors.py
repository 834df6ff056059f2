"""Errors say what, where, what is legal and what is near."""

import pytest

from recombine import errors
from recombine.errors import BadValue, RecombineError, UnknownName


def test_unknown_name_lists_the_legal_and_names_the_nearest() -> None:
    message = str(UnknownName("task", "corner", ["corners", "scan"], where="catalog"))
    assert message == (
        "unknown task 'corner' in catalog; perhaps you meant 'corners' (legal: corners, scan)"
    )


def test_unknown_name_without_a_near_one_only_lists() -> None:
    assert "perhaps" not in str(UnknownName("task", "xyzzy", ["corners"]))


@pytest.mark.parametrize(
    ("name", "code"),
    [("RecombineError", 1), ("UsageError", 2), ("UnknownName", 2), ("BadValue", 2),
     ("NoData", 2), ("NoSource", 1), ("StoreError", 1), ("DamagedRun", 1), ("StoreFull", 1),
     ("Interrupted", 130)],
)  # fmt: skip
def test_the_tree_in_the_docstring_is_the_tree(name: str, code: int) -> None:
    assert getattr(errors, name).exit_code == code
    assert issubclass(getattr(errors, name), RecombineError)
    line = next(line for line in (errors.__doc__ or "").splitlines() if f"{name} " in line)
    assert str(code) in line


def test_every_message_is_one_line() -> None:
    assert "\n" not in str(BadValue("recipe.steps", "x", "a whole number"))
