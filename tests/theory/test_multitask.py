"""The group lasso's optimum against its own optimality conditions and a generic minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from recombine.errors import BadValue
from recombine.theory.multitask import group_norm, least_group_norm, marginal_penalty


def problems(seed: int, n: int, d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(2):
        x = rng.standard_normal((n, d))
        found.append((x, x @ rng.standard_normal(d)))
    return found


def test_the_norm_is_the_least_half_squared_weights() -> None:
    """min over w, v of (w² + Σ v_t²)/2 with w v_t = β_t."""
    betas = np.random.default_rng(0).standard_normal((2, 1))
    found = minimize(lambda s: (s[0] ** 2 + np.square(betas / s[0]).sum()) / 2, [1.0])
    assert float(group_norm(betas)) == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_has_a_dual_certificate(seed: int) -> None:
    """Some ν_t have ‖(X_tᵀν_t)_d‖ ≤ 1 everywhere and equal to β_d/‖β_d‖ where β_d is not zero."""
    drawn = problems(seed, 6, 14)
    betas = least_group_norm(drawn, steps=2000)
    norms = np.linalg.norm(betas, axis=0)
    active = norms > 1e-6
    unit = betas[:, active] / norms[active]
    nus = [
        np.linalg.lstsq(x[:, active].T, u, rcond=None)[0]
        for (x, _), u in zip(drawn, unit, strict=True)
    ]
    z = np.stack([x.T @ nu for (x, _), nu in zip(drawn, nus, strict=True)])
    assert np.linalg.norm(z, axis=0).max() < 1 + 1e-3
    for (x, y), beta in zip(drawn, betas, strict=True):
        assert x @ beta == pytest.approx(y, abs=1e-6)


def test_with_decay_it_solves_the_regularised_problem() -> None:
    drawn, decay = problems(1, 5, 8), 0.1
    betas = least_group_norm(drawn, decay=decay)

    def objective(flat: np.ndarray) -> float:
        b = flat.reshape(2, 8)
        fits = sum(np.square(x @ b[t] - y).sum() / (2 * len(y)) for t, (x, y) in enumerate(drawn))
        return float(fits + decay * np.sqrt(np.square(b).sum(0) + 1e-16).sum())

    generic = minimize(objective, betas.ravel() + 0.01, method="BFGS", options={"maxiter": 5000})
    assert objective(betas.ravel()) <= generic.fun + 1e-6


def test_limits_of_the_marginal() -> None:
    assert float(marginal_penalty(1e-4, 1.0)) == pytest.approx(1e-8 / 2, rel=1e-6)
    assert float(marginal_penalty(1.0, 1e-4)) == pytest.approx(1 - 1e-4, rel=1e-6)
    assert float(marginal_penalty(0.0, 0.0)) == 0.0


def test_a_negative_decay_is_refused() -> None:
    with pytest.raises(BadValue, match="decay"):
        least_group_norm(problems(0, 2, 4), decay=-1.0)


def test_what_is_no_problem_is_refused() -> None:
    with pytest.raises(BadValue, match="at least one of each"):
        least_group_norm([])
    with pytest.raises(BadValue, match="decay"):
        least_group_norm(problems(0, 2, 3), decay=float("nan"))
