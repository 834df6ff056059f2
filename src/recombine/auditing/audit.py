"""The audit of a table: read it, lay it together, ask every question, and say what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from recombine.auditing import judging, outcome, tested
from recombine.auditing.balance import Balance, balance
from recombine.auditing.combinations import Combinations, combine, numbers
from recombine.auditing.conjunctions import Conjunctions, conjunctions
from recombine.auditing.coverage import Coverage, coverage
from recombine.auditing.factored import Asked, Factored, Kind, factored
from recombine.auditing.finding import Finding
from recombine.auditing.leakage import Leakage, leakage
from recombine.auditing.learnable import Learnable, learnable
from recombine.auditing.orders import OrderRule, order_rule
from recombine.auditing.prediction import Prediction, predict
from recombine.auditing.shortcuts import Rule, rules, says
from recombine.errors import BadValue
from recombine.seeds import stream

ORDER = 3
"""The highest order of conjunctions about which the three questions of `orders.py` are put."""

Progress = Callable[[str], None]
"""Told the name of each step as it begins."""

STEPS = (
    "reading", "combinations", "conjunctions", "shortcuts", "orders", "additivity", "prediction"
)  # fmt: skip


@dataclass(frozen=True)
class Audit:
    """Everything an audit found out about a table."""

    table: Factored
    combinations: Combinations
    conjunctions: Conjunctions
    leakage: Leakage
    balance: Balance
    coverage: Coverage
    rules: tuple[Rule, ...]
    learnable: Learnable
    orders: tuple[OrderRule, ...]
    prediction: Prediction | None
    """None where nothing is held out, training has one label, or it was not asked for."""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What stands out, the gravest first."""
        return judging.findings(self)

    @cached_property
    def sampled(self) -> tuple[str, ...]:
        """What was worked out on a part of the table only; empty if nothing was."""
        return outcome.sampled(self)

    @cached_property
    def summary(self) -> str:
        """The audit in plain words."""
        return outcome.summary(self)

    def plain(self) -> dict[str, Any]:
        """The audit as plain JSON values."""
        return outcome.plain(self)

    def rows(self) -> pl.DataFrame:
        """Each tested combination: its label, what it shares with training, what clashes."""
        return tested.rows(self)

    def failures(self, kinds: Sequence[str]) -> tuple[Finding, ...]:
        """The findings of these kinds that are more than a note; `any` stands for every kind."""
        return tuple(
            each
            for each in self.findings
            if each.weight != "note" and ("any" in kinds or each.kind in kinds)
        )


def audit(
    table: Any,
    *,
    factors: Sequence[str] = (),
    label: str = "",
    split: str = "",
    train: Sequence[str] = (),
    test: Sequence[str] = (),
    labels: Kind | None = None,
    missing: Literal["drop", "keep"] = "drop",
    order: int = ORDER,
    predictions: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Audit:
    """Say what can be learned from a split, before anything is trained.

    `table` is a path to a CSV or Parquet file, a data frame, a mapping from names to columns, a
    task or a task's name. `factors`, `label` and `split` name columns; all columns but label and
    split are factors if none are named. `train` and `test` name values of the split column: rows
    that read *train*, and all others, if none are named. The seed matters only where a part of the
    table is drawn, which `Audit.sampled` then says.
    """
    _whole("order", order, "; 0: nothing about orders is asked")
    _whole("seed", seed)
    told = progress or (lambda _: None)
    told("reading")
    asked = Asked(
        _names(factors), str(label), str(split), _names(train), _names(test), labels, missing
    )
    read = factored(table, asked)
    classes = bool(read.classes)
    told("combinations")
    laid = combine(read)
    told("conjunctions")
    found = conjunctions(laid)
    covered = coverage(laid, found)
    told("shortcuts")
    ruled = rules(read)
    told("orders")
    most = min(order, found.order, len(read.factors) - 1)
    ordered = _orders(laid, found, most, classes=classes, seed=seed)
    told("additivity")
    known = bool(ordered) and ordered[-1].expressible == "possible"
    rng = stream(seed, "additivity")
    decided = learnable(laid, found, classes=classes, known=known, rng=rng)
    told("prediction")
    predicted = _predicted(read, laid, ruled, seed) if predictions else None
    return Audit(
        table=read,
        combinations=laid,
        conjunctions=found,
        leakage=leakage(laid, classes=classes),
        balance=balance(read),
        coverage=covered,
        rules=ruled,
        learnable=decided,
        orders=ordered,
        prediction=predicted,
    )


def _orders(
    laid: Combinations, found: Conjunctions, most: int, *, classes: bool, seed: int
) -> tuple[OrderRule, ...]:
    """What conjunctions of each order can express, from single factors up."""
    made: list[OrderRule] = []
    for k in range(1, most + 1):
        known = bool(made) and made[-1].expressible == "possible"
        rng = stream(seed, "order", k)
        made.append(order_rule(laid, found, k, classes=classes, known=known, rng=rng))
    return tuple(made)


def _whole(name: str, value: object, more: str = "") -> None:
    """Refuse what is no whole number from 0 up."""
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (number and int(value) >= 0):  # type: ignore[call-overload]
        raise BadValue(name, value, f"a whole number from 0 up{more}")


def _names(given: object) -> tuple[str, ...]:
    """One name is as good as a list of one, and None as none; values are compared as written."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        return (str(given),)
    return tuple(str(name) for name in given)


def _predicted(
    read: Factored, laid: Combinations, ruled: tuple[Rule, ...], seed: int
) -> Prediction | None:
    """Predict with the best broken rule at hand, to see how far a model would follow it."""
    broken = [rule for rule in ruled if rule.breaks]
    shortcut = None
    if broken and read.classes:
        best = max(broken, key=lambda rule: (rule.train_gain, -len(rule.factors)))
        shortcut = says(read, best.factors, numbers(laid.z, best.factors, laid.sizes))
    rng: np.random.Generator = stream(seed, "prediction")
    return predict(laid, shortcut, classes=bool(read.classes), rng=rng)
