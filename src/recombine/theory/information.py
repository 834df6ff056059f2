"""Entropy and mutual information from counts, corrected for the bias of small samples.

The plug-in entropy of N draws falls short of the truth by about (K − 1) / 2N nats, where K is the
number of cells that can occur (Miller 1955, Madow 1948). Mutual information is a sum of three
entropies, I(A;B) = H(A) + H(B) − H(A,B), so the plug-in value is too *large* by about
(K_A − 1)(K_B − 1) / 2N when every cell can occur. Both are given in bits.

Occupied cells stand in for possible ones, the usual choice; a corrected estimate may fall a little
below zero, and is left there: clipping it would put the bias back.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Shaped

Counts = Shaped[np.ndarray, "*lead a b"]


def entropy(counts: Shaped[np.ndarray, "*lead k"], *, corrected: bool = True) -> np.ndarray:
    """Entropy in bits of the distribution behind counts, over the last axis; 0 for no counts."""
    n = counts.sum(-1, keepdims=True).astype(float)
    p = counts / np.maximum(n, 1)
    h = -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)
    if corrected:
        occupied = (counts > 0).sum(-1)
        h = h + np.maximum(occupied - 1, 0) / (2 * np.maximum(n[..., 0], 1) * np.log(2))
    return np.asarray(h)


def information(counts: Counts, *, corrected: bool = True) -> np.ndarray:
    """Mutual information in bits of the two last axes of a table of counts."""
    joint = counts.reshape(*counts.shape[:-2], -1)
    first = entropy(counts.sum(-1), corrected=corrected)
    second = entropy(counts.sum(-2), corrected=corrected)
    return np.asarray(first + second - entropy(joint, corrected=corrected))


def conditional_information(
    counts: Shaped[np.ndarray, "*lead c a b"], *, corrected: bool = True
) -> np.ndarray:
    """I(A;B|C) in bits from counts [C, A, B]: the information within each value of C, averaged."""
    weight = counts.sum((-1, -2)).astype(float)
    total = np.maximum(weight.sum(-1, keepdims=True), 1)
    within = information(counts, corrected=corrected)
    return np.asarray(np.sum(weight / total * within, axis=-1))
