"""Kernels of infinitely wide networks on factors: NNGP and NTK, five activations, any depth.

Let x be the correlation of two inputs' pre-activations. A wide random layer replaces it by
k(x)/k(1), where k(x) = E[φ(u) φ(v)] for standard normal u, v with correlation x:

    ReLU, leak l     k = (1 − l)² [sin t + (π − t) x] / 2π + l x,      t = arccos x
    step             k = (π − t) / 2π
    relu² (quad)     k = [3 sin t cos t + (π − t)(1 + 2 cos² t)] / 2π
    exp(−A u²)       k = 1 / √((2A+1)² − (2Ax)²)

Pre-activations are scaled back to variance 1 after each layer (a ReLU does not mind: it is
homogeneous). This is the *NNGP* kernel, which a random network with a trained readout has. If
every layer is trained in the lazy regime, the *NTK* governs: with c = 1/k(1),

    Θ ← c k(x) + c k'(x) Θ,     x ← c k(x),     Θ_0 = x,

where k' = dk/dx equals E[φ'(u) φ'(v)]. A step has no NTK: its derivative is a spike.

Salience is made of *differences* of x, which shrink like χᴸ when χ = k'(1)/k(1) < 1 (Gaussian). So
we follow δ = 1 − x by formulas that keep its relative accuracy; following x itself in floating
point breaks down near 150 layers. A layer multiplies every δ below 1e-16 by χ, so only their ratios
are left to know, and they are scaled up before they underflow: nothing is lost at any depth.

Limits: χ < 1, saliences converge to something non-trivial. χ ≥ 1 (ReLU 1, quad 4/3, step ∞), S(C;C)
→ 1 and all others → 0: a very deep random network is a lookup table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue, UnknownName
from recombine.theory.salience import salience

Values = Float[np.ndarray, " kernel"]
Kind = Literal["nngp", "ntk"]
SMALL = 0.05
"""Angles below which sin t − t cos t and t − sin t are taken from their series."""
TINY, LIFT = 1e-200, 1e100
"""Deviations below the first are multiplied by the second, all together."""


@dataclass(frozen=True)
class Activation:
    """A nonlinearity, by what a wide random layer of it does to δ = 1 − x."""

    name: str
    unit: Callable[[np.ndarray], np.ndarray]
    """φ itself, for simulation."""
    step: Callable[[Values], Values]
    """1 − k(x)/k(1)."""
    chi: float
    """χ = k'(1)/k(1); infinite for a step."""
    slope_drop: Callable[[Values], Values] | None
    """[k'(1) − k'(x)]/k(1); none where there is no NTK."""


def relu(leak: float = 0.0) -> Activation:
    """max(u, leak · u)."""
    if not 0 <= leak < 1:
        raise BadValue("leak", leak, "a number from 0 up to, not including, 1")
    # k(1) = (1 + l²)/2. With a = (1−l)²/(1+l²) and d(x) = 1 − k_relu(x)/k_relu(1):
    # 1 − k/k(1) = a d + (1 − a) δ, since a + 2l/(1+l²) = 1.
    a = (1 - leak) ** 2 / (1 + leak**2)
    return Activation(
        "relu" if leak == 0 else "leaky",
        lambda u: np.maximum(u, leak * u),
        lambda delta: a * _relu_step(delta) + (1 - a) * delta,
        1.0,
        lambda delta: a * _angle(delta) / math.pi,
    )


def step() -> Activation:
    """1 where u > 0, else 0."""
    return Activation(
        "step", lambda u: (u > 0).astype(float), lambda d: _angle(d) / math.pi, math.inf, None
    )


def rectified_quadratic() -> Activation:
    """max(u, 0)²."""

    def advance(delta: Values) -> Values:
        t = _angle(delta)
        square = delta * (2 - delta)  # sin² t
        return np.asarray((2 * (math.pi - t) * square + 1.5 * _minus_sine(2 * t)) / (3 * math.pi))

    return Activation(
        "rectified-quadratic",
        lambda u: np.maximum(u, 0.0) ** 2,
        advance,
        4 / 3,
        lambda delta: (4 / 3) * _relu_step(delta),
    )


def gaussian(sharpness: float = 1.0) -> Activation:
    """exp(−A u²)."""
    if sharpness <= 0:
        raise BadValue("sharpness", sharpness, "a positive number")
    chi = 4 * sharpness**2 / (1 + 4 * sharpness)

    def log_ratio(delta: Values) -> Values:  # log of (k(x)/k(1))²
        return np.asarray(-np.log1p(chi * delta * (2 - delta)))

    return Activation(
        "gaussian",
        lambda u: np.exp(-sharpness * u**2),
        lambda delta: -np.expm1(0.5 * log_ratio(delta)),
        chi,
        lambda delta: (
            chi * (-np.expm1(1.5 * log_ratio(delta)) + delta * np.exp(1.5 * log_ratio(delta)))
        ),
    )


