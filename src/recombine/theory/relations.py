"""Relations between items: equivalence cannot be transferred by a kernel model, ordering always is.

All closed forms are of least-norm regression (λ = 0) or ridge, κ by count with S = S(1;2) and
D = 1 − 2 S + λ; derivations use the values of single items as in `leak.py`.

*Equivalence.* m classes of n items; ordered pairs; y = +1 within a class, −1 across; trained if
either item is one of the first q of its class. On a held-out pair f = b + u + u, the same for all
of them: the sum of targets of an item over its trained partners is q (2 − m) whatever its class.
For two classes it is 0, and the model is at chance; with a free intercept it is the base rate (2
− m)/m.

*Ordering.* n items in a row, y = +1 if i < j; trained on neighbours. On other pairs f = u_i − u_j
where

    (D/S + L) u = e_0 − e_{n−1},       L the Laplacian of the path 0 – 1 – … – (n−1).

Its solution is u_i = sinh(θ (c − i)) / (2 sinh(θ/2) cosh(θ (c + ½))) with c = (n − 1)/2 and cosh
θ = 1 + D/2S: strictly falling, so every pair is right, and the margin grows with distance. At D =
0 it is u_i = c − i: the margin *is* the distance.

*Invariance* (2 × 2 items, y the sign of the first; trained with the second at −) and *partial
exposure* (all but (+, +) trained) are systems of two and three equations, solved by hand."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue


def equivalence_output(
    salience: float,
    *,
    classes: int = 2,
    items: int = 2,
    linking: int = 1,
    penalty: float = 0.0,
    intercept: bool = False,
) -> float:
    """f on every held-out pair; `linking` items of each class are trained with all others."""
    rest = _rest(salience, penalty)
    if classes < 2 or not 1 <= linking < items:
        legal = "2 classes or more, and at least one item of each that does not link"
        raise BadValue("equivalence", (classes, items, linking), legal)
    rate = (2 - classes) / classes
    if intercept:
        return rate
    every, linked = classes * items, classes * linking
    # rest u_in = S [every (rate − u_in) − Σ_j w_j],  rest u_out = S linked (rate − u_out − u_in)
    system = np.array([
        [rest + salience * (every + linked), salience * (every - linked)],
        [salience * linked, rest + salience * linked],
    ])  # fmt: skip
    goal = salience * rate * np.array([every, linked], dtype=float)
    return float(2 * np.linalg.lstsq(system, goal, rcond=1e-12)[0][1])


def ordering_values(
    salience: float, *, items: int = 7, penalty: float = 0.0
) -> Float[np.ndarray, " item"]:
    """u_i: the held-out pair (i, j) is answered u_i − u_j."""
    rest = _rest(salience, penalty)
    if items < 2:
        raise BadValue("items", items, "at least 2")
    if salience == 0:
        return np.zeros(items)
    centre = (items - 1) / 2
    distance = centre - np.arange(items)
    theta = math.acosh(1 + rest / (2 * salience))
    if theta < 1e-7:
        return distance
    if theta * (centre + 0.5) > 300:  # only the ends are left, and cosh would overflow
        scale = np.exp(theta * (np.abs(distance) - centre - 0.5)) / (2 * math.sinh(theta / 2))
        return np.asarray(np.sign(distance) * scale)
    return np.asarray(
        np.sinh(theta * distance) / (2 * math.sinh(theta / 2) * math.cosh(theta * (centre + 0.5)))
    )


def ordering_table(
    salience: float, *, items: int = 7, penalty: float = 0.0
) -> Float[np.ndarray, "item item"]:
    """f(i, j) = u_i − u_j, as it holds for pairs that are not neighbours."""
    u = ordering_values(salience, items=items, penalty=penalty)
    return np.asarray(u[:, None] - u[None, :])


def invariance_margin(first: float, joint: float | None = None, *, penalty: float = 0.0) -> float:
    """Margin where the irrelevant component is new: S₁ / (S₁ + S₁₂ + λ), or k/(1 − k) if alike.

    `first` is the salience of the relevant component, `joint` that of the pair (1 − 2 S₁ if none).
    """
    pair = 1 - 2 * first if joint is None else joint
    if not (first >= 0 and pair >= -1e-12 and first + pair > 0):
        raise BadValue("saliences", [first, pair], "numbers from 0, not both 0")
    if not penalty >= 0:
        raise BadValue("ridge penalty", penalty, "0 or more")
    return first / (first + pair + penalty)


def partial_exposure_margin(salience: float, *, intercept: bool = False) -> float:
    """Margin at (+, +): 2k²/(1 − 2k²), or (4k − 1)/(3 − 4k) with a free intercept."""
    _rest(salience, 0.0)
    k = salience
    return (4 * k - 1) / (3 - 4 * k) if intercept else 2 * k * k / (1 - 2 * k * k)


def _rest(salience: float, penalty: float) -> float:
    if not 0 <= salience <= 0.5 + 1e-12:
        raise BadValue("S(1;2)", salience, "a number from 0 to 0.5")
    if not penalty >= 0:
        raise BadValue("ridge penalty", penalty, "0 or more")
    return max(1 - 2 * salience, 0.0) + penalty
