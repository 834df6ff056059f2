"""The checker that holds every call of the array rooms to its shapes and types during tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

_strict: Callable[[Any], Any] = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(function: Any) -> Any:
    """Check a function's arguments and result, and leave constructors alone.

    Specs check themselves and say what is legal: a checker before them would hide their messages.
    """
    return function if function.__name__ == "__init__" else _strict(function)