ACTIVATIONS: dict[str, Activation] = {
    "relu": relu(),
    "leaky": relu(0.1),
    "step": step(),
    "rectified-quadratic": rectified_quadratic(),
    "gaussian": gaussian(),
}
"""By name, with the usual parameters (leak 0.1, sharpness 1)."""


def activation_of(name: str | Activation) -> Activation:
    """An activation by name, or itself."""
    if isinstance(name, Activation):
        return name
    if name not in ACTIVATIONS:
        raise UnknownName("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]


def one_hot(factors: int) -> Float[np.ndarray, " count"]:
    """κ_c = c/C: one-hot codes of the components, concatenated."""
    if factors < 1:
        raise BadValue("factors", factors, "at least 1")
    return np.arange(factors + 1) / factors


def deviations(
    kappa: Sequence[float] | Values,
    *,
    activation: str | Activation = "relu",
    depth: int = 1,
    kind: Kind = "nngp",
) -> Values:
    """1 − κ/κ_full after `depth` layers, from an input kernel whose last entry is the full one.

    The input kernel may go by count or by subset: layers act on each entry alone. Where all are
    below TINY they may have been scaled up together; their ratios are right.
    """
    phi = activation_of(activation)
    start = np.asarray(kappa, dtype=float)
    if depth < 0:
        raise BadValue("depth", depth, "0 or more layers")
    if start.ndim != 1 or len(start) < 2 or not np.isfinite(start).all() or start[-1] <= 0:
        raise BadValue("input kernel", start.tolist(), "finite numbers, the last one positive")
    delta = (start[-1] - start) / start[-1]
    if (delta < 0).any() or (delta > 2).any():
        raise BadValue("input kernel", start.tolist(), "no entry beyond ± the last one")
    if kind not in get_args(Kind):
        raise UnknownName("kernel", kind, get_args(Kind))
    if kind == "ntk":
        return _tangent(delta, phi, depth)
    for _ in range(depth):
        delta = phi.step(delta) * _lift(delta)
    return np.asarray(delta)


def _lift(delta: Values) -> float:
    """What keeps deviations from underflowing, where a layer only multiplies them all by χ."""
    return LIFT if 0 < delta.max() < TINY else 1.0


def _tangent(delta: Values, phi: Activation, depth: int) -> Values:
    """1 − Θ/Θ_full: divided by Θ_full as it goes, which would overflow where χ > 1."""
    if phi.slope_drop is None:
        raise BadValue("activation", phi.name, "one with a derivative, for an NTK")
    theta, inverse = delta.copy(), 1.0  # 1 − Θ/Θ_full, and 1/Θ_full
    for _ in range(depth):
        drop, moved = phi.slope_drop(delta), phi.step(delta)
        theta = (moved * inverse + (phi.chi - drop) * theta + drop) / (inverse + phi.chi)
        inverse = inverse / (inverse + phi.chi)
        lift = _lift(delta)
        delta, theta = moved * lift, theta * lift
    return theta


def network_kernel(
    kappa: Sequence[float] | Values,
    *,
    activation: str | Activation = "relu",
    depth: int = 1,
    kind: Kind = "nngp",
) -> Values:
    """The kernel after `depth` layers, its last entry scaled to 1."""
    return np.asarray(1 - deviations(kappa, activation=activation, depth=depth, kind=kind))


def network_salience(
    factors: int | Sequence[float] | Float[np.ndarray, " count"],
    *,
    activation: str | Activation = "relu",
    depth: int = 1,
    kind: Kind = "nngp",
) -> Float[np.ndarray, " order"]:
    """S(1;C) … S(C;C) after `depth` layers, from one-hot codes of C factors or κ by count."""
    start = one_hot(factors) if isinstance(factors, int) else np.asarray(factors, dtype=float)
    # Salience is blind to a constant, so −δ serves as the kernel and loses no digits.
    return salience(-deviations(start, activation=activation, depth=depth, kind=kind))


def biased_input(factors: int, dimension: int) -> Float[np.ndarray, " count"]:
    """Pre-activation kernel 2c/d + 1/(3d): weights of variance 2/d, biases uniform in ±1/√d.

    So the authors of the kernel study start their dense networks on one-hot inputs.
    """
    if factors < 1 or dimension < factors:
        raise BadValue("factors, inputs", [factors, dimension], "at least 1, and one input each")
    return np.asarray((2 * np.arange(factors + 1) + 1 / 3) / dimension)


def _angle(delta: Values) -> Values:
    """t with 1 − cos t = δ, accurate for small δ."""
    return np.asarray(2 * np.arcsin(np.sqrt(np.clip(delta / 2, 0.0, 1.0))))


def _relu_step(delta: Values) -> Values:
    """δ − (sin t − t cos t)/π."""
    t = _angle(delta)
    series = t**3 / 3 - t**5 / 30 + t**7 / 840
    bend = np.where(t < SMALL, series, np.sin(t) - t * np.cos(t))
    return np.asarray(delta - bend / math.pi)


def _minus_sine(t: Values) -> Values:
    """t − sin t."""
    series = t**3 / 6 - t**5 / 120 + t**7 / 5040
    return np.asarray(np.where(t < SMALL, series, t - np.sin(t)))
