"""Taking turns with other processes: a lock on a file that ends with the process holding it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from recombine.errors import StoreError

PAUSE = 0.1
"""Seconds between two looks at a lock that others may hold for long."""


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold an exclusive lock on a file, waiting for it as long as it takes.

    Meanwhile `waiting` is called again and again; it may raise to give up.

    The file is removed on release, so that locks do not pile up. Whoever waited for it then holds
    a lock on a file that is gone, notices, and asks again.
    """
    handle = None
    while handle is None:
        try:
            handle = _try(path, waiting)
        except OSError as error:
            raise StoreError(f"cannot lock {path}: {error.strerror}") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _try(path: Path, waiting: Callable[[], None] | None) -> int | None:
    """The handle of the locked file; None if it was removed while we waited."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        _lock(handle, waiting)
        if _is_still(path, handle):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _lock(handle: int, waiting: Callable[[], None] | None) -> None:
    if waiting is None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            waiting()
            time.sleep(PAUSE)


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
