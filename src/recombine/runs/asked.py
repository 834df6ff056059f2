"""What was asked of a store: a small file a request, so that its state is known without a study.

    asked/<digest of the command>.json

Each names the cells of a request, their keys and seeds, and the modules that their numbers rest
on. To say how far a request is then takes the store alone, and not the import of every study.
A file is written whole and renamed in. One that cannot be written (a full disk) or read is passed
over: the runs are what counts, and the same request writes it again.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recombine.runs.disk import write_file

FOLDER = "asked"


@dataclass(frozen=True)
class AskedCell:
    """One cell of a request."""

    name: str
    """What the study calls it."""
    key: str
    seeds: range
    modules: tuple[str, ...]
    """Where the components of its spec are defined: the source that its numbers rest on."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    name: str
    """As typed: `gradient/corners`."""
    scale: str
    profile: str
    command: str
    """What to type to get it."""
    cells: tuple[AskedCell, ...]


def note(store: Path, asked: Asked) -> None:
    """Remember a request, if the disk lets us."""
    folder = store / FOLDER
    name = hashlib.sha256(asked.command.encode()).hexdigest()[:16]
    plain = asdict(asked)
    for cell in plain["cells"]:
        cell["seeds"] = [cell["seeds"].start, cell["seeds"].stop, cell["seeds"].step]
    temporary = folder / f".{name}-{os.getpid()}"
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
        write_file(temporary, json.dumps(plain, indent=1).encode() + b"\n", sync=False)
        os.replace(temporary, folder / f"{name}.json")


def notes(store: Path) -> list[Asked]:
    """Every request that was remembered; of requests that differ in seeds alone, the largest."""
    largest: dict[tuple[object, ...], Asked] = {}
    for path in _files(store / FOLDER):
        if asked := _read(path):
            cells = tuple(cell.key for cell in asked.cells)
            same = (asked.name, asked.scale, asked.profile, cells)
            if same not in largest or _size(largest[same]) < _size(asked):
                largest[same] = asked
    return sorted(largest.values(), key=lambda asked: asked.command)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.json"))
    except OSError:
        return []


def _size(asked: Asked) -> int:
    return sum(len(cell.seeds) for cell in asked.cells)


def _read(path: Path) -> Asked | None:
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
        cells = tuple(
            AskedCell(c["name"], c["key"], range(*c["seeds"]), tuple(c["modules"]))
            for c in data["cells"]
        )
        return Asked(data["name"], data["scale"], data["profile"], data["command"], cells)
    except (OSError, ValueError, TypeError, KeyError):
        return None
