"""Intervals over seeds, comparisons, equivalence, multiplicity, verdicts and power."""

from recombine.stats.compare import Comparison, Equivalence, equivalent, holm, paired, unpaired
from recombine.stats.intervals import Interval, iqm, mean, median, share
from recombine.stats.power import seeds_for_share, seeds_needed, seeds_to_separate
from recombine.stats.verdicts import Outcome, Verdict, above, adjust, below, equal_within, greater

__all__ = [
    "Comparison",
    "Equivalence",
    "Interval",
    "Outcome",
    "Verdict",
    "above",
    "adjust",
    "below",
    "equal_within",
    "equivalent",
    "greater",
    "holm",
    "iqm",
    "mean",
    "median",
    "paired",
    "seeds_for_share",
    "seeds_needed",
    "seeds_to_separate",
    "share",
    "unpaired",
]
