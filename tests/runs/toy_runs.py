"""A small cell's spec and runs of it, for the tests of this room and the processes they start."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from recombine import spec
from recombine.cell import Outcome
from recombine.runs import Run, failed, finished

HERE = Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Part(spec.Spec):
    kind: ClassVar[str] = "tasks"
    name: ClassVar[str] = "corners"


@dataclasses.dataclass(frozen=True)
class Toy(spec.Spec):
    kind: ClassVar[str] = "cells"
    name: ClassVar[str] = "toy"

    width: int = 1
    task: Part = Part()


KEY = spec.key_of(Toy())
MADE: dict[str, Any] = {
    "environment": {"threads": 1},
    "source": "abc",
    "seconds": 0.5,
    "created": "2025-01-01T00:00:00+00:00",
}


def done(seed: int, *, width: int = 1, size: int = 10, weights: bool = True) -> Run:
    """A finished run whose arrays tell which it is."""
    outcome = Outcome(
        scalars={"accuracy": 0.5, "angle": float("nan"), "loss": float("inf")},
        arrays={"curve": np.arange(size) + seed},
        weights={"layer": np.full((2, 2), float(seed))} if weights else {},
    )
    return finished(Toy(width=width), seed, outcome, **MADE)


def broken(seed: int, error: str = "Traceback: it broke") -> Run:
    return failed(Toy(), seed, error, **MADE)


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Another Python process, with this one's import path, Store, and this file as `toy`."""
    preamble = "import sys\nfrom recombine.runs import Store\nimport toy_runs as toy\n"
    path = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", preamble + code, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    """What a process printed, once it ended well."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out
