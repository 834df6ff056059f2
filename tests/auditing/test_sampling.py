"""A part of the grid: it has what the whole has, and what is said of it says so."""

from __future__ import annotations

import numpy as np
import pytest

from factor_tables import audited, columns
from recombine.auditing.codes import codes
from recombine.auditing.prediction import Scores, _judged
from recombine.auditing.sampling import fitted_part, subgrid
from recombine.tasks.splits import product


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recombine.auditing.prediction.MOST_TRAIN", 60)


@pytest.mark.parametrize(("sizes", "held"), [((7, 7, 7), 2), ((4, 4, 4, 4), 1), ((2,) * 8, 3)])
def test_few_held_out_combinations_are_all_predicted(sizes: tuple[int, ...], held: int) -> None:
    chosen = np.random.default_rng(0).choice(int(np.prod(sizes)), held, replace=False)
    table = columns(sizes, lambda z: z.sum(1) % 2, lambda z: np.isin(np.arange(len(z)), chosen))
    for seed in range(3):
        done = audited(table, order=0, seed=seed)
        assert done.prediction is not None and done.prediction.held == held
        assert f"made for {held} of {held} held-out ones" in done.sampled[0]


def test_a_part_has_both_kinds_and_two_labels() -> None:
    z = product((12, 12, 12))
    trained = (z[:, 0] == 3) & (z[:, 1] != 5)
    y = (z == 3).all(1).astype(int)
    for seed in range(5):
        train, held = fitted_part(z, y, trained, np.random.default_rng(seed), most=(30, 40))
        assert trained[train].all() and not trained[held].any()
        assert 2 <= len(train) <= 30 and 1 <= len(held) <= 40
        assert set(y[train]) == {0, 1}


def test_values_come_in_as_they_come_in_an_order() -> None:
    z = product((6, 6))
    order = np.r_[np.flatnonzero((z == [4, 2]).all(1)), np.flatnonzero(~(z == [4, 2]).all(1))]
    part = subgrid(z, 9, np.random.default_rng(0), order=order)
    expected = [(a, b) for a in (4, 0, 1) for b in (2, 0, 1)]
    assert sorted(map(tuple, z[part].tolist())) == sorted(expected)


def test_what_a_part_says_is_a_note_that_says_so() -> None:
    sizes = (8, 8, 3)
    table = columns(
        sizes, lambda z: (z[:, 0] < 4) ^ (z[:, 1] < 4), lambda z: (z[:, 0] + z[:, 1]) % 4 == 0
    )
    done = audited(table, order=0)
    assert "on held-out combinations (on a part of the grid) over all codes" in done.summary
    (misled,) = [each for each in done.findings if each.kind == "misled"]
    assert misled.weight == "note" and "in a part of the grid" in misled.text


def test_scores_within_the_error_of_a_fit_are_a_tie() -> None:
    y, truth = np.array([0, 1]), np.array([1, 1, 0])
    scores = Scores(np.array([[3e-8, 0.5, -2e-8]]), True, 1e-7)
    made = _judged(codes(2)[0], "least squares", scores, y, truth, None, classes=True)
    assert made.answers.tolist() == [False, True, False]
    lost = Scores(np.full((1, 3), np.nan), False, np.nan)
    made = _judged(codes(2)[0], "largest margin", lost, y, truth, None, classes=True)
    assert not made.answers.any()
