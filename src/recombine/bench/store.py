"""`bench store`: 10,000 records written, indexed, read and queried; status on such a store."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from recombine.bench.benchmark import Measured
from recombine.cell import Outcome
from recombine.conduct import requests
from recombine.engine import standing
from recombine.engine.provenance import environment
from recombine.runs import Store, finished, note, notes
from recombine.spec import key_of

RECORDS = 10_000
AIM = 1.0
T = TypeVar("T")


def measure() -> Measured:
    """Records shaped like those of `gradient/corners`: a few scalars, curves and a small map."""
    request = requests(["gradient/corners"], seeds=RECORDS)[0]
    cell = request.needs()["main"].cell
    key, where = key_of(cell), environment("cpu")
    curve, picture = np.linspace(0, 1, 24), np.zeros((33, 33), dtype=np.uint8)
    outcome = Outcome({"accuracy/corner": 0.5}, {"curve": curve, "map": picture})
    with tempfile.TemporaryDirectory() as folder:
        with Store.open(folder) as store:
            runs = [
                finished(cell, seed, outcome, environment=where, source="bench", seconds=0.0)
                for seed in range(RECORDS)
            ]
            written, _ = _timed(lambda: store.put_many(runs))
            note(store.path, request.asked())
        opened, store = _timed(lambda: Store.open(folder))
        with store:
            queried, statuses = _timed(lambda: store.has(key))
            read, _ = _timed(lambda: store.get_many(key, statuses))
        (store.path / "index.sqlite").unlink()
        rebuilt, store = _timed(lambda: Store.open(folder))
        store.close()
        command = [sys.executable, "-m", "recombine", "status", "--store", folder]
        status, _ = _timed(lambda: subprocess.run(command, check=True, capture_output=True))
        counted, _ = _timed(lambda: _count(folder))
    rows = [
        ("write and index", f"{written:.2f}", f"{RECORDS / written:,.0f}"),
        ("open", f"{opened:.3f}", f"{RECORDS / opened:,.0f}"),
        ("query one cell's seeds", f"{queried:.3f}", f"{RECORDS / queried:,.0f}"),
        ("read, hashes checked", f"{read:.2f}", f"{RECORDS / read:,.0f}"),
        ("open with the index deleted", f"{rebuilt:.2f}", f"{RECORDS / rebuilt:,.0f}"),
        ("status, in this process", f"{counted:.3f}", ""),
        ("recombine status, a process of its own", f"{status:.2f}", ""),
    ]
    return Measured(
        f"store of {RECORDS:,} records",
        ("what", "seconds", "records a second"),
        tuple(rows),
        {
            f"status under {AIM} s, imports apart": counted < AIM,
            f"recombine status under {AIM} s, imports included": status < AIM,
        },
    )


def _count(folder: str) -> None:
    """What `recombine status` does once Python has started."""
    with Store.open(folder) as store:
        standing(notes(store.path), store)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
