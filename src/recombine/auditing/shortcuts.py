"""How well one factor, or a pair, predicts the label by itself, in training and in the test.

The rule of some factors: predict for their joint value the label that training most often has
there (for numbers the mean there). Its *gain* is the share of the errors of always saying the
overall label that the rule avoids: 1 − errors / errors of the constant (for numbers, squares in
place of errors). 1 is perfect, 0 no better than the constant, negative worse. In the test only
rows for whose values training says something are judged; the others are counted.

In training each row is predicted from the others (leave one out): else a pair with a value for
every row would seem to know everything. A tie counts a half. Where a factor knows nothing and its
values are balanced to the row, a row left out tips its value the other way: gains down to −1 there
mean *nothing*, as 0 does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from recombine.auditing.combinations import Subset, numbers, subsets
from recombine.auditing.factored import Factored

MOST_PAIRS = 120
FEW = 1 << 20
"""Joint values up to which those that never occur are counted along."""
MOST_CELLS = 30_000_000
"""Joint values × classes beyond which a pair counts as saying nothing."""

Judge = Callable[[Factored, np.ndarray, int, np.ndarray], tuple[float, float, float, float]]
"""Losses of the rule in training and test, then those of the constant."""


@dataclass(frozen=True)
class Rule:
    """One factor or pair as a predictor."""

    factors: Subset
    train_gain: float
    test_gain: float
    train_right: float
    test_right: float
    """Of classes, accuracy; of numbers, share of variance explained (R²)."""
    judged: int
    unseen: int
    """Test rows for whose values training says something, and nothing; NaN where none is judged."""

    @property
    def breaks(self) -> bool:
        """It serves in training and not in the test, where enough rows can be judged to say so."""
        enough = self.judged >= max(1, self.unseen / 9)  # a tenth of the test
        worse = self.test_right < self.train_right - 0.1
        return bool(
            enough and worse and self.train_gain >= 0.5 and self.test_gain < self.train_gain / 2
        )

    @property
    def suffices(self) -> bool:
        """It is enough on both sides, so that nothing needs to be composed."""
        return min(self.train_gain, self.test_gain) >= 0.99


def rules(table: Factored) -> tuple[Rule, ...]:
    """Every factor, and every pair unless two factors are all there are; the best first."""
    width = len(table.factors)
    chosen = subsets(width, 1) + (subsets(width, 2)[:MOST_PAIRS] if width > 2 else [])
    judge = _classes if table.classes else _numbers
    made = [_rule(table, subset, judge) for subset in chosen]
    return tuple(sorted(made, key=lambda r: (len(r.factors), -r.train_gain, r.factors)))


def says(table: Factored, subset: Subset, keys: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The class a rule gives to joint values of its factors, numbered as `numbers` does."""
    own = numbers(table.codes, subset, table.sizes)
    there, place = np.unique(np.concatenate([own, keys]), return_inverse=True)
    rows, asked = place[: len(own)], place[len(own) :]
    train = ~table.test
    counts = _table(rows[train], table.y[train], len(there), len(table.classes))
    constant = int(counts.sum(axis=0).argmax())
    best = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), constant)
    return np.asarray(best[asked])


def _keys(table: Factored, subset: Subset) -> tuple[Int[np.ndarray, " row"], int]:
    """Joint values numbered from 0, and how many numbers there are."""
    keys = numbers(table.codes, subset, table.sizes)
    reach = math.prod(table.sizes[factor] for factor in subset)
    if reach <= FEW:
        return keys, reach
    there, place = np.unique(keys, return_inverse=True)
    return place.reshape(-1), len(there)


def _rule(table: Factored, subset: Subset, judge: Judge) -> Rule:
    keys, size = _keys(table, subset)
    seen = np.bincount(keys[~table.test], minlength=size) > 0
    judged = table.test & seen[keys]
    if size * max(len(table.classes), 1) > MOST_CELLS:  # nearly a value a row: no rule at all
        keys, size = np.zeros_like(keys), 1
    train, test, train_base, test_base = judge(table, keys, size, judged)
    return Rule(
        subset,
        train_gain=_gain(train, train_base),
        test_gain=_gain(test, test_base),
        train_right=1 - train,
        test_right=1 - test,
        judged=int(judged.sum()),
        unseen=int(table.test.sum() - judged.sum()),
    )


def _gain(loss: float, base: float) -> float:
    """Where the constant makes no errors there is nothing to gain: 0, or the errors made."""
    return 1 - loss / base if base > 0 else -loss


def _table(keys: np.ndarray, y: np.ndarray, size: int, classes: int) -> Int[np.ndarray, "v c"]:
    return np.bincount(keys * classes + y, minlength=size * classes).reshape(size, classes)


def _classes(
    table: Factored, keys: np.ndarray, size: int, judged: np.ndarray
) -> tuple[float, float, float, float]:
    """Error rates of the rule and of the constant, in training (leave one out) and in the test."""
    train = ~table.test
    counts = _table(keys[train], table.y[train], size, len(table.classes))
    overall = counts.sum(axis=0)
    constant = int(overall.argmax())
    test = _table(keys[judged], table.y[judged], size, len(table.classes))
    rows, tested = int(train.sum()), int(judged.sum())
    train_loss = 1 - _left_out(counts, constant) / rows
    train_base = 1 - float(overall[constant]) / rows
    if not tested:
        return train_loss, math.nan, train_base, math.nan
    hit = float(test[np.arange(size), counts.argmax(axis=1)].sum())
    return train_loss, 1 - hit / tested, train_base, 1 - float(test[:, constant].sum()) / tested


def _left_out(counts: Int[np.ndarray, "value class"], constant: int) -> float:
    """Training rows that the others of their value predict rightly; a tie is half."""
    alone = counts.sum(axis=1) == 1
    ordered = np.sort(counts, axis=1)
    first = ordered[:, -1]
    second = ordered[:, -2] if counts.shape[1] > 1 else np.zeros_like(first)
    # Without itself, a row of the leading label faces first − 1 against second.
    right = np.where(first - 1 > second, first, np.where(first - 1 == second, first / 2, 0.0))
    return float(right[~alone].sum() + counts[alone, constant].sum())


def _numbers(
    table: Factored, keys: np.ndarray, size: int, judged: np.ndarray
) -> tuple[float, float, float, float]:
    """Squared errors in units of the variance of each side's numbers, in the same order."""
    train, y = ~table.test, table.y
    mean = float(y[train].mean())
    count = np.bincount(keys[train], minlength=size)
    total = np.bincount(keys[train], weights=y[train], minlength=size)
    means = np.where(count > 0, total / np.maximum(count, 1), mean)
    n = count[keys[train]]
    # A row left out moves its group's mean by itself: its error grows by n / (n − 1).
    grown = (y[train] - means[keys[train]]) * n / np.maximum(n - 1, 1)
    apart = np.where(n > 1, grown, y[train] - mean)
    losses = []
    for side, error in ((train, apart), (judged, y[judged] - means[keys[judged]])):
        if not side.any():
            losses.append((math.nan, math.nan))
            continue
        spread = float(y[side].var()) or 1.0
        base = float(np.mean((y[side] - mean) ** 2))
        losses.append((float(np.mean(error**2)) / spread, base / spread))
    return losses[0][0], losses[1][0], losses[0][1], losses[1][1]
