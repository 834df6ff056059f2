"""The verdict of a diagnosis in plain words, each sentence with the evidence it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recombine.diagnosis.card import LEARNED, Card
from recombine.diagnosis.reading import Reading
from recombine.stats import Interval, Verdict
from recombine.studies import Finding
from recombine.studies.table import Table, Value

CLOSE = 0.1
"""Accuracies that agree."""


@dataclass(frozen=True)
class Advice:
    """What to do next, where a network has not learned its task or not enough is known."""

    fails: str
    open: str
    settles: str


OF_SEEDS = Advice(
    "Train it longer (--set recipe.steps=…) or otherwise.",
    "More seeds (--seeds) or longer training (--set recipe.steps=…) would tell.",
    "the table of seeds says how many would settle it.",
)
OF_ONE = Advice(
    "Are these the weights of this task, and are its inputs and classes in the order it learned?",
    "More examples (--set recipe.evaluation_examples=…) would tell.",
    "more examples (--set recipe.evaluation_examples=…) would settle it.",
)


@dataclass(frozen=True)
class Sentence:
    """One thing said, and the id of the claim or table that is its evidence."""

    text: str
    evidence: str


def verdict_in_words(finding: Finding) -> list[Sentence]:
    """What the card says of each model, the answer first."""
    card = finding.part
    assert isinstance(card, Card)
    verdicts = {claim.id: verdict for claim, verdict in finding.claims}
    reading = Reading(card.task)
    said: list[Sentence] = []
    shown = {table.id: table for table in finding.tables}
    for name in card.models:
        advice = OF_ONE if card.finished(name) else OF_SEEDS
        said += _of(name, verdicts, reading, card.task.name, advice)
        fails = [s for s in reading.held_out if _fails(verdicts, name, s)]
        said += [*_how(name, fails, shown), *_why(name, fails, shown)]
    for claim, verdict in verdicts.items():
        if claim.startswith("better-"):
            said.append(Sentence(_comparison(claim, verdict, *card.models), claim))
    return said + _split(shown)


def _of(
    name: str, verdicts: dict[str, Verdict], reading: Reading, task: str, advice: Advice
) -> list[Sentence]:
    learns = verdicts[f"learns-{name}"]
    if learns.outcome == "contradicted":
        text = (
            f"{name} has not learned {task}: it is right on {_percent(learns)} of what it was "
            f"trained on, so new combinations say nothing about composition. {advice.fails}"
        )
        return [Sentence(text, f"learns-{name}")]
    if not _learned(learns):
        text = (
            f"Whether {name} has learned {task} is open: it is right on {_percent(learns)} of what "
            f"it was trained on, so new combinations say little yet. {advice.open}"
        )
        return [Sentence(text, f"learns-{name}")]
    said = []
    for split in reading.held_out:
        claim = f"composes-{name}-{split}"
        gap = verdicts[claim]
        if gap.outcome == "reproduced":
            text = (
                f"{name} composes on {task} ({split}): new combinations cost it "
                f"{_points(gap)}, with {_percent(learns)} right on trained ones."
            )
        elif gap.outcome == "contradicted":
            text = (
                f"{name} does not compose on {task} ({split}): it is right on {_percent(learns)} "
                f"of trained combinations and loses {_points(gap)} on new ones."
            )
        else:
            text = (
                f"Whether {name} composes on {task} ({split}) is open: new combinations cost it "
                f"{_points(gap)}; {advice.settles}"
            )
        said.append(Sentence(text, claim))
    leans = verdicts.get(f"leans-{name}")
    if leans is not None and leans.outcome == "contradicted":
        said.append(
            Sentence(
                f"One reason: it leans on a factor that should not matter; moving that factor "
                f"flips {_percent(leans)} of its predictions.",
                f"leans-{name}",
            )
        )
    return said


def _fails(verdicts: dict[str, Verdict], name: str, split: str) -> bool:
    """Whether a model has learned what it was trained on, and yet fails on a split."""
    learned = _learned(verdicts[f"learns-{name}"])
    return learned and verdicts[f"composes-{name}-{split}"].outcome == "contradicted"


def _learned(learns: Verdict) -> bool:
    """Whether a model is right on what it was trained on, as far as its seeds tell."""
    sure = learns.outcome == "reproduced"
    return sure or (learns.outcome == "inconclusive" and learns.effect >= LEARNED)


def _how(name: str, fails: Sequence[str], shown: Mapping[str, Table]) -> list[Sentence]:
    """The most frequent kind of error on each split it fails on."""
    said = []
    for split in fails if "kinds" in shown else ():
        rows = [row for row in shown["kinds"].rows if row[:2] == (name, split)]
        most = max(rows, key=lambda row: _estimate(row[4]))
        if most[2] != "other":
            text = (
                f"How: of its wrong answers on {split}, {_estimate(most[4]):.0%} are of the kind "
                f"'{most[2]}' ({most[3]})."
            )
            said.append(Sentence(text, "kinds"))
    return said


def _why(name: str, fails: Sequence[str], shown: Mapping[str, Table]) -> list[Sentence]:
    """What the kernel theory says of each split it fails on."""
    said = []
    for split in fails if "theory" in shown else ():
        for row in shown["theory"].rows:
            network, before, after = row[2:]
            if row[:2] == (name, split) and isinstance(before, Interval):
                text = (
                    f"The kernel theory, given the untrained network alone, predicts "
                    f"{before.estimate:.0%} right on {split}; the network has "
                    f"{_estimate(network):.0%}. "
                )
                if _close(before, network):
                    text += "So the failure is there before training."
                elif (
                    isinstance(after, Interval)
                    and abs(after.estimate - _estimate(network)) <= CLOSE
                ):
                    text += "The trained layer predicts that: so training has made the failure."
                else:
                    text += "So this network is no kernel model."
                said.append(Sentence(text, "theory"))
    return said


def _split(shown: Mapping[str, Table]) -> list[Sentence]:
    """The gravest thing that the audit of the split found, if it is more than a note."""
    if "split-audit" not in shown:
        return []
    grave = [str(text) for weight, text, _ in shown["split-audit"].rows if weight != "note"]
    return [Sentence(f"About the split: {text}", "split-audit") for text in grave[:1]]


def _close(one: Value, other: Value) -> bool:
    return abs(_estimate(one) - _estimate(other)) <= CLOSE


def _estimate(value: Value) -> float:
    assert isinstance(value, Interval)
    return value.estimate


def _comparison(claim: str, verdict: Verdict, first: str, second: str) -> str:
    split = claim.removeprefix("better-")
    if verdict.outcome == "inconclusive":
        return f"On {split} the two cannot be told apart: a difference of {_points(verdict)}."
    better, worse = (first, second) if verdict.effect > 0 else (second, first)
    return f"On {split}, {better} is better than {worse} by {_points(verdict)}."


def _percent(verdict: Verdict) -> str:
    """A share with its interval; one seed has none."""
    low, high = verdict.interval.low, verdict.interval.high
    if math.isnan(low):
        return f"{verdict.effect:.0%} (one seed, no interval)"
    return f"{verdict.effect:.0%} [{max(low, 0):.0%}, {min(high, 1):.0%}]"


def _points(verdict: Verdict) -> str:
    """A difference in percentage points, with its interval as far as accuracies can differ."""
    effect, low, high = (
        100 * v for v in (verdict.effect, verdict.interval.low, verdict.interval.high)
    )
    if math.isnan(low):
        return f"{effect:.0f} points (one seed, no interval)"
    if effect < 0 and low < 0 and high < 0:
        effect, low, high = -effect, -high, -low
    return f"{effect:.0f} points [{max(low, -100):.0f}, {min(high, 100):.0f}]"
