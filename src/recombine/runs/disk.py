"""Writing to a disk that may be full, without leaving anything half written."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from recombine.errors import NO_ROOM, BadValue, StoreError, StoreFull

ABANDONED_AFTER = 3600.0
"""Seconds after which an unfinished write is nobody's, even if its process seems alive."""

_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,199}")


def check_name(what: str, name: str) -> None:
    """Refuse a name that cannot be a file name everywhere."""
    if not _NAME.fullmatch(name):
        raise BadValue(what, name, "up to 200 letters, digits, '.', '_' and '-'")


@contextlib.contextmanager
def writing(what: str, where: Path) -> Iterator[None]:
    """Turn the operating system's refusal to write into one line for the user."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise full(what, where, error.strerror) from error
        raise StoreError(f"cannot write {what} in {where}: {error.strerror or error}") from error


def full(what: str, where: Path, reason: str | None) -> StoreFull:
    """The error that says the disk is full."""
    return StoreFull(
        f"no room to write {what} in {where} ({reason or 'disk full'}): nothing finished was "
        "lost; free space and run the same command again"
    )


def write_file(path: Path, content: bytes, *, sync: bool) -> None:
    """Write a new file; with `sync`, do not return before it would survive a power cut."""
    with open(path, "wb") as file:
        file.write(content)
        if sync:
            file.flush()
            os.fsync(file.fileno())


def replace_file(path: Path, content: bytes, *, aside: Path) -> None:
    """Write a file such that a reader sees the old one or the new one, never half of either."""
    temporary = fresh(aside)
    try:
        write_file(temporary, content, sync=True)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def fresh(aside: Path) -> Path:
    """A new name in the directory of unfinished writes, telling which process it belongs to."""
    return aside / f"{_host()}-{os.getpid()}-{uuid.uuid4().hex}"


def sweep(aside: Path) -> None:
    """Remove what dead processes left unfinished; what cannot be removed stays and does no harm."""
    with os.scandir(aside) as entries:
        for entry in entries:
            if _abandoned(entry):
                discard(Path(entry.path))


def discard(path: Path) -> None:
    """Remove a directory or file that nobody reads any more."""
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _abandoned(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        if time.time() - entry.stat(follow_symlinks=False).st_mtime > ABANDONED_AFTER:
            return True
    host, _, rest = entry.name.rpartition("-")[0].rpartition("-")
    # a process of another machine on a shared disk would look dead from here
    return host == _host() and rest.isdecimal() and not _alive(int(rest))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _host() -> str:
    return re.sub(r"[^0-9A-Za-z.]", "_", socket.gethostname())[:64]
