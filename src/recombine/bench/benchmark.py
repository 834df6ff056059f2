"""What a benchmark gives, and which ones there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A table of measurements, and whether each stated aim was met."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    aims: Mapping[str, bool]
    """Each aim in words, and whether it was met in this run."""


BENCHMARKS: Mapping[str, str] = {
    "audit": "recombine.bench.audit",
    "decomposition": "recombine.bench.decomposition",
    "images": "recombine.bench.images",
    "lanes": "recombine.bench.lanes",
    "lm": "recombine.bench.lm",
    "pairs": "recombine.bench.pairs",
    "scan": "recombine.bench.scan",
    "seq2seq": "recombine.bench.seq2seq",
    "solver": "recombine.bench.solver",
    "start": "recombine.bench.start",
    "store": "recombine.bench.store",
}
"""Name → module with `measure() -> Measured`, imported when asked for."""
