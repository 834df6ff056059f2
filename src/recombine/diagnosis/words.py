"""The verdict of a diagnosis in plain words, each sentence with the claim it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from recombine.diagnosis.card import Card
from recombine.diagnosis.reading import Reading
from recombine.stats import Verdict
from recombine.studies import Finding


@dataclass(frozen=True)
class Sentence:
    """One thing said, and the claim that is its evidence."""

    text: str
    claim: str


def verdict_in_words(finding: Finding) -> list[Sentence]:
    """What the card says of each model, the answer first."""
    card = finding.part
    assert isinstance(card, Card)
    verdicts = {claim.id: verdict for claim, verdict in finding.claims}
    reading = Reading(card.task)
    said: list[Sentence] = []
    for name in card.models:
        said += _of(name, verdicts, reading, card.task.name)
    for claim, verdict in verdicts.items():
        if claim.startswith("better-"):
            said.append(Sentence(_comparison(claim, verdict, *card.models), claim))
    return said


def _of(name: str, verdicts: dict[str, Verdict], reading: Reading, task: str) -> list[Sentence]:
    learns = verdicts[f"learns-{name}"]
    if learns.outcome == "contradicted":
        text = (
            f"{name} has not learned {task}: it is right on {_percent(learns)} of what it was "
            "trained on, so new combinations say nothing about composition. Train it longer "
            "(--set recipe.steps=…) or otherwise."
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
                f"{_points(gap)}; the table of seeds says how many would settle it."
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


def _comparison(claim: str, verdict: Verdict, first: str, second: str) -> str:
    split = claim.removeprefix("better-")
    if verdict.outcome == "inconclusive":
        return f"On {split} the two cannot be told apart: a difference of {_points(verdict)}."
    better, worse = (first, second) if verdict.effect > 0 else (second, first)
    return f"On {split}, {better} is better than {worse} by {_points(verdict)}."


def _percent(verdict: Verdict) -> str:
    low, high = verdict.interval.low, verdict.interval.high
    return f"{verdict.effect:.0%} [{max(low, 0):.0%}, {min(high, 1):.0%}]"


def _points(verdict: Verdict) -> str:
    """A difference in percentage points, with its interval."""
    effect, low, high = (
        100 * v for v in (verdict.effect, verdict.interval.low, verdict.interval.high)
    )
    if verdict.effect < 0 and low < 0 and high < 0:
        effect, low, high = -effect, -high, -low
    return f"{effect:.0f} points [{low:.0f}, {high:.0f}]"
