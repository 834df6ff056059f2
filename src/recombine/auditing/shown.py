"""The tables of an audit, for a terminal and for a page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recombine.studies.table import Table, Value

if TYPE_CHECKING:
    from recombine.auditing.audit import Audit

MOST_RULES, MOST_CLASSES, MOST_PARTS = 12, 12, 12
WORDS = {"possible": "yes", "impossible": "no", "undecided": "not decided"}


def tables(audit: Audit) -> tuple[Table, ...]:
    """Everything that is a table."""
    made = [factors(audit), labels(audit), coverage(audit), shortcuts(audit)]
    if audit.orders and audit.leakage.held_out:
        made.append(orders(audit))
    if audit.prediction is not None:
        made += [prediction(audit), contributions(audit)]
    return tuple(table for table in made if table.rows)


def factors(audit: Audit) -> Table:
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (f.name, f.values, f.trained, _rounded(f.top), len(f.new), f.new_rows)
        for f in audit.balance.factors
    )
    columns = ("factor", "values", "in training", "most frequent", "new in test", "test rows")
    note = "Most frequent: share of training rows. New: values that training never shows."
    return Table("factors", "Factors", columns, rows, note=note)


def labels(audit: Audit) -> Table:
    balance = audit.balance
    columns = ("label", "training rows", "test rows")
    ordered = sorted(balance.labels, key=lambda each: -each[1])[:MOST_CLASSES]
    few = f" The {MOST_CLASSES} most frequent." if len(balance.labels) > MOST_CLASSES else ""
    return Table("labels", "Labels", columns, tuple(ordered), note=few.strip())


def coverage(audit: Audit) -> Table:
    columns = ("order", "conjunctions a row", "seen", "rows with all seen", "rows with none seen")
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (str(o.order), o.conjunctions, _rounded(o.seen), o.all_seen, o.none_seen)
        for o in audit.coverage.orders
    )
    note = "What test rows share with training: single values are of order 1, pairs of order 2."
    if audit.coverage.newest:
        names = audit.table.factors
        told = [
            f"{' × '.join(names[f] for f in new.factors)} ({new.rows:,} rows)"
            for new in audit.coverage.newest[:4]
        ]
        note += f" New together, though their parts are known: {', '.join(told)}."
    return Table("coverage", "Coverage by order", columns, rows, note=note)


def shortcuts(audit: Audit) -> Table:
    names = audit.table.factors
    what = "accuracy" if audit.table.classes else "R²"
    columns = ("rule", f"train {what}", "train gain", f"test {what}", "test gain", "not judged")
    chosen = [r for r in audit.rules if len(r.factors) == 1][:MOST_RULES]
    pairs = [r for r in audit.rules if len(r.factors) == 2]
    chosen += pairs[: max(MOST_RULES - len(chosen), 5)]
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (
            " × ".join(names[f] for f in rule.factors),
            _rounded(rule.train_right),
            _rounded(rule.train_gain),
            _rounded(rule.test_right),
            _rounded(rule.test_gain),
            rule.unseen,
        )
        for rule in chosen
    )
    note = (
        "The most frequent label (or mean) of each value in training as a rule by itself. Gain: "
        "share of the errors of a constant that the rule avoids; training leave-one-out. Not "
        "judged: test rows with values new to the rule."
    )
    return Table("shortcuts", "What a factor or a pair says alone", columns, rows, note=note)


def orders(audit: Audit) -> Table:
    columns = (
        "sums up to order", "can be right everywhere", "fit training", "fixed right",
        "fixed wrong", "not fixed",
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for rule in audit.orders:
        fit = "exactly" if rule.fitted else f"{max(rule.explained, 0):.0%} of variance"
        counts = (rule.right, rule.wrong, rule.free) if rule.fitted else (None, None, None)
        rows.append((str(rule.order), WORDS[rule.expressible], fit, *counts))
    answer = WORDS[audit.learnable.decision.answer]
    rows.append(("any kernel model", answer, "exactly", 0, 0, audit.leakage.held_out))
    note = (
        "Held-out combinations. Fixed: every sum of that order that fits training exactly gives "
        "the same answer, right or wrong; not fixed: it depends on the learner."
    )
    title = "What sums of conjunctions can say, and what training fixes"
    return Table("orders", title, columns, tuple(rows), note=note)


def prediction(audit: Audit) -> Table:
    assert audit.prediction is not None
    what = "right" if audit.table.classes else "R²"
    fits = tuple(dict.fromkeys(each.fit for each in audit.prediction.predicted))
    asked = [f"{fit}: {column}" for fit in fits for column in _columns(audit, what)]
    columns = ("code", "single factors", *asked)
    found: dict[tuple[str, float], list[Value]] = {}
    for each in sorted(audit.prediction.predicted, key=lambda p: p.code.depth is None):
        layers = each.code.depth
        name = each.code.road if layers is None else f"ReLU, depth {layers}"
        row = found.setdefault((name, each.code.additive), [name, round(each.code.additive, 3)])
        row += [_rounded(each.right), _rounded(each.shrinkage)]
        if "follows" in _columns(audit, what):
            row.append(_rounded(each.follows))
    note = (
        "On held-out combinations, from exact fits. Single factors: their share of the code. "
        "Shrinkage: mean score of the true class when training has 1, or slope on the true "
        "numbers. Follows: where the broken shortcut is wrong, how often the model says the same."
    )
    rows = tuple(tuple(row) for row in found.values())
    return Table("prediction", "Predicted for kernel models", columns, rows, note=note)


def _columns(audit: Audit, what: str) -> tuple[str, ...]:
    assert audit.prediction is not None
    followed = any(not math.isnan(each.follows) for each in audit.prediction.predicted)
    return (what, "shrinkage", "follows") if followed else (what, "shrinkage")


def _rounded(value: float) -> Value:
    """Three decimals; what is undefined stays so."""
    return round(value, 3) + 0.0 if math.isfinite(value) else value


def contributions(audit: Audit) -> Table:
    assert audit.prediction is not None
    names = audit.table.factors
    parts = sorted(audit.prediction.parts, key=lambda part: -abs(part.towards))[:MOST_PARTS]
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (" × ".join(names[f] for f in part.factors), part.order, _rounded(part.towards))
        for part in parts
        if abs(part.towards) > 1e-9
    )
    note = (
        "Wide ReLU network, one hidden layer, least squares, on held-out combinations: what each "
        "conjunction adds to the score in the direction of the truth. Negative ones mislead."
    )
    return Table(
        "contributions", "What carries the answer", ("conjunction", "order", "towards truth"),
        rows, note=note,
    )  # fmt: skip
