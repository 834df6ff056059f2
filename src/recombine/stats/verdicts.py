"""What an interval says about a claim: reproduced, contradicted, or inconclusive, and why."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from recombine.stats.compare import Comparison, holm
from recombine.stats.intervals import Interval

Outcome: TypeAlias = Literal["reproduced", "contradicted", "inconclusive"]

ALPHA = 0.05


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim, with the numbers it rests on."""

    outcome: Outcome
    effect: float
    interval: Interval
    n: int
    method: str
    reason: str


def above(interval: Interval, threshold: float, *, against: float | None = None) -> Verdict:
    """The claim that a quantity exceeds `threshold`; contradicted below `against`."""
    against = threshold if against is None else against
    if against > threshold:
        raise ValueError(f"against must not exceed the threshold {threshold:g}; got {against:g}")
    if interval.above(threshold):
        return _verdict("reproduced", interval, f"{interval} lies wholly above {threshold:g}.")
    if interval.below(against):
        return _verdict("contradicted", interval, f"{interval} lies wholly below {against:g}.")
    return _verdict("inconclusive", interval, _between(interval, against, threshold))


def below(interval: Interval, threshold: float, *, against: float | None = None) -> Verdict:
    """The claim that a quantity stays under `threshold`; contradicted above `against`."""
    against = threshold if against is None else against
    if against < threshold:
        raise ValueError(f"against must reach the threshold {threshold:g}; got {against:g}")
    if interval.below(threshold):
        return _verdict("reproduced", interval, f"{interval} lies wholly below {threshold:g}.")
    if interval.above(against):
        return _verdict("contradicted", interval, f"{interval} lies wholly above {against:g}.")
    return _verdict("inconclusive", interval, _between(interval, threshold, against))


def equal_within(interval: Interval, target: float, margin: float) -> Verdict:
    """The claim that a quantity is `target`, give or take `margin`."""
    if not margin >= 0:
        raise ValueError(f"margin must not be negative; got {margin}")
    least, most = target - margin, target + margin
    region = f"{target:g} ± {margin:g}"
    if interval.low >= least and interval.high <= most:
        return _verdict("reproduced", interval, f"{interval} lies inside {region}.")
    if interval.below(least) or interval.above(most):
        return _verdict("contradicted", interval, f"{interval} lies wholly outside {region}.")
    reason = f"{interval} lies partly inside and partly outside {region}."
    return _verdict("inconclusive", interval, reason)


def greater(comparison: Comparison, *, alpha: float = ALPHA) -> Verdict:
    """The claim that a is greater than b: by the sign of the interval, if the test agrees.

    The test is asked too because a bootstrap interval of few seeds is too narrow: the signs of
    five pairs can never give p below 0.06, however far their interval lies from zero.
    """
    interval, p = comparison.difference, comparison.p
    verdict = replace(above(interval, 0.0), method=comparison.method)
    if verdict.outcome == "inconclusive":
        return verdict
    if p > alpha:
        reason = f"{verdict.reason} But p = {p:.3g} exceeds {alpha:g}."
        return replace(verdict, outcome="inconclusive", reason=reason)
    return replace(verdict, reason=f"{verdict.reason} p = {p:.3g}.")


def adjust(
    verdicts: Mapping[str, tuple[Verdict, float]], *, alpha: float = ALPHA
) -> dict[str, Verdict]:
    """The verdicts of one study after Holm's correction of their p-values.

    A decided verdict whose adjusted p exceeds `alpha` becomes inconclusive. Undecided ones count
    in the family as well, since they were tested.
    """
    adjusted = holm({name: p for name, (_, p) in verdicts.items()})
    return {
        name: _demoted(v, adjusted[name], alpha, len(verdicts)) for name, (v, _) in verdicts.items()
    }


def _demoted(verdict: Verdict, p: float, alpha: float, family: int) -> Verdict:
    if verdict.outcome == "inconclusive" or p <= alpha:
        return verdict
    note = f"But after Holm's correction over {family} claims p = {p:.3g} exceeds {alpha:g}."
    return replace(verdict, outcome="inconclusive", reason=f"{verdict.reason} {note}")


def _verdict(outcome: Outcome, interval: Interval, reason: str) -> Verdict:
    if math.isnan(interval.low) or math.isnan(interval.high):
        outcome, reason = "inconclusive", "one seed"
    return Verdict(outcome, interval.estimate, interval, interval.n, interval.method, reason)


def _between(interval: Interval, lower: float, upper: float) -> str:
    if lower == upper:
        return f"{interval} reaches {lower:g} or lies on both sides of it."
    return f"{interval} lies neither wholly below {lower:g} nor wholly above {upper:g}."
