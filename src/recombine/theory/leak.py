"""The memorization leak: why kernel models answer too little on sums of unseen pairs.

Two factors, target y = v_i + w_j. Trained are the pairs with i ∈ T₁ or j ∈ T₂, p₁ = |T₁|, p₂ =
|T₂|. The kernel has saliences S₁, S₂ and S₁₂ = 1 − S₁ − S₂; λ is a ridge penalty in units of
κ_full − κ_∅. On the pairs held out the model answers

    f(i, j) = m₁ v_i + m₂ w_j + const,
    m₁ = p₂ S₁ / (S₁₂ + λ + p₂ S₁),      m₂ = p₁ S₂ / (S₁₂ + λ + p₁ S₂).

With equal saliences and p₁ = p₂ = p this is m = p S / (1 + (p − 2) S). The slope depends on p and
the saliences only: not on which items were trained on, so interpolation and extrapolation are
alike. It is 1 exactly when the code is additive (S₁₂ + λ = 0). What a pair memorises for itself,
S₁₂, is what leaks out of the sum.

*Derivation.* Let u_i, ω_j, b be the values of items and of nothing, e = y − b − u_i − ω_j what is
left on a trained pair. The dual of a pair is e/(S₁₂ + λ), and the value of an item is S₁ times
the sum of duals of the trained pairs it is in. An item i ∉ T₁ was trained with j ∈ T₂ only, so

    (S₁₂ + λ) u_i = S₁ Σ_{j ∈ T₂} (v_i + w_j − b − u_i − ω_j),

which is linear in v_i with the slope m₁. The constant follows from four sums of residuals, of items
in and out of T₁ and T₂, and b: a system of five linear equations, solved here. It vanishes when the
values in T₁ and T₂ and all values have mean zero. Where S₁ = 1 or S₂ = 1 and λ = 0, nothing tells
the items of the other factor apart: the best fit answers with the mean of those trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue

Items = Sequence[float] | Float[np.ndarray, " _"]
"""The value of each item of a factor."""
ADDITIVE = 1e-12
"""With S₁₂ + λ below it a code counts as purely additive: rounding would decide the constant."""


@dataclass(frozen=True)
class Leak:
    """What a kernel model answers on held-out pairs: slopes[0] v_i + slopes[1] w_j + offset."""

    slopes: tuple[float, float]
    offset: float


def slope(trained: int, salience: float, *, penalty: float = 0.0) -> float:
    """m for two alike factors: p S(1;2) / (S(2;2) + λ + p S(1;2))."""
    return slopes((trained, trained), (salience, salience), penalty=penalty)[0]


def slopes(
    trained: tuple[int, int], saliences: tuple[float, float], *, penalty: float = 0.0
) -> tuple[float, float]:
    """m₁ and m₂ for (p₁, p₂) trained items and saliences (S₁, S₂)."""
    first, second = saliences
    rest = _rest(saliences, penalty)
    if min(trained) < 0:
        raise BadValue("trained items", list(trained), "0 or more of each factor")
    return (
        _ratio(trained[1] * first, rest),
        _ratio(trained[0] * second, rest),
    )


def leak(
    values: tuple[Items, Items],
    trained: tuple[Sequence[int], Sequence[int]],
    saliences: tuple[float, float],
    *,
    base: float = 0.0,
    penalty: float = 0.0,
    intercept: bool = False,
) -> Leak:
    """Slopes and constant for any values and any trained items of the two factors.

    `base` is κ_∅ in units of κ_full − κ_∅: a penalised intercept. `intercept` adds a free one.
    """
    v, w = (np.asarray(side, dtype=float) for side in values)
    in_v, in_w = (_marks(len(x), t) for x, t in zip((v, w), trained, strict=True))
    rest = _rest(saliences, penalty)
    p = int(in_v.sum()), int(in_w.sum())
    both = slopes(p, saliences, penalty=penalty)
    if min(p) < 1:
        raise BadValue("trained items", [list(t) for t in trained], "at least one of each factor")
    if rest < ADDITIVE:  # the sum is learned as it is, as far as it is coded at all
        means = [float(x[marks].mean()) for x, marks in ((v, in_v), (w, in_w))]
        return Leak(both, sum(m for m, s in zip(means, saliences, strict=True) if s == 0))
    b, left = _sums(v, w, in_v, in_w, saliences, rest, None if intercept else base)
    (s1, s2), (residual_v, residual_w) = saliences, left
    constant = (
        b
        + s1 * (residual_w - p[1] * b) / (rest + s1 * p[1])
        + s2 * (residual_v - p[0] * b) / (rest + s2 * p[0])
    )
    return Leak(both, float(constant))


def _sums(
    v: np.ndarray,
    w: np.ndarray,
    in_v: np.ndarray,
    in_w: np.ndarray,
    saliences: tuple[float, float],
    rest: float,
    base: float | None,
) -> tuple[float, tuple[float, float]]:
    """b, and Σ_{T₁}(v − u) and Σ_{T₂}(w − ω): five equations in B, B', A, A', b.

    B and B' are the sums of v − u over items in and out of T₁; A and A' those of w − ω about T₂.
    """
    (s1, s2), (n1, n2) = saliences, (len(v), len(w))
    p1, p2 = int(in_v.sum()), int(in_w.sum())
    pairs = n2 * p1 + n1 * p2 - p1 * p2
    rows = [
        [rest + s1 * n2, 0, p1 * s1, p1 * s1, -p1 * s1 * n2],
        [0, rest + s1 * p2, (n1 - p1) * s1, 0, -(n1 - p1) * s1 * p2],
        [p2 * s2, p2 * s2, rest + s2 * n1, 0, -p2 * s2 * n1],
        [(n2 - p2) * s2, 0, 0, rest + s2 * p1, -(n2 - p2) * s2 * p1],
    ]
    goal = [
        rest * v[in_v].sum(),
        rest * v[~in_v].sum(),
        rest * w[in_w].sum(),
        rest * w[~in_w].sum(),
    ]
    total = np.array([n2, p2, n1, p1, -pairs], dtype=float)  # Σ of residuals over trained pairs
    if base is not None:  # b = base · Σ duals
        total = -base * total
        total[4] += rest
    solved = np.linalg.solve(np.array([*rows, total.tolist()], dtype=float), np.array([*goal, 0.0]))
    return float(solved[4]), (float(solved[0]), float(solved[2]))


def _rest(saliences: tuple[float, float], penalty: float) -> float:
    rest = 1 - sum(saliences)
    if not (min(saliences) >= 0 and rest >= -1e-12):  # so that NaN is refused as well
        raise BadValue("saliences", list(saliences), "two numbers from 0 with a sum of at most 1")
    if not penalty >= 0:
        raise BadValue("ridge penalty", penalty, "0 or more")
    return max(rest, 0.0) + penalty


def _ratio(part: float, rest: float) -> float:
    return part / (rest + part) if part > 0 else 0.0


def _marks(size: int, chosen: Sequence[int]) -> np.ndarray:
    marks = np.zeros(size, dtype=bool)
    for item in chosen:
        if isinstance(item, (bool, np.bool_)) or not 0 <= item < size:
            raise BadValue("trained items", list(chosen), f"numbers of items, 0 to {size - 1}")
        marks[item] = True
    return marks
