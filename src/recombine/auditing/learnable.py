"""Held-out rows that no kernel model can get right, whatever its features.

Take any kernel whose similarity of two inputs depends only on *which* factors agree (one-hot
factors, random features or infinitely wide networks on them, images that show each factor in the
same way), and any way of fitting it (ridge, least norm, support vectors, early stopping). Its
function is

    f(z) = b + Σ_J v_J(z_J)    over the sets J of factors whose values z_J occur in training,

because f is a weighted sum of similarities to training points, and similarity is a sum over the
sets J on which two points agree (Lippl & Stachenfeld, theorem 4.2). So on the held-out
combinations f lies in the span of the indicators of conjunctions that training shows. The labels
of training bound it no further: the conjunction of *all* factors is different for each training
combination and can take up whatever is left there, and no held-out combination shares it.

So the held-out labels can be reached by such an f only if they can be reached within that span,
which `conflict.py` decides. If they cannot, the rows of a witness cannot all be right in any kernel
model. If they can, nothing is promised. A given kernel may prefer another f, and there may be no
kernel for this one: all v_J are made of the same coefficients, v_J(u) = s_J Σ a_i over the training
points i that show u. (Trained on the diagonal of two factors, f = b + S₁ a_i + S₂ a_j elsewhere.)

Values are names here. A kernel in which *2* lies between *1* and *3* knows more than the theorem
allows it, and so does a network that changes its features while it learns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recombine.auditing.combinations import Combinations
from recombine.auditing.conflict import Decision, decide
from recombine.auditing.conjunctions import Conjunctions
from recombine.auditing.span import peel


@dataclass(frozen=True)
class Learnable:
    """The decision for the held-out combinations."""

    decision: Decision
    places: tuple[int, ...]
    """The combinations that were asked about."""
    held_out: int
    """Held-out combinations, rows of the question or not."""
    set_aside: int
    """Of these, left out because conjunctions of a higher order than was looked at may be seen."""

    def witnesses(self) -> list[tuple[int, ...]]:
        """Each witness as places among all combinations."""
        return [tuple(self.places[row] for row in w.rows) for w in self.decision.witnesses]


def learnable(
    combinations: Combinations,
    found: Conjunctions,
    *,
    classes: bool,
    known: bool,
    rng: np.random.Generator,
) -> Learnable:
    """Whether what all kernel models have in common allows every held-out label.

    `known` says that sums of some lower order can: then so can these, which include them.
    """
    held = combinations.held_out
    asked = held.copy()
    if not found.complete:
        # A row that shares nothing of the highest order looked at shares nothing above it.
        asked &= ~found.of(found.order).any(axis=1)
    places = np.flatnonzero(asked)
    if known:
        core = int(peel(found.ids[places]).sum())
        decision = Decision("possible", len(places), core, (), 0, 0, 0.0, 0.0, None)
        return Learnable(decision, tuple(places.tolist()), int(held.sum()), 0)
    decision = decide(
        found.ids[places],
        combinations.test.y[places],
        combinations.z[places],
        found.subsets,
        classes=classes,
        weight=combinations.test.count[places],
        rng=rng,
    )
    total = int(held.sum())
    return Learnable(decision, tuple(places.tolist()), total, total - len(places))
