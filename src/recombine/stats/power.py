"""How many seeds would settle a question that these could not."""

import math

import numpy as np
import numpy.typing as npt
from scipy import special  # type: ignore[import-untyped, unused-ignore]

from recombine.stats.bootstrap import ROUNDING, finite, within_unit

LARGEST_EFFECT = 1e6
"""Two seeds show any larger one, and SciPy's noncentral t gives NaN soon after."""


def seeds_needed(
    difference: float, sd: float, *, power: float = 0.8, level: float = 0.95, paired: bool = False
) -> int:
    """The fewest seeds an arm whose two-sided t-test finds `difference` with this power.

    `sd` is that within an arm, or, `paired`, that of the differences. Only findings of the right
    sign count.
    """
    within_unit(power, "power")
    within_unit(level, "level")
    if difference == 0 or not math.isfinite(difference):
        raise ValueError(f"difference must be finite and not 0; got {difference}")
    if not 0 <= sd < math.inf:
        raise ValueError(f"sd must be finite and not negative; got {sd}")
    if abs(difference) >= LARGEST_EFFECT * sd:
        return 2
    effect = abs(difference) / sd
    high = 2
    while _power(effect, high, level=level, paired=paired) < power:
        high *= 2
    low = high // 2  # too few, or 1, which gives no t-test
    while high - low > 1:
        middle = (low + high) // 2
        enough = _power(effect, middle, level=level, paired=paired) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def seeds_to_separate(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    power: float = 0.8,
    level: float = 0.95,
    paired: bool = False,
) -> int | None:
    """`seeds_needed` if the difference and spread seen here are the true ones; None if a tie."""
    x, y = finite(a, "a"), finite(b, "b")
    if paired and x.size != y.size:
        raise ValueError(f"paired arms need as many values: {x.size} and {y.size}")
    if min(x.size, y.size) < 2:
        raise ValueError(f"a spread needs two values an arm; got {x.size} and {y.size}")
    difference = float(np.mean(x) - np.mean(y))
    if abs(difference) <= ROUNDING * max(np.abs(x).max(), np.abs(y).max()):
        return None
    if paired:
        variance = float(np.var(x - y, ddof=1))
    else:
        squares = (x.size - 1) * np.var(x, ddof=1) + (y.size - 1) * np.var(y, ddof=1)
        variance = float(squares / (x.size + y.size - 2))
    return seeds_needed(difference, math.sqrt(variance), power=power, level=level, paired=paired)


def seeds_for_share(estimate: float, threshold: float, *, level: float = 0.95) -> int | None:
    """The fewest seeds whose Wilson interval around `estimate` excludes `threshold`.

    Wilson's bounds are the roots of a score test, so the threshold t is excluded as soon as
    (estimate - t)² > z² t (1 - t) / n. None if the two are equal, as no number of seeds will do.
    """
    for name, value in (("estimate", estimate), ("threshold", threshold)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must lie between 0 and 1; got {value}")
    if estimate == threshold:
        return None
    z = float(special.ndtri((1 + within_unit(level, "level")) / 2))
    return math.floor(z**2 * threshold * (1 - threshold) / (estimate - threshold) ** 2) + 1


def _power(effect: float, n: int, *, level: float, paired: bool) -> float:
    """P(t > critical) where t is noncentral: the difference over its standard error."""
    # Floats, since SciPy takes no integers beyond 64 bits.
    df = float(n - 1 if paired else 2 * n - 2)
    noncentrality = effect * math.sqrt(n if paired else n / 2)
    critical = special.stdtrit(df, (1 + level) / 2)
    return float(1 - special.nctdtr(df, noncentrality, critical))
