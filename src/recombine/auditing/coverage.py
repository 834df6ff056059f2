"""How much of each test row training has shown: coverage by order, and values never seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recombine.auditing.combinations import Combinations
from recombine.auditing.conjunctions import Conjunctions

MOST_SHOWN = 12


@dataclass(frozen=True)
class Order:
    """The conjunctions of one order that test rows share with training."""

    order: int
    conjunctions: int
    """How many each row has."""
    seen: float
    """Share of them that training shows, over test rows."""
    all_seen: int
    """Test rows all of whose conjunctions of this order were seen."""
    none_seen: int


@dataclass(frozen=True)
class Unseen:
    """Some factors whose joint values are new in many test rows."""

    factors: tuple[int, ...]
    rows: int
    """Test rows whose values of these factors training never shows together, though it shows
    those of every part."""


@dataclass(frozen=True)
class Coverage:
    """Coverage of the test rows."""

    rows: int
    orders: tuple[Order, ...]
    highest: tuple[int, ...]
    """Test rows by the highest order at which all their conjunctions were seen: 0, 1, … ."""
    newest: tuple[Unseen, ...]
    """The smallest conjunctions that are new, most rows first."""


def coverage(combinations: Combinations, found: Conjunctions) -> Coverage:
    """Count over test rows; a combination counts as often as it is tested."""
    tested = combinations.tested
    weight = combinations.test.count[tested]
    total = int(weight.sum())
    seen = found.ids[tested] >= 0
    width = np.array([len(subset) for subset in found.subsets])
    orders, complete = [], np.ones(len(weight), dtype=bool)
    highest = [0]
    below = total
    for order in range(1, found.order + 1):
        part = seen[:, width == order]
        everything = part.all(axis=1)
        orders.append(
            Order(
                order,
                part.shape[1],
                int(weight @ part.sum(axis=1)) / (total * part.shape[1]),
                int(weight[everything].sum()),
                int(weight[~part.any(axis=1)].sum()),
            )
        )
        complete &= everything
        reached = int(weight[complete].sum())
        highest[-1] = below - reached
        highest.append(reached)
        below = reached
    if found.factors > 1 and found.complete:  # the whole combination is the last order
        leaked = int(weight[combinations.trained[tested]].sum())
        orders.append(Order(found.factors, 1, leaked / total, leaked, total - leaked))
        highest[-1:] = [below - leaked, leaked]
    return Coverage(total, tuple(orders), tuple(highest), _newest(found, seen, weight))


def _newest(found: Conjunctions, seen: np.ndarray, weight: np.ndarray) -> tuple[Unseen, ...]:
    """Unseen conjunctions all of whose parts were seen, by factors."""
    place = {subset: column for column, subset in enumerate(found.subsets)}
    made = []
    for subset, column in place.items():
        new = ~seen[:, column]
        for left_out in subset if len(subset) > 1 else ():
            new &= seen[:, place[tuple(f for f in subset if f != left_out)]]
        if rows := int(weight[new].sum()):
            made.append(Unseen(subset, rows))
    return tuple(sorted(made, key=lambda each: (-each.rows, each.factors))[:MOST_SHOWN])
