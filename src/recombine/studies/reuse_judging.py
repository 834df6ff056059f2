"""How the claims of `reuse` are weighed: test losses as ratios, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from recombine import stats
from recombine.errors import BadValue
from recombine.stats import Interval, Verdict
from recombine.studies.figure import Colour, Line
from recombine.studies.results import Seeds

NAMES = {
    "stl": "single task",
    "mtl": "multi-task",
    "ptft": "finetuning",
    "lp": "linear probing",
    "ntk": "tangent kernel",
    "ntk-pretrained": "tangent kernel, pretrained",
}
COLOURS: dict[str, Colour] = {
    "stl": "muted",
    "mtl": "second",
    "ptft": "first",
    "lp": "fourth",
    "ntk": "third",
}
SMALLEST = 1e-30
"""Below this a loss is rounding; its logarithm must not rule a mean."""


def losses(cell: Seeds, method: str, *, of: str = "test", rescaling: int = 0) -> np.ndarray:
    """Losses [seed, size] of a method; of finetuning, at one of its rescalings."""
    values = cell.array(f"{of}/{method}").astype(float)
    if method == "ptft" and rescaling >= values.shape[1]:
        legal = f"at least {rescaling + 1}: what is shown and judged takes so many"
        raise BadValue("rescalings", f"{values.shape[1]} of them", legal)
    return np.asarray(np.maximum(values[:, rescaling] if method == "ptft" else values, SMALLEST))


def at_size(cell: Seeds, method: str, place: int, *, rescaling: int = 0) -> np.ndarray:
    """Test losses of every seed at one of the sample sizes, by its place among them."""
    values = losses(cell, method, rescaling=rescaling)
    if place >= values.shape[1]:
        legal = f"at least {place + 1} sizes: a claim is judged at that one"
        raise BadValue("samples", f"{values.shape[1]} of them", legal)
    return np.asarray(values[:, place])


def log_ratio(worse: np.ndarray, better: np.ndarray, *, level: float) -> Interval:
    """By how many powers of ten the first loss exceeds the second, mean over seeds."""
    return stats.mean(np.log10(worse) - np.log10(better), level=level)


def all_of(verdicts: Sequence[tuple[str, Verdict]]) -> Verdict:
    """One verdict on several conditions that must all hold, resting on the weakest of them."""
    outcomes = [verdict.outcome for _, verdict in verdicts]
    weakest = min(verdicts, key=lambda item: item[1].effect)[1]
    words = "; ".join(f"{name}: {verdict.reason.rstrip('.')}" for name, verdict in verdicts)
    if "contradicted" in outcomes:
        return replace(weakest, outcome="contradicted", reason=words)
    if all(outcome == "reproduced" for outcome in outcomes):
        return replace(weakest, outcome="reproduced", reason=words)
    return replace(weakest, outcome="inconclusive", reason=words)


def geometric(values: np.ndarray) -> Interval:
    """The geometric mean over seeds with its interval: losses spread over powers of ten."""
    log = stats.mean(np.log10(np.maximum(values, SMALLEST)))
    estimate, low, high = (float(10**x) for x in (log.estimate, log.low, log.high))
    return Interval(estimate, low, high, log.level, log.n, f"{log.method}, of logarithms")


def curve(
    sizes: Sequence[float],
    values: np.ndarray,
    *,
    label: str,
    colour: Colour,
    dashed: bool = False,
) -> Line:
    """The geometric mean of a loss [seed, size] over sizes, with its band."""
    spans = [geometric(values[:, i]) for i in range(values.shape[1])]
    return Line.through(np.asarray(sizes, dtype=float), spans, label, colour, dashed=dashed)
