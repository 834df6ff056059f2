"""How labels and factor values are spread over training and test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recombine.auditing.factored import Factored

MANY = 20
"""Values up to which a factor is never taken for a name of rows."""


@dataclass(frozen=True)
class FactorBalance:
    """One factor: how many values, and which training lacks."""

    name: str
    values: int
    rows: int
    """Rows of training and test."""
    trained: int
    """Values that occur in training."""
    top: float
    """Share of training rows with the most frequent value."""
    new: tuple[str, ...]
    """Values in the test that training never shows (the first twelve)."""
    new_rows: int
    """Test rows with such a value."""
    lookalikes: tuple[tuple[str, str], ...]
    """Values that differ only in case or blanks."""

    @property
    def constant(self) -> bool:
        return self.values == 1

    @property
    def names_rows(self) -> bool:
        """Whether there is a value for every row, or for every other."""
        return self.values > MANY and self.values > self.rows / 2


@dataclass(frozen=True)
class Balance:
    """Labels and factors."""

    labels: tuple[tuple[str, int, int], ...]
    """Of classes: name, training rows, test rows; of numbers none."""
    shift: float
    """Half the sum of differences of shares (total variation); of numbers, difference of means in
    units of the training spread."""
    top: float
    """Share of training rows with the most frequent class."""
    rarest: float
    """Training rows of the rarest class for each of the most frequent; 0 if one is absent."""
    untrained: tuple[str, ...]
    """Classes in the test that training lacks."""
    mean: tuple[float, float]
    spread: tuple[float, float]
    """Of numbers: mean and standard deviation in training and test; else NaN."""
    factors: tuple[FactorBalance, ...]


def balance(table: Factored) -> Balance:
    """Count labels and values on both sides."""
    factors = tuple(_factor(table, place) for place in range(len(table.factors)))
    nothing = (float("nan"), float("nan"))
    if not table.classes:
        sides = table.y[~table.test], table.y[table.test]
        mean = float(sides[0].mean()), float(sides[1].mean())
        spread = float(sides[0].std()), float(sides[1].std())
        apart = abs(mean[1] - mean[0])
        shift = apart / spread[0] if spread[0] > 0 else float(apart > 0)
        return Balance((), shift, 0.0, 1.0, (), mean, spread, factors)
    train = np.bincount(table.y[~table.test], minlength=len(table.classes))
    test = np.bincount(table.y[table.test], minlength=len(table.classes))
    shift = float(np.abs(train / train.sum() - test / test.sum()).sum() / 2)
    names = zip(table.classes, train.tolist(), test.tolist(), strict=True)
    return Balance(
        tuple(names),
        shift,
        top=float(train.max() / train.sum()),
        rarest=float(train.min() / train.max()),
        untrained=tuple(c for c, n in zip(table.classes, train, strict=True) if not n),
        mean=nothing,
        spread=nothing,
        factors=factors,
    )


def _factor(table: Factored, place: int) -> FactorBalance:
    codes, values = table.codes[:, place], table.values[place]
    train = np.bincount(codes[~table.test], minlength=len(values))
    test = np.bincount(codes[table.test], minlength=len(values))
    new = np.flatnonzero((train == 0) & (test > 0))
    return FactorBalance(
        name=table.factors[place],
        values=len(values),
        rows=len(codes),
        trained=int((train > 0).sum()),
        top=float(train.max() / train.sum()),
        new=tuple(values[v] for v in new[:12]),
        new_rows=int(test[new].sum()),
        lookalikes=_lookalikes(values),
    )


def _lookalikes(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    first: dict[str, str] = {}
    found = []
    for value in values:
        plain = " ".join(value.casefold().split())
        if plain in first:
            found.append((first[plain], value))
        first.setdefault(plain, value)
    return tuple(found[:5])
