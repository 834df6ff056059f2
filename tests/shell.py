"""Calling `recombine`: in this process where that will do, or in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from recombine.cli import main

TINY = ("gradient/corners", "--profile", "as-printed", "--set", "recipe.steps=36")
"""A request that takes seconds; it needs a number of seeds."""
CELLS = 7
"""Cells of that request; with up to nine seeds each has all of them."""
PATIENCE = 120.0
"""Seconds after which a process that should have ended hangs."""


@dataclass(frozen=True)
class Said:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON value it is."""
        return json.loads(self.out)

    @property
    def line(self) -> str:
        """Standard error as the one line it is."""
        (line,) = self.err.splitlines()
        return line


class Launch(Protocol):
    """Starts a command in a process of its own."""

    def __call__(self, *words: object, room: int | None = None) -> subprocess.Popen[str]: ...


def call(*words: object) -> Said:
    """Run a command in this process; an error that nobody caught fails the test."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = main([str(word) for word in words])
        except SystemExit as end:
            code = end.code
    return Said(code, out.getvalue(), err.getvalue())


def reproduce(store: Path, seeds: int, *words: object) -> Said:
    """Run the tiny request in this process."""
    return call(*wanted(store, seeds, *words), "--workers", 1)


def wanted(store: Path, seeds: int, *words: object) -> tuple[object, ...]:
    """The words that ask for the tiny request."""
    return ("reproduce", *TINY, "--seeds", seeds, "--store", store, *words)


def start(*words: object, room: int | None = None) -> subprocess.Popen[str]:
    """Start a command in a group of its own; with `room`, no file may grow beyond so many bytes."""

    def confine() -> None:
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    return subprocess.Popen(
        [sys.executable, "-m", "recombine", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=confine,
    )


def ended(process: subprocess.Popen[str]) -> Said:
    """How a process ended, and every process it started: all of them hold its output open."""
    out, err = process.communicate(timeout=PATIENCE)
    return Said(process.returncode, out, err)


def until(
    true: Callable[[], bool],
    process: subprocess.Popen[str] | None = None,
    *,
    within: float = PATIENCE,
) -> None:
    """Wait until something is true, of a process if it must still be running then."""
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end, "it never came true"
        assert process is None or process.poll() is None, "the process ended before"
        time.sleep(0.01)


def group(leader: int) -> dict[int, str]:
    """The living processes of a process group: number and command line."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended while we looked
            state, _, its_group = (place / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == leader and state != "Z":
                found[int(place.name)] = (place / "cmdline").read_text().replace("\0", " ")
    return found


def workers(leader: int) -> list[int]:
    """The worker processes of a group."""
    return [pid for pid, command in group(leader).items() if "spawn_main" in command]


def records(store: Path) -> dict[str, tuple[int, int]]:
    """Every record in a store, with what would change if it were written again."""
    found = {}
    for path in store.glob("runs/*/*/record.json"):
        stat = os.stat(path)
        found[str(path.relative_to(store))] = stat.st_ino, stat.st_mtime_ns
    return found
