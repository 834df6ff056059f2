"""The penalty of multi-task learning: a group lasso over tasks, its marginal, and its optimum.

Tasks share w and have readouts v_t. The least ½(w² + Σ_t v_t²) with w v_t = β_t is the norm
‖β_d‖₂ over tasks, so the least squared weights of a net are Σ_d ‖β_d‖₂, the l₁,₂ norm. Weight decay
finds that minimum. Plain gradient descent only comes near it, and not nearer from smaller weights.

Given the other task's β_aux, the main task is charged the marginal √(β² + β_aux²) − |β_aux|:
β²/2|β_aux| for small β, |β| − |β_aux| for large. There is no logarithm, so the nested regime
between the two is narrow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from recombine.errors import BadValue
from recombine.theory.finetuning import Array, Numbers

Problem = tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]
"""Inputs and targets of one task."""


def marginal_penalty(beta: Numbers, beta_aux: Numbers) -> Array:
    """√(β² + β_aux²) − |β_aux|, without subtracting equals."""
    beta = np.asarray(beta, dtype=float)
    both = np.hypot(beta, beta_aux)
    below = both + np.abs(beta_aux)
    return np.asarray(np.square(beta) / np.where(below > 0, below, 1.0))


def marginal_order(beta: Numbers, beta_aux: Numbers) -> Array:
    """d log P/d log|β| = 1 + |β_aux|/√(β² + β_aux²)."""
    return np.asarray(1 - marginal_dependence(beta, beta_aux))


def marginal_dependence(beta: Numbers, beta_aux: Numbers) -> Array:
    """d log P/d log|β_aux| = −|β_aux|/√(β² + β_aux²)."""
    both = np.hypot(beta, beta_aux)
    return np.asarray(-np.abs(beta_aux) / np.where(both > 0, both, 1.0))


def group_norm(betas: Float[np.ndarray, "*lead task d"]) -> Float[np.ndarray, "*lead"]:
    """Σ_d ‖β_d‖₂ over tasks: l₁,₂."""
    return np.asarray(np.linalg.norm(betas, axis=-2).sum(-1))


def least_group_norm(
    problems: Sequence[Problem], *, decay: float = 0.0, steps: int = 300
) -> Float[np.ndarray, "task d"]:
    """The β of all tasks that make Σ_t |X_tβ_t − y_t|²/2n_t + decay · l₁,₂ least.

    With `decay` 0 the interpolators of least l₁,₂. By reweighting: l₁,₂ is the least over s of
    Σ_d (‖β_d‖²/s_d + s_d)/2, and for a given s the β are ridge regressions. A floor under s,
    lowered to 1e-10, keeps a coefficient that once was small from being lost.
    """
    if not (np.isfinite(decay) and decay >= 0):
        raise BadValue("decay", decay, "a number from 0 up")
    if not problems or steps < 1:
        raise BadValue("problems and steps", (len(problems), steps), "at least one of each")
    s = np.ones(problems[0][0].shape[1])
    betas = np.zeros((len(problems), len(s)))
    for step in range(steps):
        betas = np.stack([_ridge(x, y, s, decay * len(y)) for x, y in problems])
        floor = 10.0 ** (-10 * min(1.0, 1.5 * step / steps))
        s = np.sqrt(np.square(betas).sum(0) + floor**2)
    return betas


def _ridge(x: np.ndarray, y: np.ndarray, s: np.ndarray, ridge: float) -> np.ndarray:
    """argmin |Xβ − y|²/2 + ridge Σ β²/2s."""
    inner = (x * s) @ x.T + ridge * np.eye(len(y))
    return np.asarray(s * (x.T @ np.linalg.lstsq(inner, y, rcond=None)[0]))
