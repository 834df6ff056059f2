"""One run in one directory: written, renamed into place, read and checked."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Container
from pathlib import Path

from recombine.errors import DamagedRun
from recombine.runs import record as records
from recombine.runs.disk import write_file
from recombine.runs.record import Run

SYNC_FROM = 1.0
"""Seconds a run must have cost for its bytes to be forced to the disk before it is put in place.

A kill, of any process at any moment, loses nothing either way: the bytes are with the operating
system. Only a power cut or a crash of the system can tear files renamed a moment before, and a
torn run is found by its hashes and made again. Measured on a busy ext4 disk, 10,000 small runs:
1,500 to 2,600 a second without fsync, 150 to 380 with it, that is 2 to 6 ms a run. So a run that
cost less than a second is cheaper to make again than to insure; for any other the insurance costs
less than a hundredth of it.
"""


def write(run: Run, place: Path) -> None:
    """Write a run as a new directory."""
    sync = run.record.seconds >= SYNC_FROM
    place.mkdir()
    for name, content in run.contents.items():
        write_file(place / name, content, sync=sync)
    write_file(place / "record.json", records.write(run.record), sync=sync)


def rename_in(aside: Path, target: Path) -> bool:
    """Rename a whole directory into place; False if something is there."""
    try:
        os.rename(aside, target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def read(place: Path, names: Container[str]) -> Run:
    """The record in a directory and the named files of it, or DamagedRun."""
    try:
        return check(place, names)
    except ValueError as error:
        raise DamagedRun(
            f"run {place.parent.name}/{place.name} is damaged ({error}) in {place}: `recombine "
            "runs verify --redo` sets it aside, so that the same reproduce command makes it again"
        ) from error


def check(place: Path, names: Container[str]) -> Run:
    """Like `read`, but what is wrong is a ValueError of a few words."""
    record = records.read(_bytes(place / "record.json"))
    if str(record) != f"{place.parent.name}/{place.name}":
        raise ValueError(f"the record is that of run {record}")
    contents = {}
    for name, expected in record.files.items():
        if name in names:
            contents[name] = _bytes(place / name)
            if hashlib.sha256(contents[name]).hexdigest() != expected:
                raise ValueError(f"{name} does not match its hash")
        elif not (place / name).is_file():  # not read, for time; but it must be there
            raise ValueError(f"{name} is missing")
    return Run(record, contents)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        why = "is missing" if missing else f"cannot be read ({error.strerror})"
        raise ValueError(f"{path.name} {why}") from error
