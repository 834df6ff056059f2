"""What sums of low order express and what training fixes, against exact rational elimination."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from factor_tables import CONTEXT, SUM, XOR, audited, columns, corner, laid
from recombine.auditing.orders import order_rule
from recombine.auditing.span import matrices, nowhere, outside, spanning
from recombine.seeds import stream


def rank(rows: list[list[Fraction]]) -> int:
    """By Gaussian elimination in fractions."""
    rows, found = [row[:] for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def exact(phi: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(int(cell)) for cell in row] for row in phi]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("order", [1, 2])
def test_what_is_fixed_agrees_with_ranks_in_fractions(seed: int, order: int) -> None:
    rng = np.random.default_rng(seed)
    test = rng.random(18) < 0.6
    test[:2] = True, False
    found, seen = laid(columns((3, 3, 2), lambda z: z[:, 0] % 2, lambda _: test))
    ids = seen.up_to(order)
    train, held = matrices(ids[found.trained], ids[found.held_out])
    loose = outside(held, nowhere(train, stream(seed, "test")))
    known = exact(train.toarray())
    for row, free in zip(exact(held.toarray()), loose, strict=True):
        assert free == (rank([*known, row]) > rank(known))


@pytest.mark.parametrize("seed", range(5))
def test_two_factors_are_fixed_within_connected_components(seed: int) -> None:
    """Sums of single values: (a, b) is fixed where training leads from a to b."""
    rng = np.random.default_rng(seed)
    test = rng.random(36) < 0.8
    test[:2] = True, False
    found, seen = laid(columns((6, 6), lambda z: z[:, 0] % 2, lambda _: test))
    rule = order_rule(found, seen, 1, classes=True, known=False, rng=stream(0, "test"))
    graph = nx.Graph([(f"a{a}", f"b{b}") for a, b in found.z[found.trained].tolist()])
    apart = sum(
        not (graph.has_node(f"a{a}") and graph.has_node(f"b{b}"))
        or not nx.has_path(graph, f"a{a}", f"b{b}")
        for a, b in found.z[found.held_out].tolist()
    )
    if rule.fitted:
        # A value that training lacks leaves only the rest of the sum, which is not fixed by itself.
        assert rule.free == apart


def test_a_sum_is_fixed_rightly_and_an_exclusive_or_of_three_corners_wrongly() -> None:
    (rule,) = audited(SUM).orders
    assert rule.expressible == "possible" and rule.fitted
    assert (rule.right, rule.wrong, rule.free) == (9, 0, 0)
    three = columns((2, 2), lambda z: z.sum(1) % 2, corner((2, 2)))
    (rule,) = audited(three).orders
    assert rule.fitted and (rule.right, rule.wrong, rule.free) == (0, 1, 0)
    assert rule.expressible == "impossible"


def test_a_threshold_of_a_sum_is_expressible_and_not_fitted_exactly() -> None:
    table = columns((5, 5), lambda z: z.sum(1) > 4, corner((5, 5)))
    (rule,) = audited(table).orders
    assert rule.expressible == "possible" and not rule.fitted and 0.5 < rule.explained < 1


def test_context_dependence_needs_pairs() -> None:
    first, second = audited(CONTEXT).orders
    assert first.expressible == "impossible" and not first.fitted
    assert second.expressible == "possible" and second.fitted and second.free == 18


def test_exclusive_or_is_never_expressible() -> None:
    done = audited(XOR)
    assert [rule.expressible for rule in done.orders] == ["impossible"]
    assert done.learnable.decision.answer == "impossible"


def test_rows_that_span_are_as_good_as_all(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (7, 7, 7)
    found, seen = laid(columns(sizes, lambda z: z[:, 0] % 2, corner(sizes)))
    ids = seen.up_to(1)
    train, held = matrices(ids[found.trained], ids[found.held_out])
    monkeypatch.setattr("recombine.auditing.span.DENSE", 1)
    monkeypatch.setattr("recombine.auditing.span.AMPLE", 1)
    some, free = spanning(train, stream(0, "test"))
    assert len(some) < train.shape[0] / 2
    assert np.linalg.matrix_rank(train[some].toarray()) == np.linalg.matrix_rank(train.toarray())
    assert not outside(held, free).any()


@pytest.mark.parametrize("classes", [True, False])
def test_what_is_explained_counts_rows(classes: bool) -> None:
    """Against least squares on the rows of the table, where combinations repeat unequally."""
    rng = np.random.default_rng(3)
    n = 120
    z = np.stack([rng.integers(0, 3, n), rng.integers(0, 4, n)], axis=1)
    held = z.sum(1) == 5
    z[: n // 2] = 0, 1  # one combination that half of all rows show
    y = (z[:, 0] * z[:, 1] > 1) if classes else z[:, 0] * z[:, 1] / 2
    table = {"a": z[:, 0].tolist(), "b": z[:, 1].tolist(), "y": y.tolist()}
    table["split"] = np.where(held, "test", "train").tolist()
    done = audited(table)
    train = np.array(table["split"]) == "train"
    phi = np.c_[np.ones(n), np.eye(3)[z[:, 0]], np.eye(4)[z[:, 1]]][train]
    wanted = np.asarray(y, dtype=float)[train]
    apart = wanted - phi @ np.linalg.lstsq(phi, wanted, rcond=None)[0]
    assert not done.orders[0].fitted
    assert done.orders[0].explained == pytest.approx(1 - apart.var() / wanted.var(), abs=1e-6)


def test_a_part_of_the_grid_that_was_asked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recombine.auditing.conflict.MOST_MARGINS", 60)
    rng = np.random.default_rng(0)
    v = [rng.normal(size=(size, 5)) for size in (6, 8, 8)]

    def label(z: np.ndarray) -> np.ndarray:
        return np.asarray(sum(v[f][z[:, f]] for f in range(3)).argmax(1))

    done = audited(columns((6, 8, 8), label, corner((6, 8, 8))), predictions=False)
    asked = [rule.order for rule in done.orders if rule.sampled is not None]
    assert asked, "nothing was sampled"
    for order in asked:
        assert any(f"of conjunctions of up to {order} can" in line for line in done.sampled)
