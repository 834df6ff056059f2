"""Puts a folder of files in place whole: written beside the old one, then swapped in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from recombine.errors import UsageError

MARKER = ".recombine-report"
"""A folder without it is somebody else's and is left alone."""


def check(folder: Path) -> None:
    """Refuse a place that holds anything but an earlier report."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file, not a folder: name a new folder for the report")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise UsageError(
            f"{folder} is not empty and not a recombine report (no {MARKER} in it): "
            "name a new or empty folder"
        )


def replace(folder: Path, files: Mapping[str, str]) -> None:
    """Make the folder hold exactly these files, by path within it.

    A kill at any moment leaves the old report, the new one, or for an instant none; never a part
    of one. What was being written may stay behind beside it, under a name that starts with a dot.
    """
    check(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh, old = _beside(folder, "new"), _beside(folder, "old")
    try:
        _fill(fresh, {**files, MARKER: "Written by recombine and replaced as a whole.\n"})
        if folder.exists():
            os.rename(folder, old)
        os.rename(fresh, folder)
    except BaseException:
        if old.exists() and not folder.exists():
            os.rename(old, folder)
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _fill(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")


def _beside(folder: Path, word: str) -> Path:
    """A hidden sibling that does not exist, on the same disk so that it can be renamed."""
    names = (f".{folder.name}.{word}-{os.getpid()}-{number}" for number in count())
    return next(path for path in map(folder.with_name, names) if not path.exists())
