"""Generic split rules: which combinations of factors are trained on and which are held out.

Each rule takes the sizes of the factors and returns (train, held out), two disjoint arrays of
combinations, one row each, in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Int

from recombine.errors import BadValue

Combinations = Int[np.ndarray, "n factor"]
Split = tuple[Int[np.ndarray, "train factor"], Int[np.ndarray, "held factor"]]


def product(sizes: Sequence[int]) -> Combinations:
    """Every combination of factors with these sizes, in lexicographic order."""
    return np.indices(tuple(sizes)).reshape(len(sizes), -1).T


def where(
    sizes: Sequence[int], held_out: Callable[[Combinations], Bool[np.ndarray, " n"]]
) -> Split:
    """Hold out the combinations for which a predicate says so."""
    every = product(sizes)
    test = held_out(every)
    return every[~test], every[test]


def listed(sizes: Sequence[int], held_out: Iterable[Sequence[int]]) -> Split:
    """Hold out exactly these combinations."""
    wanted = np.asarray(list(held_out), dtype=np.int64).reshape(-1, len(sizes))
    if ((wanted < 0) | (wanted >= np.asarray(sizes))).any():
        raise BadValue("held-out combinations", wanted.tolist(), f"values below {tuple(sizes)}")
    marked = np.zeros(tuple(sizes), dtype=bool)
    marked[tuple(wanted.T)] = True
    return where(sizes, lambda z: marked[tuple(z.T)])


def band(size: int, differences: Iterable[int]) -> Split:
    """Of two equal factors, train where (second − first) mod size is one of `differences`."""
    kept = np.asarray(sorted({d % size for d in differences}))
    return where((size, size), lambda z: ~np.isin((z[:, 1] - z[:, 0]) % size, kept))


def primitive(sizes: Sequence[int], factor: int, value: int, context: Sequence[int]) -> Split:
    """Show one value of a factor in a single context only, as SCAN shows `jump` alone.

    `context` gives the values of all factors in that one training combination; its entry for
    `factor` is not looked at.
    """
    shown = np.asarray(context).copy()
    shown[factor] = value
    return where(sizes, lambda z: (z[:, factor] == value) & (z != shown).any(axis=1))


def share(sizes: Sequence[int], held_out: float, rng: np.random.Generator) -> Split:
    """Hold out a random share of the combinations, each value of each factor still seen in train.

    Combinations are visited in random order and held out unless that would hide a value; when
    the share cannot be reached, the rule says how far it could go.
    """
    if not 0 <= held_out < 1:
        raise BadValue("held-out share", held_out, "a number from 0 up to, not including, 1")
    every = product(sizes)
    wanted = round(held_out * len(every))
    left = [np.bincount(every[:, f], minlength=size) for f, size in enumerate(sizes)]
    test = np.zeros(len(every), dtype=bool)
    for row in rng.permutation(len(every)):
        if test.sum() == wanted:
            break
        if all(left[f][v] > 1 for f, v in enumerate(every[row])):
            test[row] = True
            for f, v in enumerate(every[row]):
                left[f][v] -= 1
    if test.sum() < wanted:
        most = test.sum() / len(every)
        raise BadValue(
            "held-out share", held_out, f"at most {most:.3f}, so that every value is seen"
        )
    return every[~test], every[test]
