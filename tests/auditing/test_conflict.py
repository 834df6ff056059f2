"""Whether labels can be had as sums of conjunction values, against brute force and against fits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.svm import SVC

from factor_tables import SUM, XOR, audited, columns, corner, laid
from recombine.auditing.conflict import Decision
from recombine.auditing.learnable import learnable
from recombine.auditing.span import peel
from recombine.seeds import stream
from recombine.tasks.splits import product
from recombine.theory.conjunctions import accumulate, by_count, kernel_matrix
from recombine.theory.kernel_fit import ridge


def random_table(seed: int, classes: int, sizes: tuple[int, ...]) -> dict[str, list[Any]]:
    """Random labels, and most of a block held out."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(sizes))
    y = rng.integers(0, classes, n) if classes else rng.normal(size=n).round(2)
    thin = rng.random(n) < rng.uniform(0.6, 1.0)
    thin[-1] = True
    return columns(sizes, lambda _: y, lambda z: (z[:, 0] > 0) & (z[:, 1] > 0) & thin)


def design(train: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Indicators of all conjunctions seen in training, written out one by one."""
    made = [np.ones(len(rows))]
    factors = train.shape[1]
    for size in range(1, factors + 1):
        for subset in itertools.combinations(range(factors), size):
            for values in {tuple(row) for row in train[:, subset].tolist()}:
                made.append((rows[:, subset] == np.array(values)).all(axis=1).astype(float))
    return np.stack(made, axis=1)


def separable(phi: np.ndarray, y: np.ndarray) -> bool:
    """By a linear program on the scores themselves: margins of at least one."""
    names = np.unique(y)
    rows = []
    for row, label in zip(phi, y, strict=True):
        for rival in names[names != label]:
            form = np.zeros((len(names), phi.shape[1]))
            form[names == label], form[names == rival] = row, -row
            rows.append(-form.ravel())
    if not rows:
        return True
    found = linprog(np.zeros(len(rows[0])), A_ub=np.array(rows), b_ub=-np.ones(len(rows)),
                    bounds=(None, None))  # fmt: skip
    return bool(found.status == 0)


def decided(table: dict[str, list[Any]], *, classes: bool, **options: Any) -> Decision:
    found, seen = laid(table, kind="classes" if classes else "numbers", **options)
    rng = stream(0, "test")
    return learnable(found, seen, classes=classes, known=False, rng=rng).decision


def fewest_wrong(phi: np.ndarray, y: np.ndarray) -> int:
    """The fewest rows to drop before the rest can be had, by trying all."""
    for size in range(len(y) + 1):
        for dropped in itertools.combinations(range(len(y)), size):
            kept = np.setdiff1d(np.arange(len(y)), dropped)
            if separable(phi[kept], y[kept]):
                return size
    raise AssertionError


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sizes", [(3, 3), (3, 3, 2), (4, 3)])
def test_classes_agree_with_brute_force(classes: int, sizes: tuple[int, ...]) -> None:
    answers = set()
    for seed in range(16):
        table = random_table(seed, classes, sizes)
        found, _ = laid(table, kind="classes")
        held = found.held_out
        phi = design(found.z[found.trained], found.z[held])
        y = found.test.y[held]
        decision = decided(table, classes=True)
        answers.add(decision.answer)
        assert decision.answer == ("possible" if separable(phi, y) else "impossible")
        for witness in decision.witnesses:
            assert not separable(phi[list(witness.rows)], y[list(witness.rows)])
            for left_out in witness.rows if classes == 2 else ():  # none of its rows can be spared
                rest = [row for row in witness.rows if row != left_out]
                assert separable(phi[rest], y[rest])
        if len(y) <= 6:
            least = fewest_wrong(phi, y)
            assert decision.wrong_at_least <= least <= decision.wrong_at_most
    assert answers == {"possible", "impossible"} or classes == 3


@pytest.mark.parametrize("sizes", [(3, 3), (3, 3, 2), (4, 3)])
def test_numbers_agree_with_least_squares(sizes: tuple[int, ...]) -> None:
    answers = set()
    for seed in range(12):
        table = random_table(seed, 0, sizes)
        found, _ = laid(table, kind="numbers")
        held = found.held_out
        phi, y = design(found.z[found.trained], found.z[held]), found.test.y[held]
        apart = y - phi @ np.linalg.lstsq(phi, y, rcond=None)[0]
        total = np.sum((y - y.mean()) ** 2)
        decision = decided(table, classes=False)
        answers.add(decision.answer)
        assert (decision.answer == "impossible") == bool(np.abs(apart).max() > 1e-6)
        if total > 0:
            assert decision.unexplained == pytest.approx(apart @ apart / total, abs=1e-9)
        for witness in decision.witnesses:
            rows, weights = list(witness.rows), np.array(witness.weights)
            assert not (weights @ phi[rows]).any() and abs(weights @ y[rows]) > 1e-6
    assert answers == {"possible", "impossible"}


def test_an_exclusive_or_clashes_in_a_rectangle() -> None:
    decision = decided(XOR, classes=True)
    assert decision.answer == "impossible" and decision.core == 4
    (witness,) = decision.witnesses
    assert len(witness.rows) == 4 and witness.weights == (1, 1, 1, 1)
    assert (decision.wrong_at_least, decision.wrong_at_most) == (1, 1)


def test_a_latin_square_of_three_classes_clashes_without_a_rectangle() -> None:
    table = columns((6, 6), lambda z: (z[:, 0] + z[:, 1]) % 3, corner((6, 6)))
    decision = decided(table, classes=True)
    assert decision.answer == "impossible" and decision.wrong_at_least == 1
    (witness,) = decision.witnesses
    assert 4 < len(witness.rows) <= 9


def test_a_sum_is_possible_and_a_product_is_not() -> None:
    assert decided(SUM, classes=False).answer == "possible"
    table = columns((4, 4), lambda z: 1.5 * z[:, 0] * z[:, 1], corner((4, 4)))
    decision = decided(table, classes=False)
    assert decision.answer == "impossible" and len(decision.witnesses) == 1


def test_rows_alike_with_two_labels_clash_in_pairs() -> None:
    """Both factors' values are new: every kernel model gives all four rows its intercept."""
    table = columns((4, 4), lambda z: (z[:, 0] == 3) & (z[:, 1] == 3), corner((4, 4)))
    train = [a < 2 and b < 2 for a, b in zip(table["a"], table["b"], strict=True)]
    table["split"] = ["train" if t else "test" for t in train]
    found, _ = laid(table)
    decision = decided(table, classes=True)
    assert found.held_out.sum() == 12 and decision.answer == "impossible"
    assert len(decision.witnesses[0].rows) == 2 and decision.wrong_at_least == 1


@pytest.mark.parametrize("seed", range(3))
def test_no_fitted_kernel_machine_is_right_where_we_say_impossible(seed: int) -> None:
    """Ridge and support vectors, at random saliences, all orders: the theorem at work."""
    rng = np.random.default_rng(seed)
    sizes = (4, 4, 2)
    y = (product(sizes)[:, :2].sum(1) + (rng.random(32) < 0.05)) % 2
    found, seen = laid(columns(sizes, lambda _: y, corner(sizes)))
    asked = learnable(found, seen, classes=True, known=False, rng=stream(0, "test"))
    assert asked.decision.answer == "impossible"
    z, wanted = found.z[found.trained], 2.0 * found.train.y[found.trained] - 1
    for _ in range(12):
        kappa = accumulate(by_count([0.1, *rng.dirichlet(np.ones(3))]))
        inner, outer = kernel_matrix(kappa, z, z), kernel_matrix(kappa, found.z, z)
        scores = [
            ridge(inner, wanted, penalty=p, intercept=True).predict(outer) for p in (0.0, 0.3)
        ]
        for cost in (0.1, 1e6):
            machine = SVC(C=cost, kernel="precomputed", tol=1e-6).fit(inner, wanted)
            scores.append(machine.decision_function(outer))
        for score in scores:
            right = np.sign(score) == 2 * found.test.y - 1
            assert (~right[found.held_out]).sum() >= asked.decision.wrong_at_least
            for witness in asked.witnesses():
                assert not right[list(witness)].all()


def test_a_large_core_is_decided_through_rectangles() -> None:
    sizes = (30, 30, 4)
    table = columns(sizes, lambda z: (z[:, 0] + z[:, 1]) % 2, corner(sizes))
    decision = decided(table, classes=True)
    assert decision.answer == "impossible" and decision.core == 900
    assert 100 < decision.wrong_at_least <= decision.wrong_at_most <= 4 * 15 * 7
    assert decision.sampled is None


def test_a_large_core_without_rectangles_is_searched_in_part() -> None:
    sizes = (60, 60)
    table = columns(sizes, lambda z: (z[:, 0] + z[:, 1]) % 3, corner(sizes))
    decision = decided(table, classes=True)
    assert decision.answer == "impossible" and decision.core == 900
    assert decision.sampled is not None and decision.sampled < 900


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_peeling_leaves_what_a_loop_would(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = rng.integers(-1, 12, size=(rng.integers(1, 12), 3))
    rows = list(range(len(ids)))
    while True:
        counts = [int((ids[rows] == i).sum()) for i in range(12)]
        kept = [r for r in rows if not any(i >= 0 and counts[i] == 1 for i in ids[r].tolist())]
        if kept == rows:
            break
        rows = kept
    assert np.flatnonzero(peel(ids)).tolist() == rows


def test_a_proof_with_large_weights_is_found() -> None:
    """Sums of pairs on part of a grid: 142 margins whose weights are no small fractions."""
    rng = np.random.default_rng(10017)
    sizes = rng.integers(2, 6, size=int(rng.integers(3, 5)))
    z = product(tuple(sizes.tolist()))
    z = z[rng.random(len(z)) < 0.8]
    z = z[np.sort(rng.choice(len(z), 160, replace=False))]
    table: dict[str, list[Any]] = {name: z[:, i].tolist() for i, name in enumerate("abcd")}
    held = ((z[:, 0] < 3) & (z[:, 1] < 2)) | (z[:, 2] >= sizes[2] - 1)
    table |= {
        "y": (z[:, :3].sum(1) % 3).tolist(),
        "split": np.where(held, "test", "train").tolist(),
    }
    done = audited(table, predictions=False)
    assert [rule.expressible for rule in done.orders] == ["impossible", "impossible", "possible"]


def test_scores_that_are_all_right_prove_it() -> None:
    """Many classes, more margins than one program takes: the program of few violations decides."""
    rng = np.random.default_rng(0)
    v = [rng.normal(size=(size, 5)) for size in (6, 8, 8)]

    def label(z: np.ndarray) -> np.ndarray:
        return np.asarray(sum(v[f][z[:, f]] for f in range(3)).argmax(1))

    table = columns((6, 8, 8), label, corner((6, 8, 8)))
    done = audited(table, predictions=False)
    assert [rule.expressible for rule in done.orders] == ["possible", "possible"]
