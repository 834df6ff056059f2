"""Gated linear networks at infinite time: which solution gradient descent prefers, exactly.

Every unit h has a weight vector for each of its K contexts (`gates.py`). With a linear readout v
the network is f(x) = Σ_h ζ_{h,c_h(x)} · x with *effective predictors* ζ_{h,c} = v_h w_{h,c}. Under
a logistic loss on separable data, the weights of a network of degree L in its weights tend to a
KKT point of  min ‖θ‖² s.t. y_i f(x_i) ≥ 1  (`homogeneous.py`). In terms of ζ:

- **Shallow** (one unit, no readout): min Σ_c ‖β_c‖². Contexts share nothing: an independent
  hard-margin support vector machine in each.
- **Two layers, SVM-GLN.** ‖w_h‖² + v_h² ≥ 2 |v_h| ‖w_h‖ = 2 ‖ζ_h‖, with equality at balance. So
  the norm that is minimised is Σ_h ‖ζ_h‖ with ‖ζ_h‖² = Σ_c ‖ζ_{h,c}‖²: a second-order cone program
  in which a unit is a group. A few units do the work, and a context is helped by the others.
- **SVM-L2**, the control for the architecture alone: the same functions, and the plain l2 norm of
  the predictors that any combination of contexts could give. Let each unit draw its context at
  random. The mean of ‖Σ_h ζ_{h,c_h}‖² over all Kᴴ combinations is the square of the mean plus the
  variance, and the variances of independent units add up:

      ‖Σ_h m_h‖² + (1/K) Σ_{h,c} ‖ζ_{h,c} − m_h‖²,    m_h = (1/K) Σ_c ζ_{h,c}.

  Its support vector machine has the kernel x·x' (1 + Σ_h (K 1[c_h(x) = c_h(x')] − 1)).

Each limit is a case of `max_margin.py`. A unit with a silent context (frozen ReLU) passes `on`
with that column at zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue
from recombine.theory.hard_margin import hard_margin
from recombine.theory.max_margin import (
    BOTH_LABELS,
    FINE,
    NO_POINTS,
    SILENT,
    GatedGroups,
    Path,
    solve,
)

Inputs = Float[np.ndarray, "n dim"]
Labels = Float[np.ndarray, " n"]
On = Float[np.ndarray, "n unit context"]
"""1 where a point is in that context of that unit."""
Predictors = Float[np.ndarray, "unit context dim"]


@dataclass(frozen=True)
class Solution:
    """The predictors of largest margin, scaled so that the smallest margin is 1."""

    feasible: bool
    reason: str
    """Empty, or why there is no solution; then everything below is NaN."""
    predictors: Predictors
    norm: float
    """What was minimised: Σ‖ζ_h‖, or the square root of the l2 control's mean square."""
    multipliers: Labels
    """λ_i; positive only for the points on the margin."""
    gap: float
    """How far the norm may lie above the optimum, as a share of it."""

    @property
    def margin(self) -> float:
        """The margin of the predictor of norm 1."""
        return 1 / self.norm


def respond(predictors: Predictors, inputs: Inputs, on: On) -> Labels:
    """f(x) = Σ_h ζ_{h,c_h(x)} · x."""
    each = (inputs @ predictors.reshape(-1, inputs.shape[1]).T).reshape(on.shape)
    return np.asarray((each * on).sum((1, 2)))


def group_norm(predictors: Predictors) -> float:
    """Σ_h ‖ζ_h‖: the norm of a two-layer network at balance."""
    return float(np.sqrt((predictors**2).sum((1, 2))).sum())


def l2_square(predictors: Predictors) -> float:
    """The mean over all combinations of contexts of ‖Σ_h ζ_{h,c_h}‖²."""
    return inner(predictors, predictors)


def inner(a: Predictors, b: Predictors) -> float:
    """The mean over all combinations of contexts of the product of the two predictors there."""
    mean_a, mean_b = a.mean(1), b.mean(1)
    together = float(mean_a.sum(0) @ mean_b.sum(0))
    apart = ((a - mean_a[:, None]) * (b - mean_b[:, None])).sum() / a.shape[1]
    return together + float(apart)


def cosine(a: Predictors, b: Predictors) -> float:
    """How alike two networks are as functions, from −1 to 1; NaN if one is zero or undefined."""
    lengths = math.sqrt(l2_square(a) * l2_square(b))
    return inner(a, b) / lengths if lengths > 0 else math.nan


def svm_gln(inputs: Inputs, labels: Labels, on: On) -> Solution:
    """The limit of a two-layer gated network: min Σ_h ‖ζ_h‖."""
    if trouble := _trouble(inputs, labels, on):
        return _nothing(trouble, on, inputs)
    path = solve(GatedGroups(inputs, labels, on), len(inputs))
    scaled = path.multipliers * labels
    g = np.einsum("n,nhc,nd->hcd", scaled, on, inputs, optimize=True)
    return _solution(path, path.scales[:, None, None] * g)


