"""The lazy baseline: regression with the tangent kernel of a two-layer ReLU net, exactly.

A net that moves little is linear in its move. With weights w_h, readout a_h and moves δ,

    f(x) ≈ f₀(x) + Σ_h 1[w_h·x > 0] (δa_h w_h + a_h δw_h)·x.

Gradient flow on that ends at the shortest δ that fits the examples: δ = Jᵀc with K c = y − f₀(X),

    K(x, x') = Σ_h relu(w_h·x) relu(w_h·x') + x·x' Σ_h a_h² 1[w_h·x > 0] 1[w_h·x' > 0].

The net, its linear form and a ReLU teacher are all *gated*: Σ_h 1[w_h·x > 0] b_h·x, with b_h = a_h
w_h for a net. So a test loss on standard normal inputs is again a sum over pairs of units, with

    E[x xᵀ 1[u·x > 0] 1[v·x > 0]] = ((π − θ) I + (ûv̂ᵀ + v̂ûᵀ − cos θ (ûûᵀ + v̂v̂ᵀ)) / sin θ) / 2π,

the mixed derivative of the overlap of two ReLUs (`relu_unit.py`), θ the angle between u and v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue

Weights = Float[np.ndarray, "unit d"]
Readout = Float[np.ndarray, " unit"]
Inputs = Float[np.ndarray, "n d"]

ROUNDING = 1e-12
"""Directions of the kernel below this share of its largest carry nothing."""


@dataclass(frozen=True)
class GatedSum:
    """f(x) = Σ_h 1[gates_h·x > 0] predictors_h·x."""

    gates: Weights
    predictors: Weights

    @classmethod
    def of_net(cls, weights: Weights, readout: Readout) -> GatedSum:
        """A ReLU net in this form."""
        return cls(weights, weights * readout[:, None])

    def __call__(self, inputs: Inputs) -> Float[np.ndarray, " n"]:
        on = inputs @ self.gates.T > 0
        return np.asarray(((inputs @ self.predictors.T) * on).sum(1))

    def distance(self, other: GatedSum) -> float:
        """E(f − g)² on standard normal inputs, never below 0."""
        gates = np.concatenate([self.gates, other.gates])
        predictors = np.concatenate([self.predictors, -other.predictors])
        return max(0.0, float(gated_overlap(gates, predictors).sum()))


def gated_overlap(gates: Weights, predictors: Weights) -> Float[np.ndarray, "unit unit"]:
    """E[1[u_h·x > 0] (b_h·x) 1[u_k·x > 0] (b_k·x)] for all pairs of units."""
    lengths = np.linalg.norm(gates, axis=1, keepdims=True)
    unit = gates / np.where(lengths > 0, lengths, 1.0)
    cosine = np.clip(unit @ unit.T, -1, 1)
    np.fill_diagonal(cosine, 1.0)  # not 1 − 1e-16, whose angle is 1e-8
    angle = np.arccos(cosine)
    sine = np.sin(angle)
    across = predictors @ unit.T  # [h, k]: b_h · û_k
    own = np.diag(across)
    mixed = np.outer(own, own) + across * across.T
    mixed -= cosine * (own[:, None] * across.T + across * own[None])
    # where gates agree (or oppose) the second term vanishes as its numerator does
    second = np.where(sine > 1e-9, mixed / np.where(sine > 1e-9, sine, 1.0), 0.0)
    both = ((np.pi - angle) * (predictors @ predictors.T) + second) / (2 * np.pi)
    awake = (lengths > 0).astype(float)  # a unit without weights is never on
    return np.asarray(both * awake * awake.T)


def tangent_kernel(
    weights: Weights, readout: Readout, a: Inputs, b: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "n m"]:
    """K between two sets of inputs."""
    left, right = a @ weights.T, b @ weights.T
    gates = ((left > 0) * readout**2) @ (right > 0).T
    return np.asarray(np.maximum(left, 0) @ np.maximum(right, 0).T + (a @ b.T) * gates)


def tangent_regression(
    weights: Weights, readout: Readout, inputs: Inputs, targets: Float[np.ndarray, " n"]
) -> GatedSum:
    """Where gradient flow takes the net's linear form; no examples leave the net as it is.

    Repeated examples are fine; contradicting ones are met halfway, as least squares does.
    """
    if not (np.isfinite(inputs).all() and np.isfinite(targets).all()):
        raise BadValue("inputs", "NaN or infinite values", "finite numbers")
    net = GatedSum.of_net(weights, readout)
    if not len(inputs):
        return net
    values, vectors = np.linalg.eigh(tangent_kernel(weights, readout, inputs, inputs))
    known = values > ROUNDING * max(float(values[-1]), 0.0)
    along = (vectors.T @ (targets - net(inputs)))[known] / values[known]
    c = vectors[:, known] @ along
    hidden = inputs @ weights.T
    on = (hidden > 0) * c[:, None]
    by_readout = (on * hidden).sum(0)
    by_first = readout[:, None] * (on.T @ inputs)
    moved = by_readout[:, None] * weights + readout[:, None] * by_first
    return GatedSum(weights, net.predictors + moved)
