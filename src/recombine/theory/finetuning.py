"""Penalties of single-task learning and of pretraining followed by finetuning.

**One function.** A coefficient that starts at zero with squared weights A is charged

    P(β) = (A/8) q(4β/A),    q(z) = 2 − √(4+z²) + z arcsinh(z/2),

half of ψ in `mirror.py`. For |β| ≪ A it is β²/2A: a weighted ridge, "lazy". For |β| ≫ A it is
(|β|/2)(log(4|β|/A) − 1): almost |β|, so sparse, "rich", with a logarithm that still favours a
larger A.

**What pretraining leaves.** A net that learned β_aux from weights γ₀ has w⁺w⁻ = γ₀² and w⁺² − w⁻² =
β_aux (both are conserved or follow from it), so w⁺² + w⁻² = √(β_aux² + 4γ₀⁴). Multiply w by c, put
the readout at γ: A = c²√(β_aux² + 4γ₀⁴) + 2γ². Features that were useful before are cheap now.

**Three forms.** `exact_mirror` keeps the start β₀ ≠ 0 as well; `penalty` uses A alone ("small γ");
`printed_scale` and `script_scale` are the forms in print and in the released experiment script.
Print has (|β_aux|+γ²) q(2β/(|β_aux|+γ²)): the same function with A = 2(|β_aux|+γ²), which belongs
to a net whose *two* pathways both start at √|β_aux|. Training leaves only one large. The script
drops the 2 in the argument, which doubles A again. The shape is right, the scale is off by 2 and 4.

**Order and feature dependence.** order = d log P/d log|β| (1: like |β|, 2: like β²), FD = d log P/
d log|β_aux| (negative: known features are cheaper). With γ = 0, P is homogeneous of degree 1 in
(β, β_aux) and so order + FD = 1: no net can be both fully sparse (1) and strongly reusing (FD ≪ 0).
"Nested feature selection" is the compromise: order near 1, FD clearly below 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from recombine.errors import BadValue
from recombine.theory.mirror import Mirror, Vector

Array: TypeAlias = npt.NDArray[np.float64]
Numbers: TypeAlias = npt.ArrayLike

Dependence = Callable[[Numbers, Numbers], Array]
"""From β and β_aux to an order or a feature dependence."""


def q(z: Numbers) -> Array:
    """2 − √(4+z²) + z arcsinh(z/2), without subtracting equals near zero."""
    z = np.asarray(z, dtype=float)
    return np.asarray(z * np.arcsinh(z / 2) - z * (z / (2 + np.hypot(2, z))))


def q_order(z: Numbers) -> Array:
    """d log q/d log|z| = z arcsinh(z/2)/q(z); 2 at zero."""
    z = np.asarray(z, dtype=float)
    small = np.abs(z) < 1e-100  # q would underflow
    safe = np.where(small, 1.0, z)
    return np.where(small, 2.0, safe * np.arcsinh(safe / 2) / q(safe))


def single_task_scale(gamma: float) -> float:
    """A of a net whose four weights all start at γ."""
    return 4 * gamma**2


def pretrained_weights(beta_aux: Vector, gamma: float) -> tuple[Vector, Vector]:
    """w⁺ and w⁻ after gradient flow has learned β_aux from weights that were all γ."""
    squares = np.hypot(beta_aux, 2 * gamma**2)
    larger = np.sqrt((squares + np.abs(beta_aux)) / 2)
    smaller = gamma**2 / np.where(larger > 0, larger, 1.0)
    up = beta_aux >= 0
    return np.where(up, larger, smaller), np.where(up, smaller, larger)


def pretrained_scale(
    beta_aux: Numbers, *, gamma: float, rescaling: float = 1.0, readout: float | None = None
) -> Array:
    """A after pretraining from γ, rescaling of the first layer by c, and a readout at `readout`."""
    _check(gamma, rescaling)
    v = gamma if readout is None else readout
    return np.asarray(rescaling**2 * np.hypot(beta_aux, 2 * gamma**2) + 2 * v**2)


def printed_scale(beta_aux: Numbers, *, gamma: float) -> Array:
    """A of the penalty as printed."""
    return np.asarray(2 * (np.abs(beta_aux) + gamma**2))


def script_scale(beta_aux: Numbers, *, gamma: float) -> Array:
    """A of the penalty in the released experiment script."""
    return np.asarray(4 * (np.abs(beta_aux) + gamma**2))


def exact_mirror(
    beta_aux: Vector, *, gamma: float, rescaling: float = 1.0, readout: float | None = None
) -> Mirror:
    """The exact map of a pretrained, rescaled net with a fresh readout; of a fresh net at 0."""
    _check(gamma, rescaling)
    w_plus, w_minus = pretrained_weights(beta_aux, gamma)
    v = np.full_like(w_plus, gamma if readout is None else readout)
    return Mirror.of_weights(rescaling * w_plus, rescaling * w_minus, v, v)


def penalty(beta: Numbers, scale: Numbers) -> Array:
    """(A/8) q(4β/A); |β|-like without bound as A → 0, so A must be positive."""
    a = _positive(scale)
    return np.asarray(a / 8 * q(4 * np.asarray(beta, dtype=float) / a))


def order(beta: Numbers, scale: Numbers) -> Array:
    """d log P/d log|β| of `penalty`."""
    return q_order(4 * np.asarray(beta, dtype=float) / _positive(scale))


def feature_dependence(
    beta: Numbers,
    beta_aux: Numbers,
    *,
    gamma: float = 0.0,
    rescaling: float = 1.0,
    readout: float | None = None,
) -> Array:
    """d log P/d log|β_aux| of the pretrained penalty.

    d log P/d log A = 1 − order, and d log A/d log|β_aux| is the share of A that pretraining made.
    """
    scale = _positive(pretrained_scale(beta_aux, gamma=gamma, rescaling=rescaling, readout=readout))
    squares = np.square(np.asarray(beta_aux, dtype=float))
    both = np.hypot(beta_aux, 2 * gamma**2)
    share = rescaling**2 * squares / np.where(both > 0, both, 1.0) / scale
    return np.asarray((1 - order(beta, scale)) * share)


def nested_width(
    dependence: Dependence, *, weakest: float = -0.05, strongest: float = -0.3, decades: int = 12
) -> float:
    """Decades of |β_aux|/|β| over which a penalty is nested: `strongest` ≤ FD ≤ `weakest`.

    At γ = 0 that is an order between 1.05 and 1.3: nearly as sparse as |β|, and yet a feature that
    was ten times stronger before costs a tenth less, or half.
    """
    ratio = np.logspace(-decades, 3, 200 * (decades + 3) + 1)
    fd = dependence(np.ones_like(ratio), ratio)
    inside = (fd >= strongest) & (fd <= weakest)
    return float(inside.sum() * np.log10(ratio[1] / ratio[0]))


def _positive(scale: Numbers) -> Array:
    a = np.asarray(scale, dtype=float)
    if not (a > 0).all():
        raise BadValue("scale A", float(a[~(a > 0)].flat[0]), "positive numbers")
    return a


def _check(gamma: float, rescaling: float) -> None:
    if not (np.isfinite(gamma) and gamma >= 0):
        raise BadValue("gamma", gamma, "a number from 0 up")
    if not (np.isfinite(rescaling) and rescaling >= 0):
        raise BadValue("rescaling", rescaling, "a number from 0 up")
