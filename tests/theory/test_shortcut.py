"""Context dependence: closed forms against fits on all cells, and scikit-learn's machine."""

import numpy as np
import pytest
from sklearn.svm import SVC  # type: ignore[import-untyped, unused-ignore]

from recombine.errors import BadValue, UnknownName
from recombine.theory import shortcut
from recombine.theory.conjunctions import kernel_matrix
from recombine.theory.kernel_fit import least_norm
from recombine.theory.salience import complete, kernel_of


def brute(s1: float, s2: float, *, items: int, left_out: int, method: str) -> np.ndarray:
    """y f on every held-out cell, from a fit on all trained cells, with an intercept."""
    z, y, train = shortcut.task(items, left_out)
    kernel = kernel_matrix(kernel_of(complete(s1, s2), base=0.2), z, z[train])
    if method == "regression":
        f = least_norm(kernel[train], y[train].astype(float), intercept=True).predict(kernel)
    else:
        machine = SVC(C=1e10, kernel="precomputed", tol=1e-7).fit(kernel[train], y[train])
        f = machine.decision_function(kernel)
    return np.asarray((y * f)[~train])


def drawn(seed: int) -> tuple[float, float]:
    parts = np.random.default_rng(seed).dirichlet(np.ones(3))
    return float(parts[0] / 3), float(parts[1] / 3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("items", "left_out"), [(3, 3), (3, 2), (3, 1), (2, 2), (4, 3), (1, 1)])
def test_regression_over_kinds_is_the_fit_on_all_cells(
    seed: int, items: int, left_out: int
) -> None:
    s1, s2 = drawn(seed)
    margins = brute(s1, s2, items=items, left_out=left_out, method="regression")
    found = shortcut.held_out_margin(s1, s2, items=items, left_out=left_out)
    assert margins == pytest.approx(np.full(len(margins), found), abs=1e-7)
    if items == left_out:
        assert shortcut.margin(s1, s2, items=items) == pytest.approx(found, abs=1e-7)
        assert shortcut.generalises(s1, s2, items=items) == (found > 0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("items", "left_out"), [(3, 3), (3, 2), (3, 1), (2, 2)])
