"""The central path against Clarabel, against other forms of the problem, and where none exists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.theory import max_margin
from recombine.theory.max_margin import GatedGroups, OneGroup, Path, socp, solve


def problem(
    seed: int, *, n: int = 20, dim: int = 4, units: int = 4
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of a random gated teacher, so that they are separable."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.standard_normal((n, dim)), np.ones(n)])
    on = (rng.integers(0, 2, (n, units, 1)) == np.arange(2)).astype(float)
    teacher = rng.standard_normal((units, 2, dim + 1))
    y = np.where(np.einsum("nd,nhc,hcd->n", x, on, teacher) > 0, 1.0, -1.0)
    return x, y, on


def features(x: np.ndarray, on: np.ndarray) -> list[np.ndarray]:
    each = np.einsum("nhc,nd->hncd", on, x)
    return [one.reshape(len(x), on.shape[2] * x.shape[1]) for one in each]


def groups_of(x: np.ndarray, y: np.ndarray, on: np.ndarray, path: Path) -> list[np.ndarray]:
    signed = path.multipliers * y
    pairs = zip(path.scales, features(x, on), strict=True)
    return [scale * (signed @ f) for scale, f in pairs]


@pytest.mark.parametrize("seed", range(6))
def test_the_path_ends_where_clarabel_does(seed: int) -> None:
    x, y, on = problem(seed)
    path = solve(GatedGroups(x, y, on), len(y))
    reason, theirs, multipliers = socp(features(x, on), y)
    assert path.feasible and not reason
    for a, b in zip(groups_of(x, y, on, path), theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-4)
    np.testing.assert_allclose(path.norms.sum(), sum(map(np.linalg.norm, theirs)), rtol=1e-5)
    np.testing.assert_allclose(path.multipliers, multipliers, atol=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_the_kkt_conditions_hold(seed: int) -> None:
    x, y, on = problem(seed)
    path = solve(GatedGroups(x, y, on), len(y))
    weights = groups_of(x, y, on, path)
    margins = y * sum(f @ w for f, w in zip(features(x, on), weights, strict=True))
    assert margins.min() == pytest.approx(1.0)
    assert (path.multipliers * (margins - 1)).sum() < 1e-4
    g = [(path.multipliers * y) @ f for f in features(x, on)]
    lengths = np.array([np.linalg.norm(one) for one in g])
    assert (lengths <= 1 + 1e-9).all()
    np.testing.assert_allclose((path.norms * (1 - lengths)).sum(), 0, atol=1e-4)
    assert 0 <= path.gap < 1e-5


def test_alternating_weighted_machines_reach_the_same_norm() -> None:
    """Σ‖ζ_h‖ = min over η of Σ (‖ζ_h‖² / η_h + η_h) / 2: kernel machines with weighted kernels."""
    x, y, on = problem(3)
    best = solve(GatedGroups(x, y, on), len(y)).norms.sum()
    kernels = [f @ f.T for f in features(x, on)]
    eta = np.ones(len(kernels))
    for _ in range(80):
        kernel = sum(e * k for e, k in zip(eta, kernels, strict=True))
        path = solve(OneGroup(np.asarray(kernel), y), len(y))
        signed = path.multipliers * path.scales[0] * y
        eta = np.array(
            [e * np.sqrt(signed @ k @ signed) for e, k in zip(eta, kernels, strict=True)]
        )
    np.testing.assert_allclose(eta.sum(), best, rtol=1e-3)
    assert eta.sum() >= best * (1 - 1e-6)


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6), st.floats(0.1, 10))
def test_units_may_change_places_and_inputs_their_scale(seed: int, scale: float) -> None:
    x, y, on = problem(seed, n=12)
    path = solve(GatedGroups(x, y, on), len(y))
    order = np.random.default_rng(seed).permutation(on.shape[1])
    moved = solve(GatedGroups(scale * x, y, on[:, order]), len(y))
    np.testing.assert_allclose(moved.norms * scale, path.norms[order], atol=3e-4 * path.norms.sum())
    mirrored = solve(GatedGroups(x, -y, on), len(y))
    np.testing.assert_allclose(mirrored.norms.sum(), path.norms.sum(), rtol=1e-6)


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6))
def test_more_points_never_cost_less(seed: int) -> None:
    x, y, on = problem(seed, n=16)
    few = solve(GatedGroups(x[:8], y[:8], on[:8]), 8)
    many = solve(GatedGroups(x, y, on), 16)
    assert many.norms.sum() >= few.norms.sum() * (1 - 1e-6)


def test_no_solution_has_a_reason_and_both_solvers_agree() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 2)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    path = solve(OneGroup(x @ x.T, y), 40)
    assert not path.feasible and path.reason == max_margin.NOT_SEPARABLE
    assert np.isnan(path.norms).all()
    assert socp([x], y)[0] == max_margin.NOT_SEPARABLE
    assert solve(OneGroup(np.zeros((0, 0)), y[:0]), 0).reason == max_margin.NO_POINTS
    assert socp([x[:0]], y[:0])[0] == max_margin.NO_POINTS
    silent = np.vstack([x[:2], np.zeros((1, 2))])
    assert solve(OneGroup(silent @ silent.T, np.ones(3)), 3).reason == max_margin.SILENT


@pytest.mark.parametrize("seed", range(20))
def test_feasible_exactly_when_clarabel_finds_it_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((8, 4))
    y = np.where(rng.random(8) < 0.5, 1.0, -1.0)
    assert solve(OneGroup(x @ x.T, y), 8).reason == socp([x], y)[0]
