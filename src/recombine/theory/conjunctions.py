"""Kernels on factors, and what they are made of: one weight for each conjunction of factors.

An input is a combination z = (z_1 … z_C). A kernel on combinations is *compositionally structured*
if K(z, z') depends only on *which* components agree, I = {c : z_c = z'_c}: it is a table κ_I of 2ᶜ
numbers. If only *how many* agree counts, it is C + 1 numbers κ_0 … κ_C.

Every such kernel is a sum over conjunctions, the subsets J of components:

    K(z, z') = Σ_J s_J 1[z_J = z'_J],      s_J = Σ_{I ⊆ J} (−1)^{|J|−|I|} κ_I.

The indicator is 1 exactly when J ⊆ I, so κ_I = Σ_{J ⊆ I} s_J, and the second formula is the Möbius
inversion of that sum. Each s_J ≥ 0 makes the kernel positive semidefinite for any numbers of
items: it is then the product of features √s_J · onehot(z_J). A slightly negative s_J can still be
positive semidefinite when the factors have few values.

A subset is written as a number: bit c is set when component c is in it, so that the empty set is
index 0 and the full one is the last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from recombine.errors import BadValue

Combinations = Int[np.ndarray, "n factor"]
BySubset = Float[np.ndarray, " subset"]
"""A number for each of the 2ᶜ subsets of components."""
MOST_FACTORS = 16
"""2ᶜ numbers are kept: beyond this many components there are too many subsets."""


def factors_of(by_subset: BySubset) -> int:
    """How many components a table over subsets is about."""
    factors = max(len(by_subset), 1).bit_length() - 1
    if len(by_subset) != 2**factors or not 1 <= factors <= MOST_FACTORS:
        legal = f"2, 4, 8, … up to 2^{MOST_FACTORS} numbers, one a subset of the factors"
        raise BadValue("kernel by subset", f"{len(by_subset)} numbers", legal)
    return factors


def subsets(factors: int) -> tuple[tuple[int, ...], ...]:
    """The components in each subset, in the order of the tables."""
    return tuple(tuple(c for c in range(factors) if index >> c & 1) for index in range(2**factors))


def sizes(factors: int) -> Int[np.ndarray, " subset"]:
    """How many components each subset has."""
    return np.array([index.bit_count() for index in range(2**factors)])


def by_count(values: Sequence[float] | Float[np.ndarray, " count"]) -> BySubset:
    """A table over subsets from C + 1 numbers that only look at how many components agree."""
    given = np.asarray(values, dtype=float)
    if given.ndim != 1 or not 2 <= len(given) <= MOST_FACTORS + 1:
        raise BadValue("kernel by count", np.shape(values), "a list of κ_0 … κ_C, at least two")
    return np.asarray(given[sizes(len(given) - 1)])


def moebius(kappa: BySubset) -> BySubset:
    """The weight s_J of each conjunction, from the kernel κ_I."""
    weights = np.array(kappa, dtype=float)
    for c in range(factors_of(kappa)):
        pairs = weights.reshape(-1, 2, 2**c)  # without component c, and with it
        pairs[:, 1] -= pairs[:, 0]
    return weights


def accumulate(weights: BySubset) -> BySubset:
    """The kernel κ_I from the weights s_J: the inverse of `moebius`."""
    kappa = np.array(weights, dtype=float)
    for c in range(factors_of(weights)):
        pairs = kappa.reshape(-1, 2, 2**c)
        pairs[:, 1] += pairs[:, 0]
    return kappa


def moebius_by_count(
    values: Sequence[float] | Float[np.ndarray, " count"],
) -> Float[np.ndarray, " count"]:
    """s_0 … s_C of a kernel that counts: s_k = κ_k − Σ_{j<k} binom(k, j) s_j."""
    kappa = np.asarray(values, dtype=float)
    weights = np.zeros_like(kappa)
    for k in range(len(kappa)):
        weights[k] = kappa[k] - sum(math.comb(k, j) * weights[j] for j in range(k))
    return weights


def agreement(left: Combinations, right: Int[np.ndarray, "m factor"]) -> Int[np.ndarray, "n m"]:
    """The index of the subset of components on which each pair of combinations agrees."""
    bits = 1 << np.arange(left.shape[1])
    return np.asarray((left[:, None, :] == right[None, :, :]) @ bits)


def kernel_matrix(
    kappa: BySubset, left: Combinations, right: Int[np.ndarray, "m factor"]
) -> Float[np.ndarray, "n m"]:
    """K(z, z') for every pair."""
    if factors_of(kappa) != left.shape[1]:
        legal = f"{2 ** left.shape[1]} numbers for {left.shape[1]} factors"
        raise BadValue("kernel by subset", f"{len(kappa)} numbers", legal)
    if right.shape[1] != left.shape[1]:
        raise BadValue("factors", [left.shape[1], right.shape[1]], "as many on either side")
    return np.asarray(np.asarray(kappa, dtype=float)[agreement(left, right)])


def is_positive(kappa: BySubset, every: Combinations, *, tolerance: float = 1e-8) -> bool:
    """Whether the kernel is positive semidefinite on these combinations, up to rounding."""
    values = np.linalg.eigvalsh(kernel_matrix(kappa, every, every))
    return bool(values[0] >= -tolerance * max(1.0, abs(values[-1])))
