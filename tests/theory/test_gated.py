"""The limits of gated networks against scikit-learn, brute force and weights themselves."""

import itertools
import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.svm import SVC

from recombine.errors import BadValue
from recombine.theory import gated, gates

LAYOUT = [(1, 1), (1, 3), (2, 2), (3, 2), (2, 4), (4, 3)]


def sample(
    seed: int, *, n: int = 16, dim: int = 3, units: int = 3, planes: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.standard_normal((n, dim)), np.ones(n)])
    normals, _ = gates.hyperplanes(units, planes, dim + 1, rng)
    context = gates.contexts(x, normals, gates.medians(normals, x))
    on = gates.indicators(context, 2**planes)
    teacher = rng.standard_normal((units, 2**planes, dim + 1))
    return x, np.where(gated.respond(teacher, x, on) > 0, 1.0, -1.0), on


def tuples(predictors: np.ndarray) -> np.ndarray:
    """The predictor of every combination of contexts."""
    units, size, _ = predictors.shape
    every = itertools.product(range(size), repeat=units)
    return np.array([predictors[range(units), list(c)].sum(0) for c in every])


@pytest.mark.parametrize(("units", "size"), LAYOUT)
def test_the_l2_norm_is_that_of_all_combinations(units: int, size: int) -> None:
    a, b = np.random.default_rng(0).standard_normal((2, units, size, 5))
    np.testing.assert_allclose(gated.l2_square(a), (tuples(a) ** 2).sum(1).mean())
    np.testing.assert_allclose(gated.inner(a, b), (tuples(a) * tuples(b)).sum(1).mean())
    printed = size * (a**2).sum() - (a.sum(1) ** 2).sum() + (a.sum((0, 1)) ** 2).sum()
    np.testing.assert_allclose(gated.l2_square(a) * size**units, size ** (units - 2) * printed)
    assert gated.cosine(a, 3 * a) == pytest.approx(1.0)


def test_svm_l2_minimises_the_brute_force_norm() -> None:
    x, y, on = sample(0)
    units, size, dim = on.shape[1], on.shape[2], x.shape[1]
    zeta = [[cvxpy.Variable(dim) for _ in range(size)] for _ in range(units)]
    square = sum(
        cvxpy.sum_squares(sum(zeta[h][c] for h, c in enumerate(combination)))
        for combination in itertools.product(range(size), repeat=units)
    )
    where = on.argmax(2)
    kept = [
        y[i] * sum(x[i] @ zeta[h][where[i, h]] for h in range(units)) >= 1 for i in range(len(y))
    ]
    cvxpy.Problem(cvxpy.Minimize(square), kept).solve(solver=cvxpy.CLARABEL)
    theirs = np.array([[z.value for z in row] for row in zeta])
    ours = gated.svm_l2(x, y, on)
    np.testing.assert_allclose(tuples(ours.predictors), tuples(theirs), atol=1e-4)
    np.testing.assert_allclose(ours.norm, math.sqrt(gated.l2_square(ours.predictors)), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_shallow_network_is_a_machine_per_context(seed: int) -> None:
    x, y, on = sample(seed, n=30, units=1, planes=2)
    ours = gated.shallow(x, y, on)
    assert ours.feasible
    for c in range(4):
        here = on[:, 0, c] > 0
        # Points and their mirror images: scikit-learn's free constant is then zero.
        theirs = SVC(kernel="linear", C=1e8, tol=1e-8)
        theirs.fit(np.vstack([x[here], -x[here]]), np.concatenate([y[here], -y[here]]))
        np.testing.assert_allclose(ours.predictors[0, c], theirs.coef_[0], rtol=1e-3, atol=1e-4)
        explained = (ours.multipliers * y)[here] @ x[here]
        np.testing.assert_allclose(explained, ours.predictors[0, c], atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_svm_gln_is_the_shortest_two_layer_network(seed: int) -> None:
    """Minimise ‖θ‖² / 2 over weights and readout themselves, from a few starts."""
    x, y, on = sample(seed, n=8, dim=2, units=2)
    shape, best = (2, 2, x.shape[1]), np.inf

    def margins(theta: np.ndarray) -> np.ndarray:
        w, v = theta[:-2].reshape(shape), theta[-2:]
        return y * gated.respond(v[:, None, None] * w, x, on) - 1

    constraint = {"type": "ineq", "fun": margins}
    for start in range(6):
        theta = 2 * np.random.default_rng(start).standard_normal(math.prod(shape) + 2)
        found = optimize.minimize(
            lambda t: t @ t / 2, theta, jac=lambda t: t, constraints=constraint, method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )  # fmt: skip
        if found.success and margins(found.x).min() > -1e-6:
            best = min(best, found.fun)
    ours = gated.svm_gln(x, y, on)
    np.testing.assert_allclose(best, ours.norm, rtol=1e-4)
    np.testing.assert_allclose(gated.group_norm(ours.predictors), ours.norm, rtol=1e-6)
    assert ours.margin == pytest.approx(1 / ours.norm)


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6))
def test_each_machine_is_the_best_in_its_own_norm(seed: int) -> None:
    x, y, on = sample(seed)
    gln, l2 = gated.svm_gln(x, y, on), gated.svm_l2(x, y, on)
    for solution in (gln, l2):
        assert (y * gated.respond(solution.predictors, x, on)).min() == pytest.approx(1.0, abs=1e-6)
    assert gated.group_norm(l2.predictors) >= gln.norm * (1 - 1e-5)
    assert math.sqrt(gated.l2_square(gln.predictors)) >= l2.norm * (1 - 1e-5)


