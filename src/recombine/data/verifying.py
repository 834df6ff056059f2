"""Whether a set is there and as it should be: a glance at sizes, or every byte by its hash."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal

from recombine.data import packaged
from recombine.data.places import directory
from recombine.data.sets import DataSet, File
from recombine.data.sources import digest

State = Literal["ready", "absent", "incomplete", "damaged"]


def state(wanted: DataSet, where: str | os.PathLike[str] | None = None) -> State:
    """How a set looks at a glance: no byte is read."""
    if not wanted.files:
        return "ready" if packaged.location() else "absent"
    sizes = [_size(path_of(wanted, file, where)) for file in wanted.files]
    if all(size is None for size in sizes):
        return "absent"
    if None in sizes:
        return "incomplete"
    return "ready" if sizes == [file.size for file in wanted.files] else "damaged"


def verify(wanted: DataSet, where: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Read every byte: the files that are not as they should be, and why."""
    if not wanted.files:
        problem = packaged.problem()
        return {packaged.FILE: problem} if problem else {}
    found = {file.name: _problem(path_of(wanted, file, where), file) for file in wanted.files}
    return {name: problem for name, problem in found.items() if problem}


def path_of(wanted: DataSet, file: File, where: str | os.PathLike[str] | None = None) -> Path:
    """Where a file of a set is kept."""
    return directory(where) / wanted.name / file.name


def problem_of(content: bytes, file: File) -> str:
    """What is wrong with bytes that were read from a file; empty if nothing is."""
    if len(content) != file.size:
        return f"{len(content):,} bytes instead of {file.size:,}"
    if hashlib.sha256(content).hexdigest() != file.sha256:
        return "wrong hash"
    return ""


def _problem(path: Path, file: File) -> str:
    size = _size(path)
    if size is None:
        return "absent"
    if size != file.size:
        return f"{size:,} bytes instead of {file.size:,}"
    try:
        return "" if digest(path) == file.sha256 else "wrong hash"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
