"""What the parts of `realization` on the inside of networks share: names, pairs, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.stats import Interval, Verdict
from recombine.studies.figure import Colour
from recombine.studies.results import Results

COLOURS: Mapping[str, Colour] = {"baseline": "first", "guided": "second"}


def interval(values: Float[np.ndarray, " seed"], level: float = 0.95) -> Interval:
    """The mean over the seeds that have a number; NaN, without an interval, if none has."""
    known = values[np.isfinite(values)]
    if not len(known):
        nan = float("nan")
        return Interval(nan, nan, nan, level, 0, "no seed has a number")
    return stats.mean(known, level=level)


def both(results: Results, a: str, b: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A number of two cells, for the seeds that both have: one seed, one start, one order."""
    one, other = results.shared(a, b)
    return one.scalar(name), other.scalar(name)


def all_of(verdicts: Sequence[tuple[str, Verdict]]) -> Verdict:
    """One verdict on conditions that must all hold; it shows the one that holds least.

    Each is tested at the full level: that all hold by chance is less likely than that one does.
    """
    outcomes = [verdict.outcome for _, verdict in verdicts]
    wanted = next((o for o in ("contradicted", "inconclusive") if o in outcomes), "reproduced")
    shown = [verdict for _, verdict in verdicts if verdict.outcome == wanted]
    words = "; ".join(f"{name}: {verdict.reason.rstrip('.')}" for name, verdict in verdicts)
    return replace(shown[0], reason=f"{words}.")