def test_a_silent_context_is_a_frozen_relu() -> None:
    x, y, on = sample(1, n=10, units=6)
    on[:, 0] = [0, 1]  # no point switches every unit off
    frozen = on[:, :, 1:]
    ours = gated.svm_gln(x, y, frozen)
    assert ours.feasible and ours.predictors.shape == (6, 1, 4)
    masked = gated.svm_gln(x, y, on * np.array([0.0, 1.0]))
    np.testing.assert_allclose(masked.norm, ours.norm, rtol=1e-6)
    np.testing.assert_allclose(masked.predictors[:, 0], 0)


SOLVERS = [gated.svm_gln, gated.svm_l2, gated.shallow]


@pytest.mark.parametrize("solver", SOLVERS)
def test_hopeless_points_have_a_reason_and_no_numbers(solver) -> None:  # type: ignore[no-untyped-def]
    x, y = np.array([[0.0, 1], [1, 1], [0, 1], [2, 1]]), np.array([1.0, 1, -1, 1])
    cases = {
        "there are no points": (x[:0], y[:0]),
        "one point carries both labels": (x, y),
        "no predictor of this form separates the points": (
            np.array([[0.0, 1], [1, 1], [2, 1]]),
            np.array([1.0, -1, 1]),
        ),
    }
    for reason, (points, labels) in cases.items():
        solution = solver(points, labels, np.ones((len(points), 1, 1)))
        assert not solution.feasible and solution.reason.endswith(reason)
        assert math.isnan(solution.norm) and np.isnan(solution.predictors).all()


def test_one_class_and_empty_contexts_are_no_trouble() -> None:
    x, _, on = sample(0, n=12, units=1)
    assert gated.shallow(x, np.ones(12), on).feasible
    assert gated.svm_gln(x, np.ones(12), on).feasible
    empty = np.zeros((12, 1, 3))
    empty[:, 0, 1] = 1
    solution = gated.shallow(x, np.ones(12), empty)
    assert solution.feasible and not solution.predictors[0, [0, 2]].any()
    same = gated.svm_gln(np.repeat(x[:1], 4, axis=0), np.ones(4), on[:4] * 0 + on[:1])
    assert same.feasible and same.norm == pytest.approx(1 / np.linalg.norm(x[0]), rel=1e-5)


def test_numbers_that_are_none_are_refused() -> None:
    on = np.ones((2, 1, 1))
    with pytest.raises(BadValue, match="only −1 and 1"):
        gated.svm_gln(np.ones((2, 1)), np.array([0.0, 1.0]), on)
    with pytest.raises(BadValue, match="finite"):
        gated.svm_l2(np.array([[np.nan], [1.0]]), np.array([-1.0, 1.0]), on)
    with pytest.raises(BadValue, match="one unit"):
        gated.shallow(np.ones((2, 1)), np.ones(2), np.ones((2, 2, 1)))


def test_a_point_in_no_context_leaves_one_unit_without_a_solution() -> None:
    x, y, on = sample(1, units=1)
    on[3] = 0
    found = gated.shallow(x, y, on)
    assert not found.feasible and "switches every unit off" in found.reason


def test_the_l2_control_refuses_silent_contexts() -> None:
    x, y, on = sample(1)
    with pytest.raises(BadValue, match="silent context"):
        gated.svm_l2(x, y, on[:, :, :1])


@pytest.mark.usefixtures("unchecked")
def test_points_labels_and_contexts_must_be_as_many() -> None:
    x, y, on = sample(1)
    for wrong in ((x, y[1:], on), (x, y, on[1:])):
        with pytest.raises(BadValue, match="as many of each"):
            gated.svm_gln(*wrong)
