"""What tests of several rooms share: `shell`, `toys`, and processes that end with their test."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from shell import Launch, start


@pytest.fixture
def launch() -> Iterator[Launch]:
    """Start `recombine` in a process group of its own; what a failed test leaves is ended."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: object, room: int | None = None) -> subprocess.Popen[str]:
        started.append(start(*words, room=room))
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