def svm_l2(inputs: Inputs, labels: Labels, on: On) -> Solution:
    """The same functions under the l2 norm of all effective predictors.

    Every point must be in one context of every unit: with silent contexts the kernel is another.
    """
    if trouble := _trouble(inputs, labels, on):
        return _nothing(trouble, on, inputs)
    if not (on.sum(2) == 1).all():
        raise BadValue("contexts", "a silent context", "one context of every unit for each point")
    units, size = on.shape[1:]
    path = hard_margin(l2_kernel(inputs, inputs, on, on), labels)
    scaled = path.multipliers * labels * float(path.scales[0])
    total = scaled @ inputs
    apart = np.einsum("n,nhc,nd->hcd", scaled, size * on - 1, inputs, optimize=True)
    # How Σ_h m_h is shared among the units changes no output: equal shares are the shortest.
    return _solution(path, apart + total / units)


def l2_kernel(a: Inputs, b: Inputs, on_a: On, on_b: On) -> Float[np.ndarray, "n m"]:
    """x·x' (1 − H + K · number of units whose contexts agree)."""
    units, size = on_a.shape[1:]
    agree = np.einsum("nhc,mhc->nm", on_a, on_b, optimize=True)
    return np.asarray((a @ b.T) * (1 - units + size * agree))


def shallow(inputs: Inputs, labels: Labels, on: On) -> Solution:
    """The limit of one gated unit: a hard-margin machine per context, solved one by one.

    The norm is (Σ_c ‖β_c‖²)^½. A context without points has β_c = 0; a context with one class is
    a machine like any other, since the constant input lets it answer.
    """
    if on.shape[1] != 1:
        raise BadValue(
            "contexts", f"{on.shape[1]} units", "one unit: a shallow network has no more"
        )
    if trouble := _trouble(inputs, labels, on):
        return _nothing(trouble, on, inputs)
    if not on.any((1, 2)).all():
        return _nothing(SILENT, on, inputs)
    beta = np.zeros((1, on.shape[2], inputs.shape[1]))
    multipliers, gaps = np.zeros(len(inputs)), [0.0]
    for c in range(on.shape[2]):
        here = on[:, 0, c] > 0
        if not here.any():
            continue
        one = machine(inputs[here], labels[here])
        if not one.feasible:
            return _nothing(f"context {c}: {one.reason}", on, inputs)
        beta[0, c], gaps = one.predictors[0, 0], [*gaps, one.gap]
        # ‖β‖² counts here and ‖β‖ there: the multipliers of the square are ‖β‖ times as large.
        multipliers[here] = one.multipliers * one.norm
    norm = math.sqrt(float((beta**2).sum()))
    return Solution(True, FINE, beta, norm, multipliers, max(gaps))


def machine(features: Inputs, labels: Labels) -> Solution:
    """A hard-margin support vector machine through the origin, on any features."""
    on = np.ones((len(features), 1, 1))
    if trouble := _trouble(features, labels, on):
        return _nothing(trouble, on, features)
    path = hard_margin(features @ features.T, labels)
    weights = (path.multipliers * labels * float(path.scales[0])) @ features
    return _solution(path, weights[None, None])


def _trouble(inputs: Inputs, labels: Labels, on: On) -> str:
    """What is wrong with the points before any solver sees them; bad numbers are an error."""
    if not len(inputs) == len(labels) == len(on):
        counts = f"{len(inputs)} inputs, {len(labels)} labels, {len(on)} contexts"
        raise BadValue("points", counts, "as many of each")
    if not np.isin(labels, (-1.0, 1.0)).all():
        raise BadValue("labels", sorted(set(labels.tolist()))[:4], "only −1 and 1")
    if not np.isfinite(inputs).all():
        raise BadValue("inputs", "NaN or infinite values", "finite numbers")
    if not len(inputs):
        return NO_POINTS
    _, which = np.unique(inputs, axis=0, return_inverse=True)
    positive = np.bincount(which.ravel(), labels > 0) > 0
    negative = np.bincount(which.ravel(), labels < 0) > 0
    return BOTH_LABELS if (positive & negative).any() else FINE


def _solution(path: Path, predictors: Predictors) -> Solution:
    norm = float(path.norms.sum())
    return Solution(path.feasible, path.reason, predictors, norm, path.multipliers, path.gap)


def _nothing(reason: str, on: On, inputs: Inputs) -> Solution:
    predictors = np.full((*on.shape[1:], inputs.shape[1]), math.nan)
    return Solution(False, reason, predictors, math.nan, np.full(len(inputs), math.nan), math.nan)
