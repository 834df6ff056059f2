"""The tree of errors a user can meet, each with the exit code it ends a command with.

    RecombineError          1
    ├── UsageError          2   the call was wrong
    │   ├── UnknownName     2   no such study, task, field …, with the nearest legal name
    │   ├── BadValue        2   a value outside what is legal
    │   └── NoData          2   a data set is absent or damaged, and how to get it
    ├── StoreError          1   the store cannot do what was asked
    │   ├── DamagedRun      1   a run directory was truncated or edited
    │   └── StoreFull       1   the disk is full
    ├── NoSource            1   no source of a data set answered
    └── Interrupted       130   Ctrl-C: what was finished stays

A message says what happened, where, what is legal and what to do next, in one line.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a disk is full, or a share of it."""


class RecombineError(Exception):
    """Anything recombine tells its user without a traceback."""

    exit_code = 1


class UsageError(RecombineError):
    """The call was wrong; nothing was done."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that nothing answers to."""

    def __init__(self, what: str, name: str, legal: Iterable[str], *, where: str = "") -> None:
        names = sorted(legal)
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"; perhaps you meant '{close[0]}'" if close else ""
        place = f" in {where}" if where else ""
        listing = ", ".join(names) if names else "none"
        super().__init__(f"unknown {what} '{name}'{place}{hint} (legal: {listing})")


class BadValue(UsageError):
    """A value outside what is legal."""

    def __init__(self, where: str, value: object, legal: str) -> None:
        super().__init__(f"{where} = {value!r} is not legal: expected {legal}")


class NoData(UsageError):
    """A data set that is not there, or not as it should be."""


class NoSource(RecombineError):
    """No source of a data set answered; nothing was changed."""


class StoreError(RecombineError):
    """The store cannot do what was asked; what it holds is intact."""


class DamagedRun(StoreError):
    """A run directory was truncated or edited after it was written."""


class StoreFull(StoreError):
    """The disk is full; nothing finished was lost."""


class Interrupted(RecombineError):
    """The user pressed Ctrl-C; what was finished stays."""

    exit_code = 130
