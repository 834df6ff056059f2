"""Representational salience: how much of a representation is about each conjunction of factors.

    S(k; C) = s_k / (κ_C − κ_0),     Σ_{k=1..C} binom(C, k) S(k; C) = 1,

with the weights s_k of `conjunctions.py`. κ_0, what any two inputs have in common, tells nothing
apart and is left out. So C − 1 numbers say all that matters of a kernel that counts. For two
factors S(1;2) = (κ_1 − κ_0)/(κ_2 − κ_0) and S(2;2) = 1 − 2 S(1;2): at S(1;2) = ½ the code is purely
additive (each factor by itself), at 0 it is a lookup table (each pair a thing of its own).

A kernel that minds *which* components agree has a salience S_J = s_J / (κ_full − κ_∅) for each
conjunction J, and they too sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue
from recombine.theory.conjunctions import (
    BySubset,
    Combinations,
    accumulate,
    agreement,
    by_count,
    moebius,
    moebius_by_count,
    sizes,
)

ROUNDING = 1e-9
"""Measured kernels that differ by less, relative to their size, are taken for equal."""


def salience(kappa: Sequence[float] | Float[np.ndarray, " count"]) -> Float[np.ndarray, " order"]:
    """S(1; C) … S(C; C) of a kernel κ_0 … κ_C that counts agreeing components."""
    values = np.asarray(kappa, dtype=float)
    return np.asarray(moebius_by_count(values)[1:] / _span(values))


def subset_salience(kappa: BySubset) -> BySubset:
    """S_J of each conjunction; the entry of the empty one is κ_∅ in the same units, not a part."""
    values = np.asarray(kappa, dtype=float)
    return np.asarray(moebius(values) / _span(values))


def kernel_of(
    saliences: Sequence[float] | Float[np.ndarray, " order"], *, base: float = 0.0
) -> BySubset:
    """The kernel by subset with κ_∅ = base and κ_full = base + 1 that has S(1;C) … S(C;C).

    One number short, S(1;C) … S(C−1;C), is not accepted: `complete` adds the last.
    """
    given = np.asarray(saliences, dtype=float)
    total = sum(math.comb(len(given), k + 1) * s for k, s in enumerate(given))
    if not math.isclose(total, 1.0, abs_tol=1e-6):
        legal = f"numbers with Σ binom({len(given)}, k) S(k) = 1, not {total:g}"
        raise BadValue("saliences", given.tolist(), legal)
    return accumulate(by_count(np.concatenate([[base], given])))


def kernel_of_subsets(saliences: BySubset, *, base: float = 0.0) -> BySubset:
    """The kernel by subset from a salience a conjunction; the entry of ∅ is not looked at."""
    weights = np.array(saliences, dtype=float)
    if not math.isclose(weights[1:].sum(), 1.0, abs_tol=1e-6):
        raise BadValue("saliences", weights[1:].tolist(), "numbers that sum to 1")
    weights[0] = base
    return accumulate(weights)


def complete(*lower: float) -> Float[np.ndarray, " order"]:
    """S(1;C) … S(C;C) from all but the last: the identity leaves it no choice."""
    factors = len(lower) + 1
    rest = 1 - sum(math.comb(factors, k + 1) * s for k, s in enumerate(lower))
    return np.array([*lower, rest])


def measured_kernel(
    gram: Float[np.ndarray, "*lead n n"], z: Combinations
) -> Float[np.ndarray, "*lead subset"]:
    """κ_I of a representation: the mean of h(z)·h(z') over all pairs that agree on exactly I.

    Pairs that agree on all components include each input with itself. A subset of components on
    which no pair agrees has no mean: NaN.
    """
    factors = z.shape[1]
    index = agreement(z, z).ravel()
    flat = gram.reshape(*gram.shape[:-2], -1)
    kappa = np.full((*gram.shape[:-2], 2**factors), np.nan)
    for subset in np.unique(index):
        kappa[..., subset] = flat[..., index == subset].mean(-1)
    return kappa


def measured_salience(
    gram: Float[np.ndarray, "*lead n n"], z: Combinations
) -> Float[np.ndarray, "*lead order"]:
    """S(1;C) … S(C;C) of a representation: κ averaged over subsets of equal size, then inverted."""
    kappa = measured_kernel(gram, z)
    counts = sizes(z.shape[1])
    by_size = [kappa[..., counts == k].mean(-1) for k in range(z.shape[1] + 1)]
    flat = np.stack(by_size, axis=-1).reshape(-1, z.shape[1] + 1)
    found = np.array([_salience_or_nan(values) for values in flat])
    return found.reshape(*gram.shape[:-2], z.shape[1])


def _salience_or_nan(values: np.ndarray) -> np.ndarray:
    """A representation that tells nothing apart has no salience."""
    if not np.isfinite(values).all() or values[-1] - values[0] <= ROUNDING * abs(values[-1]):
        return np.full(len(values) - 1, np.nan)
    return salience(values)


def _span(kappa: np.ndarray) -> float:
    span = float(kappa[-1] - kappa[0])
    if not np.isfinite(kappa).all() or span <= 0:
        legal = "finite numbers, larger where all components agree than where none does"
        raise BadValue("kernel", kappa.tolist(), legal)
    return span
