"""How many directions a representation uses, and how many two of them share.

For features f(x) let C = E f fᵀ, not centred. The participation ratio PR = tr(C)² / tr(C²) is k for
k equally strong directions. With traces set to 1, the overlap of two is τ = tr(C₁C₂), and ENSD =
PR₁ PR₂ τ is the number of directions they share: PR if both are the same, j if one uses j of the
other's directions, 0 if they are orthogonal. So ENSD near the PR *after* finetuning, and both well
below the PR before, is the signature of nested reuse: a subset of the pretrained features is kept.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

Features = Float[np.ndarray, "n feature"]


def participation_ratio(features: Features) -> float:
    """tr(C)² / tr(C²); NaN where there are no features or all are zero."""
    c = _covariance(features)
    return math.nan if c is None else 1 / float((c * c).sum())


def shared_dimensions(before: Features, after: Features) -> float:
    """ENSD of two representations of the same inputs; NaN where one of them is nothing."""
    first, second = _covariance(before), _covariance(after)
    if first is None or second is None:
        return math.nan
    return float((first * second).sum() / ((first * first).sum() * (second * second).sum()))


def _covariance(features: Features) -> np.ndarray | None:
    """E f fᵀ over its trace."""
    c = features.T @ features
    trace = float(np.trace(c))
    return c / trace if trace > 0 and math.isfinite(trace) else None
