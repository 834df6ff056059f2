"""From what was measured to what stands out: each finding with its weight and what to do about it.

Thresholds stand here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from recombine.auditing.finding import ORDER, Finding, Weight

if TYPE_CHECKING:
    from recombine.auditing.audit import Audit

NEARLY_ONE_LABEL = 0.9
SHIFTED = 0.2
"""Half the sum of differences of shares; for numbers, a difference of means in spreads."""
LITTLE = 0.01
"""Share of the variance of numbers that may stay unexplained without being called unlearnable."""
MOSTLY_WRONG = 0.05
"""Share of held-out combinations no kernel gets right beyond which it is more than a note, if
nothing was sampled."""
MOST_ROWS = 12


def findings(audit: Audit) -> tuple[Finding, ...]:
    """What stands out, the gravest first."""
    found = [
        *_leaks(audit),
        *_contradictions(audit),
        *_unlearnable(audit),
        *_misled(audit),
        *_shortcuts(audit),
        *_unseen(audit),
        *_labels(audit),
        *_columns(audit),
    ]
    return tuple(sorted(found, key=lambda each: ORDER[each.weight]))


def example(audit: Audit, place: int, *, test: bool = True) -> dict[str, Any]:
    """A combination as a row of the table that shows it."""
    side = audit.combinations.test if test else audit.combinations.train
    table = audit.table
    return {
        "row": int(side.row[place]),
        "factors": table.shown(audit.combinations.z[place]),
        "label": table.said(side.y[place]),
    }


def _several(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _leaks(audit: Audit) -> Iterator[Finding]:
    leak = audit.leakage
    if not leak.leaked:
        return
    share = leak.leaked_rows / leak.test_rows
    everything = leak.leaked == leak.test_combinations
    text = (
        f"{_several(leak.leaked, 'tested combination')} of {leak.test_combinations:,} "
        f"({share:.1%} of the test rows) also {'occurs' if leak.leaked == 1 else 'occur'} in "
        f"training, {leak.leaked_same:,} with the same label"
        + (f" and {leak.leaked_other:,} with another." if leak.leaked_other else ".")
    )
    if everything:
        text += " No combination is held out: this test does not measure composition at all."
    advice = (
        "Hold out whole combinations: move these rows to one side, or report them apart from the "
        "held-out ones. If each row shows its combination anew (another picture, another "
        "sentence), the rows are an in-distribution test."
    )
    rows = tuple(example(audit, place) for place in leak.leaked_places[:MOST_ROWS])
    yield Finding("leak", "problem", text, advice, rows)


def _contradictions(audit: Audit) -> Iterator[Finding]:
    leak, numbers = audit.leakage, not audit.table.classes
    odd = leak.ambiguous_train + leak.ambiguous_test
    if not odd and not leak.leaked_other:
        return
    said = []
    if odd and numbers:
        said.append(
            f"equal combinations differ by {leak.noise:.3g} (root mean square about their mean, "
            "which is used below)"
        )
    elif odd:
        said.append(
            f"{leak.ambiguous_train:,} training and {leak.ambiguous_test:,} test rows have another "
            "label than most rows of their combination"
        )
    if leak.leaked_other:
        whose = "its" if leak.leaked_other == 1 else "their"
        changed = _several(leak.leaked_other, "combination")
        said.append(f"{changed} changed {whose} label from training to test")
    text = f"The label is not a function of the factors: {', and '.join(said)}."
    if leak.ambiguous_test and not numbers:
        best = leak.test_rows - leak.ambiguous_test
        text += (
            f" Nothing that sees the factors alone can be right on more than {best:,} of "
            f"{leak.test_rows:,} test rows ({best / leak.test_rows:.1%})."
        )
    advice = "Look for wrong labels, or for a factor that decides and is not listed."
    rows = tuple(
        example(audit, place, test=bool(audit.combinations.tested[place]))
        for place in leak.contradicting_places[:MOST_ROWS]
    )
    weight: Weight = "problem" if leak.leaked_other and not numbers else "caution"
    if numbers and odd:
        weight, advice = "note", "Noise, or a factor that is not listed."
    yield Finding("contradiction", weight, text, advice, rows)


def _unlearnable(audit: Audit) -> Iterator[Finding]:
    asked = audit.learnable
    decision = asked.decision
    if decision.answer != "impossible":
        return
    rows = tuple(
        {**example(audit, place), "clash": number}
        for number, witness in enumerate(asked.witnesses(), start=1)
        for place in witness
    )[: 4 * MOST_ROWS]
    weight: Weight = "problem"
    if audit.table.classes:
        text = (
            f"At least {decision.wrong_at_least:,} of the {asked.held_out:,} held-out combinations "
            "must come out wrong in any kernel model, whatever its features: their labels are no "
            "sum of values of the conjunctions that training shows. Of each clash below, one row "
            f"at least is wrong. (At most {decision.wrong_at_most:,} need be.)"
        )
    else:
        weight = "problem" if decision.unexplained > LITTLE else "note"
        text = (
            f"No kernel model, whatever its features, {bound(decision.unexplained)} of the "
            "label on the held-out combinations: it is not additive in the conjunctions that "
            "training shows."
        )
        if not decision.unexplained:
            weight = "caution" if decision.unexplained_at_most > LITTLE else "note"
            text = (
                "On the held-out combinations the label is not additive in the conjunctions that "
                "training shows, so no kernel model, whatever its features, is exact; by how much "
                "was not settled (some sum of their values leaves "
                f"{decision.unexplained_at_most:.2g} of the variance)."
            )
        if audit.leakage.noise:
            text += f" (Part of it may be noise, of about {audit.leakage.noise:.3g}.)"
    advice = (
        "Only a model that changes its features in training can get these rows right. To make "
        "them learnable, train on combinations that share more with them (coverage below says "
        "which pairs are new), or accept the rows as a test of what kernels cannot do."
    )
    alike = sum(len(witness.rows) == 2 for witness in decision.witnesses)
    if alike:
        text += (
            f" {'Each clash' if alike == len(decision.witnesses) else f'Of the clashes, {alike:,}'}"
            " is of two combinations that differ only in values that training never shows."
        )
        rest = advice if alike < len(decision.witnesses) else "Show each value in training."
        advice = f"No model can tell apart, but by luck, what training never shows. {rest}"
    yield Finding("unlearnable", weight, text, advice, rows)


def bound(unexplained: float) -> str:
    """The rest of a sentence on what can be explained, also where nearly all can be."""
    if unexplained < 1e-4:
        return f"can explain the last {unexplained:.2g} of the variance"
    return f"can explain more than {1 - unexplained:.2%} of the variance"


def _misled(audit: Audit) -> Iterator[Finding]:
    prediction = audit.prediction
    if prediction is None or not audit.table.classes:
        return
    never = prediction.never_right
    if not never.any():
        return
    share = float(never.mean())
    text = (
        f"{_several(int(never.sum()), 'held-out combination')} of {prediction.held:,} "
        f"({share:.1%}){' in a part of the grid' * prediction.sampled} "
        f"{'comes' if never.sum() == 1 else 'come'} out right in no kernel tried, from additive "
        "codes to lookup tables and for ReLU networks of 1 to 4 layers."
    )
    told = " (the contributions below say which conjunctions mislead)" * bool(prediction.parts)
    advice = (
        "What training shows points the other way there. A network that stays near its "
        "initialisation will fail on these rows; add training combinations that tell the rule "
        f"from the one it would follow{told}."
    )
    tied = int(prediction.never_decided.sum())
    if tied:
        which = "all" if tied == never.sum() else f"{tied:,}"
        text += f" On {which} of them no kernel decides: classes tie."
    if tied == never.sum():
        advice = (
            "Training says nothing there. Only a model that learns other features, or luck, gets "
            "these rows right; add training combinations that share more with them."
        )
    places = [p for p, lost in zip(prediction.places, never, strict=True) if lost]
    rows = tuple(example(audit, place) for place in places[:MOST_ROWS])
    # A part of the grid may point another way than the whole does.
    grave = share > MOSTLY_WRONG and not prediction.sampled
    yield Finding("misled", "caution" if grave else "note", text, advice, rows)


def _shortcuts(audit: Audit) -> Iterator[Finding]:
    names = audit.table.factors
    measure = "accuracy" if audit.table.classes else "R²"
    told: set[int] = set()
    for rule in sorted(audit.rules, key=lambda r: (len(r.factors), -r.train_gain, r.factors)):
        if not rule.breaks or told & set(rule.factors):
            continue  # a factor of it is told of already, by itself or in a stronger pair
        told |= set(rule.factors)
        who = " with ".join(f"'{names[f]}'" for f in rule.factors)
        new = f"; {rule.unseen:,} test rows show values new to it" if rule.unseen else ""
        text = (
            f"{who} alone predicts the label in training ({measure} {rule.train_right:.2f}, "
            f"gain {rule.train_gain:.2f}) and not in the test ({rule.test_right:.2f}, gain "
            f"{rule.test_gain:.2f}){new}: a model may learn it instead of the rule."
        )
        advice = (
            "Balance training so that it no longer predicts, or drop it; if the break is the "
            "point of the test, report accuracy where the shortcut is wrong apart."
        )
        yield Finding("shortcut", "problem", text, advice)
    for rule in (rule for rule in audit.rules if rule.suffices and len(rule.factors) == 1):
        text = (
            f"'{names[rule.factors[0]]}' alone gives the label in training and test: nothing "
            "needs to be composed, though other factors may distract."
        )
        advice = "As a test of composition, choose a label that depends on several factors."
        yield Finding("single-factor", "note", text, advice)


def _unseen(audit: Audit) -> Iterator[Finding]:
    for factor in audit.balance.factors:
        if factor.new_rows:
            listing = ", ".join(f"'{value}'" for value in factor.new[:5])
            text = (
                f"Factor '{factor.name}' has values in {_several(factor.new_rows, 'test row')} "
                f"that training never shows ({listing}{' …' if len(factor.new) > 5 else ''})."
            )
            advice = (
                "Nothing about such a value can be learned: show each value in training at least "
                "once, or leave these rows out of a test of composition."
            )
            yield Finding("unseen", "problem", text, advice)
    if audit.balance.untrained:
        listing = ", ".join(f"'{name}'" for name in audit.balance.untrained[:5])
        many = _several(len(audit.balance.untrained), "class", "classes")
        text = f"Training lacks {many} of the test: {listing}."
        yield Finding("unseen", "problem", text, "No model answers with a class it never met.")


def _labels(audit: Audit) -> Iterator[Finding]:
    balance = audit.balance
    if balance.top >= NEARLY_ONE_LABEL:
        name = max(balance.labels, key=lambda each: each[1])[0]
        text = f"{balance.top:.1%} of the training rows have the label '{name}'."
        advice = "Accuracy says little here: report the rarer classes by themselves, or balance."
        yield Finding("imbalance", "caution" if balance.top < 1 else "problem", text, advice)
    if balance.spread[0] == 0:
        text = f"All training rows have the label {balance.mean[0]:g}."
        yield Finding("imbalance", "problem", text, "There is nothing to learn from one number.")
    if balance.shift >= SHIFTED:
        if balance.labels:
            text = (
                f"Labels are spread differently over training and test: {balance.shift:.0%} of the "
                "test rows would have to change theirs to match."
            )
        else:
            text = (
                f"The mean label is {balance.mean[0]:.3g} in training and {balance.mean[1]:.3g} in "
                f"the test, {balance.shift:.1f} standard deviations apart."
            )
        advice = "A drop in accuracy may come from this alone; compare with a constant guess."
        yield Finding("shift", "caution", text, advice)


def _columns(audit: Audit) -> Iterator[Finding]:
    table = audit.table
    for factor in audit.balance.factors:
        if factor.constant:
            text = f"Factor '{factor.name}' has one value only and tells nothing apart."
            yield Finding("constant", "note", text, "Leave it out.")
        if factor.names_rows:
            text = f"Factor '{factor.name}' has {factor.values:,} values in {factor.rows:,} rows."
            advice = "It looks like a name or a measurement: leave it out, or sort it into bins."
            yield Finding("identifier", "caution", text, advice)
        if factor.lookalikes:
            pairs = "; ".join(f"'{a}' and '{b}'" for a, b in factor.lookalikes)
            text = f"Factor '{factor.name}' has values that differ only in case or blanks: {pairs}."
            yield Finding("lookalike", "caution", text, "Write them in one way.")
    if table.missing:
        by_column = ", ".join(f"'{name}' {count:,}" for name, count in table.missing.items())
        done = "a missing factor counts as a value" if table.kept_missing else "left out"
        text = f"Rows with a missing cell, by column: {by_column}; {done}."
        advice = "Fill them in, or use --missing keep to count a missing factor as a value."
        if table.kept_missing:
            advice = "Fill them in, or leave these rows out with --missing drop."
        yield Finding("missing", "caution", text, advice)
    repeated = audit.leakage.repeated_train + audit.leakage.repeated_test
    if repeated:
        text = (
            f"{audit.leakage.repeated_train:,} training and {audit.leakage.repeated_test:,} test "
            "rows repeat the combination and label of an earlier row."
        )
        advice = "Expected where each row shows its combination anew; else drop them."
        yield Finding("duplicates", "note", text, advice)
