"""Fixed gates: hyperplanes cut the input space, and the side a point lies on is its context.

A unit of a gated linear network owns s hyperplanes (u_b, θ_b). Their signs give one of K = 2ˢ
contexts, c(x) = Σ_b 2ᵇ 1[u_b · x > θ_b], and the unit has a weight vector for each. Two ways to
draw them are known from the paper: u ~ N(0, 36²) with θ ~ N(0, 9²), or θ at the *median* of u · x
over the training points, so that every hyperplane cuts the data in half. A frozen ReLU is a gate
with s = 1 whose context 0 is silent.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

SPREAD, SHIFT = 36.0, 9.0
"""Standard deviations of a hyperplane's normal and of its threshold."""

Inputs = Float[np.ndarray, "n dim"]
Normals = Float[np.ndarray, "unit plane dim"]
Thresholds = Float[np.ndarray, "unit plane"]
Contexts = Int[np.ndarray, "n unit"]


def hyperplanes(
    units: int, planes: int, dim: int, rng: np.random.Generator
) -> tuple[Normals, Thresholds]:
    """Random normals and thresholds."""
    normals = rng.normal(0.0, SPREAD, (units, planes, dim))
    return normals, rng.normal(0.0, SHIFT, (units, planes))


def medians(normals: Normals, inputs: Inputs) -> Thresholds:
    """Thresholds that cut these points in half; zero where there are no points."""
    if not len(inputs):
        return np.zeros(normals.shape[:2])
    return np.asarray(np.median(_sides(normals, inputs), axis=0))


def contexts(inputs: Inputs, normals: Normals, thresholds: Thresholds) -> Contexts:
    """The context of each point at each unit, from 0 to K − 1."""
    above = _sides(normals, inputs) > thresholds
    return np.asarray(above @ (1 << np.arange(normals.shape[1])), dtype=np.int64)


def indicators(context: Contexts, size: int) -> Float[np.ndarray, "n unit context"]:
    """1 where a point is in that context of that unit, else 0."""
    return np.asarray(context[:, :, None] == np.arange(size), dtype=float)


def _sides(normals: Normals, inputs: Inputs) -> Float[np.ndarray, "n unit plane"]:
    flat = normals.reshape(-1, normals.shape[2])
    return np.asarray((inputs @ flat.T).reshape(len(inputs), *normals.shape[:2]))
