"""`bench start`: how long `recombine --help` and `recombine list` take, and what they import."""

from __future__ import annotations

import subprocess
import sys
import time

from recombine.bench.benchmark import Measured

AIM = 0.5
REPEATS = 5


def measure() -> Measured:
    """The median of five starts of each command, in processes of their own."""
    rows, aims = [], {}
    for words in (["--help"], ["list"]):
        seconds = sorted(_start(words) for _ in range(REPEATS))[REPEATS // 2]
        heavy = _imports_torch(words)
        command = " ".join(["recombine", *words])
        rows.append((command, f"{seconds:.3f}", "yes" if heavy else "no"))
        aims[f"{command} under {AIM} s without torch"] = seconds < AIM and not heavy
    return Measured("start", ("command", "seconds", "imports torch"), tuple(rows), aims)


def _start(words: list[str]) -> float:
    start = time.perf_counter()
    command = [sys.executable, "-m", "recombine", *words]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def _imports_torch(words: list[str]) -> bool:
    program = (
        "import sys; from recombine.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('torch' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stderr.strip().endswith("True")
