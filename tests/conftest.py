"""What tests of several rooms share: `shell`, `toys`, and processes that end with their test."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest
from jaxtyping import config

from shell import Launch, start

# One thread a process, as the engine has it: two test processes with two threads each on two cores
# wait for one another most of the time.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A shell ignores Ctrl-C in what it starts in the background, and processes inherit that: tests that
# send it must find it as a terminal has it, wherever they were started.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """As a user calls it, without the tests' checker of shapes and types before it."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture
def launch() -> Iterator[Launch]:
    """Start `recombine` in a process group of its own; what a failed test leaves is ended."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: object, room: int | None = None) -> subprocess.Popen[str]:
        started.append(start(*words, room=room))
        return started[-1]

    yield begin
    for process in started:
        with contextlib.suppress(ProcessLookupError):  # the usual case: nobody is left
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
