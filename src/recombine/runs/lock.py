"""Taking turns with other processes: a lock on a file that ends with the process holding it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from recombine.errors import StoreError


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, waiting for it as long as it takes.

    The file is removed on release, so that locks do not pile up. Whoever waited for it then holds
    a lock on a file that is gone, notices, and asks again.
    """
    handle = None
    while handle is None:
        try:
            handle = _try(path)
        except OSError as error:
            raise StoreError(f"cannot lock {path}: {error.strerror}") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _try(path: Path) -> int | None:
    """The handle of the locked file; None if it was removed while we waited."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_still(path, handle):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
