"""Conjunction-wise additivity: what a kernel model can say about combinations it never saw.

**Theorem.** For a compositionally structured kernel and *any* dual coefficients (ridge, least norm,
support vector machine, gradient descent stopped at any time),

    f(z) = b + Σ_{J : z_J occurs in training} v_J(z_J).

Proof: f(z) = Σ_i a_i Σ_J s_J 1[z_J = z_{i,J}] = Σ_J v_J(z_J) with v_J(u) = s_J Σ_{i : z_{i,J} =
u} a_i, and that is an empty sum when no training combination has u in the components J.

So a model adds up values of the conjunctions it has seen, and a task can be solved on held-out
combinations *only if* its targets there have that form. The form is not enough: all v_J are made of
the same a_i. (Trained on the diagonal of two factors, any kernel model answers b + S₁ a_i + S₂ a_j
elsewhere: both factors have the same values, up to one share.)

Here a table of numbers (targets, or what a network answers) is regressed on indicators of the seen
conjunctions. The residual says how far it is from the form, R² how much of it has the form, the
coefficients are the *conjunction values*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations as choose

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.errors import BadValue

Combinations = Int[np.ndarray, "n factor"]
PENALTY = 1e-10
"""Ridge penalty of the regression: indicators are collinear, and this picks one representative."""


@dataclass(frozen=True)
class Conjunction:
    """A conjunction with its values: components J, and what they are."""

    components: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True)
class Additivity:
    """How far a table over combinations is a sum over conjunctions seen in training."""

    r2_train: float
    r2_test: float
    """Share of the variance on the held-out combinations; NaN if they do not vary."""
    residual_test: float
    """Largest distance from the form on a held-out combination."""
    conjunctions: tuple[Conjunction, ...]
    values: Float[np.ndarray, " conjunction"]
    """Of each conjunction; since indicators are collinear, the representative of least norm."""
    intercept: float
    residuals: Float[np.ndarray, " n"]
    """Of every combination."""


def seen(train: Combinations, *, order: int | None = None) -> tuple[Conjunction, ...]:
    """The conjunctions of up to `order` components (all, if none) that occur in training."""
    factors = train.shape[1]
    most = factors if order is None else order
    if not 1 <= most <= factors:
        raise BadValue("order", order, f"1 to {factors}")
    found = []
    for size in range(1, most + 1):
        for components in choose(range(factors), size):
            for values in np.unique(train[:, components], axis=0):
                found.append(Conjunction(components, tuple(values.tolist())))
    return tuple(found)


def indicators(
    z: Combinations, conjunctions: Sequence[Conjunction]
) -> Float[np.ndarray, "n conjunction"]:
    """1 where a combination has that conjunction."""
    columns = [(z[:, c.components] == np.asarray(c.values)).all(axis=1) for c in conjunctions]
    if not columns:
        return np.zeros((len(z), 0))
    return np.stack(columns, axis=1).astype(float)


def additivity(
    table: Float[np.ndarray, " n"],
    z: Combinations,
    train: Bool[np.ndarray, " n"],
    *,
    order: int | None = None,
) -> Additivity:
    """Regress a table of numbers over combinations on the conjunctions seen in training."""
    y = np.asarray(table, dtype=float)
    if np.asarray(train).dtype != bool:  # numbers would choose rows, not mark them
        raise BadValue("additivity: train", np.asarray(train).dtype.name, "a true or false a row")
    if not len(y) == len(z) == len(train) or not train.any():
        raise BadValue(
            "additivity", (len(y), len(z), int(train.sum())), "a number and a mark a row"
        )
    parts = seen(z[train], order=order)
    design = indicators(z, parts)
    weights, intercept = _regress(design, y)
    residuals = y - design @ weights - intercept
    return Additivity(
        r2_train=_share(y[train], residuals[train]),
        r2_test=_share(y[~train], residuals[~train]),
        residual_test=float(np.abs(residuals[~train]).max(initial=0.0)),
        conjunctions=parts,
        values=weights,
        intercept=intercept,
        residuals=residuals,
    )


def _regress(design: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Least squares with an intercept and a vanishing ridge penalty, by singular values."""
    middle, mean = design.mean(axis=0), float(y.mean())
    u, s, vt = np.linalg.svd(design - middle, full_matrices=False)
    kept = s > 1e-9 * s.max(initial=1e-300)
    shrunk = np.divide(s, s**2 + PENALTY, out=np.zeros_like(s), where=kept)
    weights = vt.T @ (shrunk * (u.T @ (y - mean)))
    return weights, float(mean - middle @ weights)


def _share(y: np.ndarray, residuals: np.ndarray) -> float:
    """1 − residual variance / variance, about the mean of these rows."""
    if len(y) == 0:
        return float("nan")
    total = float(((y - y.mean()) ** 2).sum())
    if total <= 1e-12 * max(1.0, float((y**2).sum())):
        return float("nan")
    return 1 - float((residuals**2).sum()) / total


def is_additive(
    table: Float[np.ndarray, " n"], z: Combinations, train: Bool[np.ndarray, " n"]
) -> bool:
    """Whether the numbers on held-out combinations have the form of every kernel model's answers.

    If not, none can give them; if so, the theorem does not forbid it.
    """
    close = 1e-6 * float(np.ptp(table)) + 1e-12 * float(np.abs(table).max(initial=0.0))
    return additivity(table, z, train).residual_test <= close


def magnitudes(
    found: Additivity, groups: Sequence[tuple[str, Bool[np.ndarray, " conjunction"]]]
) -> dict[str, float]:
    """Relative magnitudes of named groups of conjunctions: mean |v| in each, scaled to sum to 1."""
    means = {
        name: float(np.abs(found.values[chosen]).mean()) if chosen.any() else 0.0
        for name, chosen in groups
    }
    total = sum(means.values())
    return {name: mean / total if total else float("nan") for name, mean in means.items()}