def test_the_machine_over_kinds_is_scikit_learns_on_all_cells(
    seed: int, items: int, left_out: int
) -> None:
    s1, s2 = drawn(seed + 100)
    margins = brute(s1, s2, items=items, left_out=left_out, method="svm")
    found = shortcut.held_out_margin(s1, s2, items=items, left_out=left_out, method="svm")
    assert margins == pytest.approx(np.full(len(margins), found), abs=1e-3)
    if items == left_out:
        closed = shortcut.margin(s1, s2, items=items, method="svm")
        assert closed == pytest.approx(found, abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_three_items_are_the_printed_fractions(seed: int) -> None:
    s1, s2 = drawn(seed + 50)
    above = 9 * (2 * s2**2 + 9 * s1 * s2 + 3 * s1**2 - s1)
    below = 1 + 21 * s1 + 6 * s2 - 72 * s1**2 - 45 * s1 * s2 - 9 * s2**2
    assert shortcut.margin(s1, s2) == pytest.approx(above / below)
    kept = 153 * s1**2 + 117 * s1 * s2 - 12 * s1 + 24 * s2**2 - 3 * s2 - 1 <= 0
    dropped = (3 * (6 * s2**2 + 12 * s1 * s2 + s2 - 18 * s1**2)) / (
        1 + 18 * s1 + 7 * s2 + 3 * s2**2 + 6 * s1 * s2 - 9 * s1**2
    )
    expected = above / below if kept else dropped
    assert shortcut.margin(s1, s2, method="svm") == pytest.approx(expected)


@pytest.mark.parametrize("method", ["regression", "svm"])
@pytest.mark.parametrize("items", [2, 3, 5])
@pytest.mark.parametrize("s1", [0.02, 0.08, 0.14])
def test_the_margin_changes_sign_at_the_boundary(
    method: shortcut.Method, items: int, s1: float
) -> None:
    edge = shortcut.boundary(s1, items=items, method=method)
    assert shortcut.margin(s1, edge * 0.999, items=items, method=method) < 0
    assert shortcut.margin(s1, edge * 1.001, items=items, method=method) > 0


def test_the_printed_boundaries() -> None:
    s1 = 0.13
    printed = (np.sqrt(s1 * (57 * s1 + 8)) - 9 * s1) / 4
    assert shortcut.boundary(s1) == pytest.approx(printed)
    assert shortcut.boundary(s1, method="svm") == pytest.approx(shortcut.svm_boundary_of_three(s1))


def test_a_machine_may_fail_whatever_the_pairs() -> None:
    """With single factors this salient, no legal S2 is enough."""
    assert shortcut.boundary(0.2, method="svm") == np.inf
    assert shortcut.margin(0.2, (1 - 0.6) / 3, method="svm") < 0
    assert shortcut.svm_boundary_of_three(0.2) > (1 - 0.6) / 3


def test_single_items_alone_never_generalise() -> None:
    for s1 in (0.05, 0.2, 0.33):
        assert shortcut.margin(s1, 0.0) <= 0


@pytest.mark.parametrize(
    ("saliences", "signs"), [((0.10101, 0.13912), (1, 1, 1)), ((0.20350, 0.09424), (-1, 1, 1))]
)
def test_the_two_marked_representations(
    saliences: tuple[float, float], signs: tuple[int, ...]
) -> None:
    found = [
        np.sign(shortcut.held_out_margin(*saliences, left_out=q, method="svm")) for q in (3, 2, 1)
    ]
    assert tuple(found) == signs


def test_a_relative_margin_is_relative_to_all_trained_cells() -> None:
    s1, s2 = 0.27068, 0.05588
    z, y, train = shortcut.task(3, 3)
    kernel = kernel_matrix(kernel_of(complete(s1, s2)), z, z[train])
    machine = SVC(C=1e10, kernel="precomputed", tol=1e-7).fit(kernel[train], y[train])
    margins = y * machine.decision_function(kernel)
    found = shortcut.held_out_margin(s1, s2, method="svm", relative=True)
    assert found == pytest.approx(margins[~train].mean() / margins[train].mean(), abs=1e-3)
    assert found == pytest.approx(-0.37, abs=0.01)


def test_the_loss_decides_for_one_relu_layer() -> None:
    assert shortcut.margin(0.27068, 0.05588) == pytest.approx(0.795, abs=2e-3)
    assert shortcut.margin(0.27068, 0.05588, method="svm") == pytest.approx(-0.559, abs=2e-3)


def test_the_phase_diagram_has_no_value_where_there_is_no_kernel() -> None:
    grid = np.array([0.05, 0.2])
    found = shortcut.phase_diagram(grid, grid, left_out=2)
    assert np.isnan(found[1, 1]) and np.isfinite(found[0, 0])
    assert found[0, 1] == pytest.approx(shortcut.held_out_margin(0.2, 0.05, left_out=2))


def test_where_training_cannot_be_fitted_there_is_no_margin() -> None:
    assert np.isnan(shortcut.margin(1 / 3, 0.0)) and np.isnan(shortcut.held_out_margin(1 / 3, 0.0))
    assert shortcut.margin(1 / 3, 0.0, method="svm") == pytest.approx(-1)
    assert not shortcut.generalises(1 / 3, 0.0)


def test_impossible_saliences_are_refused() -> None:
    with pytest.raises(BadValue, match="3 S1"):
        shortcut.generalises(-1, 5)
    with pytest.raises(BadValue, match="3 S1"):
        shortcut.margin(0.3, 0.3)
    with pytest.raises(BadValue, match="1 to 3"):
        shortcut.held_out_margin(0.1, 0.1, left_out=4)


def test_the_printed_machine_boundary_holds_where_it_says_so() -> None:
    """Where kind 1 has its dual, the boundary is that of regression."""
    for s1 in np.linspace(0.01, 0.16, 16):
        printed = shortcut.svm_boundary_of_three(float(s1))
        exact = shortcut.boundary(float(s1), method="svm")
        if np.isnan(printed):
            assert s1 < 0.0976 and exact == pytest.approx(shortcut.boundary(float(s1)))
        else:
            assert s1 > 0.0974 and exact == pytest.approx(printed)


@pytest.mark.parametrize("ask", [shortcut.margin, shortcut.held_out_margin])
def test_an_unknown_method_is_refused(unchecked: None, ask: object) -> None:
    with pytest.raises(UnknownName, match="legal: regression, svm"):
        ask(0.2, 0.05, method="SVM")  # type: ignore[operator]
    with pytest.raises(BadValue, match="saliences"):
        ask(float("nan"), 0.05)  # type: ignore[operator]
