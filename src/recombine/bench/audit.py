"""`bench audit`: a million rows of six factors with ten values each, in a process of their own.

Training lacks nine pairs of values of the first two factors; the label depends on two factors (an
exclusive-or), on three (a sum of values above a bound), or is a number. Time includes imports and
reading the file; memory is the largest the process ever had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from recombine.bench.benchmark import Measured
from recombine.seeds import stream

ROWS, FACTORS, VALUES = 1_000_000, 6, 10
SECONDS, GIGABYTES = 30.0, 4.0
PROGRAM = """
import json, resource, sys, time
start = time.time()
from recombine.auditing import audit
done = audit(sys.argv[1], label="y", split="split", predictions=True)
done.plain()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"seconds": time.time() - start, "cpu": used.ru_utime + used.ru_stime,
    "gigabytes": used.ru_maxrss / 2**20, "answer": done.learnable.decision.answer,
    "sampled": len(done.sampled)}))
"""


def measure() -> Measured:
    """Each table once: a million rows vary little."""
    z = stream(0, "data").integers(0, VALUES, size=(ROWS, FACTORS))
    held = (z[:, 0] < 3) & (z[:, 1] < 3)
    labels = {
        "exclusive-or": (z[:, 0] + z[:, 1]) % 2,
        "sum above a bound": (z[:, :3].sum(1) > 13).astype(int),
        "number": 1.5 * z[:, 0] + 0.25 * z[:, 1] * z[:, 2],
    }
    rows, aims = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, y in labels.items():
            for suffix in ("csv", "parquet") if name == "exclusive-or" else ("csv",):
                found = _audit(Path(folder) / f"table.{suffix}", z, y, held)
                rows.append(
                    (
                        f"{name}, {suffix}",
                        f"{found['seconds']:.1f}",
                        f"{found['cpu']:.1f}",
                        f"{found['gigabytes']:.2f}",
                        found["answer"],
                    )
                )
                aim = f"{name} ({suffix}) under {SECONDS:g} s and {GIGABYTES:g} GB"
                aims[aim] = found["seconds"] < SECONDS and found["gigabytes"] < GIGABYTES
    return Measured(
        f"audit of {ROWS:,} rows, {FACTORS} factors, sums of conjunctions up to order 3",
        ("label", "seconds", "processor seconds", "gigabytes", "kernel models can be right"),
        tuple(rows),
        aims,
    )


def _audit(path: Path, z: np.ndarray, y: np.ndarray, held: np.ndarray) -> dict[str, float]:
    columns = {f"f{i}": z[:, i] for i in range(FACTORS)}
    frame = pl.DataFrame({**columns, "y": y, "held": held}).with_columns(
        *(pl.format("v{}", name).alias(name) for name in columns),
        split=pl.when("held").then(pl.lit("test")).otherwise(pl.lit("train")),
    )
    frame = frame.drop("held")
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    command = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ})
    found: dict[str, float] = json.loads(done.stdout)
    return found
