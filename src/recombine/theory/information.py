"""Entropy and mutual information from counts, corrected for the bias of small samples.

The plug-in entropy of N draws falls short of the truth by about (K − 1) / 2N nats, where K is the
number of cells that can occur (Miller 1955, Madow 1948). Mutual information is a sum of three
entropies, I(A;B) = H(A) + H(B) − H(A,B), so the plug-in value is too *large* by about
(K_A − 1)(K_B − 1) / 2N when every cell can occur. Both are given in bits.

That correction needs several draws a cell. Where there are few (ten classes by ten values by ten
contexts make a thousand cells) both values are far too large for a noisy prediction, and
`predictive_information` should be asked instead: a lower bound that is close to zero when there is
nothing to tell, however few draws there are.

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


TRUST = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""How many draws the guess made without B counts for, beside those of a cell; the best is taken."""


def predictive_information(counts: Shaped[np.ndarray, "*lead c a b"]) -> np.ndarray:
    """By how many bits knowing B helps to predict A within C: a lower bound on I(A;B|C).

    Each draw is predicted from all the others. Without B, by the share of its A within its C (a
    class not seen there counts as a K-th of a draw). With B, by its share within (C, B), mixed with
    the former as if that were so many draws more. The mean gain in log-probability cannot exceed
    I(A;B|C) on average, except for the choice of the mixture, which costs next to nothing; with no
    information the best mixture ignores B and gains 0.
    """
    n = counts.astype(float)
    classes = n.shape[-2]
    total = np.maximum(n.sum((-3, -2, -1)), 1)
    within_c = n.sum((-2, -1))[..., None, None]
    a_within_c = n.sum(-1, keepdims=True)
    within_cb = n.sum(-2, keepdims=True)
    # A draw is left out of every count it is in; where there is no draw, nothing is asked.
    plain = (a_within_c - 1 + 1 / classes) / np.maximum(within_c, 1)
    there = n > 0
    gains = [np.zeros(n.shape[:-3])]
    for trust in TRUST:
        mixed = (n - 1 + trust * plain) / np.where(there, within_cb - 1 + trust, 1)
        gain = n * np.log2(np.where(there, mixed, 1) / np.where(there, plain, 1))
        gains.append(gain.sum((-3, -2, -1)) / total)
    return np.asarray(np.max(gains, axis=0))
