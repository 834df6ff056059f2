"""An audit in plain words and as JSON values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from recombine.auditing import judging
from recombine.auditing.judging import example

if TYPE_CHECKING:
    from recombine.auditing.audit import Audit

MOST_CLASHES = 100
"""Clashes written out; all are counted."""


def summary(audit: Audit) -> str:
    """What there is, then what can be learned: a line a thought."""
    table, leak = audit.table, audit.leakage
    sizes = " × ".join(str(size) for size in table.sizes)
    lines = [
        f"{table.name}: {leak.train_rows:,} training and {leak.test_rows:,} test rows of "
        f"{table.rows_read:,}; {len(table.factors)} "
        f"{'factor' if len(table.factors) == 1 else 'factors'} ({sizes} values) allow "
        f"{leak.possible:,} combinations. Training shows {leak.train_combinations:,}, the test "
        f"{leak.test_combinations:,}, of which {leak.held_out:,} "
        f"{'is' if leak.held_out == 1 else 'are'} held out."
    ]
    if leak.held_out:
        lines += [_coverage(audit), _additivity(audit)]
        lines += [text for text in (_lowest(audit), _forecast(audit)) if text]
    problems = sum(each.weight == "problem" for each in audit.findings)
    cautions = sum(each.weight == "caution" for each in audit.findings)
    if problems or cautions:
        lines.append(
            f"Found: {problems} {'problem' if problems == 1 else 'problems'} and "
            f"{cautions} {'caution' if cautions == 1 else 'cautions'}."
        )
    else:
        lines.append("Nothing stands out.")
    return "\n".join(lines)


def _coverage(audit: Audit) -> str:
    said = [f"{each.seen:.0%} of the {_ordinal(each.order)}" for each in audit.coverage.orders[:3]]
    listing = ", ".join(said[:-1]) + (" and " if len(said) > 1 else "") + said[-1]
    return f"Of what test rows show, training has seen {listing}."


def _ordinal(order: int) -> str:
    return {1: "single values", 2: "pairs", 3: "triples"}.get(order, f"sets of {order}")


def _additivity(audit: Audit) -> str:
    asked = audit.learnable
    decision = asked.decision
    if decision.answer == "impossible" and decision.unexplained:
        return (
            f"No kernel model, whatever its features, {judging.bound(decision.unexplained)} of the "
            "held-out labels."
        )
    if decision.answer == "impossible" and not audit.table.classes:
        return (
            "No kernel model, whatever its features, is exact on all held-out combinations; sums "
            f"of values leave {decision.unexplained_at_most:.2g} of the variance or less."
        )
    if decision.answer == "impossible":
        return "No kernel model, whatever its features, can be right on all held-out combinations."
    if decision.answer == "undecided":
        return (
            "Whether all kernel models must be wrong on a held-out combination was not decided: "
            "no clash was found in the part of the table that was searched."
        )
    if not decision.core:
        said = (
            "What all kernel models have in common rules out no held-out label, whatever it is: "
            "each combination has conjunctions of its own, so the labels put nothing to the test "
            "here."
        )
    else:
        said = (
            "What all kernel models have in common rules out no held-out label: the labels are a "
            "sum of values of the conjunctions that training shows. Nor does it promise any."
        )
    if audit.balance.untrained:
        said += " But no model answers with a class that training lacks."
    return said


def _lowest(audit: Audit) -> str:
    """The least order at which training fixes all held-out labels rightly."""
    held = audit.leakage.held_out
    for rule in audit.orders:
        if rule.fitted and rule.right == held:
            what = {1: "single factors", 2: "pairs"}.get(rule.order, f"sets of {rule.order}")
            return (
                f"Sums over {what} fit training, and every such fit is right on all held-out "
                "combinations: the split can be solved by composing."
            )
    wrong = next((rule for rule in audit.orders if rule.fitted and rule.wrong), None)
    if wrong is None:
        return ""
    what = {1: "single factors", 2: "pairs"}.get(wrong.order, f"sets of {wrong.order}")
    return (
        f"Sums over {what} fit training, and every such fit is wrong on {wrong.wrong:,} held-out "
        f"{'combination' if wrong.wrong == 1 else 'combinations'}."
    )


def _forecast(audit: Audit) -> str:
    if audit.prediction is None:
        return ""
    what = "accuracy" if audit.table.classes else "R²"
    said = []
    for fit, who in (("least squares", "kernel regression"), ("largest margin", "largest margins")):
        made = [p for p in audit.prediction.predicted if p.fit == fit and not math.isnan(p.right)]
        if made:
            low, high = (pick(p.right for p in made) for pick in (min, max))
            relu = next(p for p in made if p.code.depth == 1)
            span = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
            said.append(
                f"{who} {span} (wide ReLU network with one hidden layer: {relu.right:.2f}, "
                f"shrinkage {relu.shrinkage:.2f})"
            )
    if not said:
        return ""
    where = " (on a part of the grid)" if audit.prediction.sampled else ""
    return f"Predicted {what} on held-out combinations{where} over all codes: {'; '.join(said)}."


def sampled(audit: Audit) -> tuple[str, ...]:
    """What was worked out on a part of the table only."""
    said = []
    found, asked = audit.conjunctions, audit.learnable
    if not found.complete:
        said.append(
            f"Conjunctions were looked at up to order {found.order} of {found.factors - 1}: "
            f"{asked.set_aside:,} held-out combinations that may share more were left out of the "
            "question whether any kernel model can be right."
        )
    if asked.decision.sampled is not None:
        said.append(
            f"Clashes were searched among {asked.decision.sampled:,} of {asked.decision.core:,} "
            "held-out combinations that could clash, in random parts of the grid."
        )
    said += [
        f"Whether sums of conjunctions of up to {rule.order} can be right was asked of "
        f"{rule.sampled:,} combinations, in random parts of the grid."
        for rule in audit.orders
        if rule.sampled is not None
    ]
    if audit.prediction is not None and audit.prediction.sampled:
        said.append(
            f"Predictions are fitted on {audit.prediction.train:,} of "
            f"{audit.leakage.train_combinations:,} training combinations and made for "
            f"{audit.prediction.held:,} of {audit.leakage.held_out:,} held-out ones, those in a "
            "random part of the grid."
        )
    return tuple(said)


def plain(audit: Audit) -> dict[str, Any]:
    """The audit as plain JSON values."""
    table = audit.table
    names = table.factors
    made: dict[str, Any] = _clean(
        {
            "table": table.name,
            "summary": audit.summary,
            "findings": [each.plain() for each in audit.findings],
            "sampled": list(audit.sampled),
            "notes": list(table.notes),
            "rows": {
                "read": table.rows_read,
                "train": audit.leakage.train_rows,
                "test": audit.leakage.test_rows,
                "unused": table.unused,
                "missing": table.missing,
            },
            "label": {"column": table.label, "kind": table.kind, "classes": list(table.classes)},
            "split": {
                "column": table.split,
                "train": list(table.train_values),
                "test": list(table.test_values),
            },
            "factors": [each.__dict__ for each in audit.balance.factors],
            "labels": _labels(audit),
            "combinations": {
                key: value
                for key, value in audit.leakage.__dict__.items()
                if not key.endswith("_places")
            },
            "coverage": {
                "orders": [each.__dict__ for each in audit.coverage.orders],
                "highest": list(audit.coverage.highest),
                "new": [
                    {"factors": [names[f] for f in each.factors], "rows": each.rows}
                    for each in audit.coverage.newest
                ],
            },
            "shortcuts": [
                {**rule.__dict__, "factors": [names[f] for f in rule.factors]}
                for rule in audit.rules
            ],
            "additivity": _additive(audit),
            "orders": [each.__dict__ for each in audit.orders],
            "prediction": _predicted(audit),
        }
    )
    return made


def _labels(audit: Audit) -> dict[str, Any]:
    balance = audit.balance
    return {
        "classes": [
            dict(zip(("class", "train", "test"), each, strict=True)) for each in balance.labels
        ],
        "shift": balance.shift,
        "mean": list(balance.mean),
        "spread": list(balance.spread),
    }


def _additive(audit: Audit) -> dict[str, Any]:
    asked = audit.learnable
    decision = asked.decision
    return {
        "answer": decision.answer,
        "held_out": asked.held_out,
        "asked": decision.rows,
        "core": decision.core,
        "wrong_at_least": decision.wrong_at_least,
        "wrong_at_most": decision.wrong_at_most,
        "unexplained": decision.unexplained,
        "unexplained_at_most": decision.unexplained_at_most,
        "clashes": [
            [
                {**example(audit, asked.places[row]), "weight": weight}
                for row, weight in zip(witness.rows, witness.weights, strict=True)
            ]
            for witness in decision.witnesses[:MOST_CLASHES]
        ],
        "clashes_found": len(decision.witnesses),
    }


def _predicted(audit: Audit) -> dict[str, Any] | None:
    if audit.prediction is None:
        return None
    names = audit.table.factors
    return {
        "train": audit.prediction.train,
        "held_out": audit.prediction.held,
        "sampled": audit.prediction.sampled,
        "never_right": int(audit.prediction.never_right.sum()),
        "codes": [
            {
                "code": each.code.name,
                "depth": each.code.depth,
                "saliences": each.code.saliences.tolist(),
                "fit": each.fit,
                "fits_training": each.fitted,
                "right": each.right,
                "shrinkage": each.shrinkage,
                "follows_shortcut": each.follows,
            }
            for each in audit.prediction.predicted
        ],
        "contributions": [
            {"factors": [names[f] for f in part.factors], "towards_truth": part.towards}
            for part in audit.prediction.parts
        ],
    }


def _clean(value: Any) -> Any:
    """JSON has no undefined numbers: null."""
    if isinstance(value, dict):
        return {key: _clean(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
