"""The sizes of `spans`: what is trained at each scale."""

from __future__ import annotations

from dataclasses import replace

from recombine.models.language_model import LanguageModel
from recombine.studies.spans_cells import SpansRun
from recombine.tasks.spans import Spans
from recombine.training.language import Reading

PROFILES = ("as-printed", "as-run")
"""Which state is scored: the one before ω is read (the paper's definition), or the one after it
(the original code's indexing). Both are measured in every run, so a profile trains nothing anew."""

LENGTHS = {"quick": (2, 4, 8), "paper": (2, 4, 6, 8, 10)}
"""Conduits of Figure 1."""
EXAMPLES = {"quick": (125, 500, 2000), "paper": (100, 1000, 10_000, 50_000)}
"""How often the rule stands in the corpora of Figure 1."""

PAPER = SpansRun(Spans(), LanguageModel(), Reading(), keep_weights=True)
"""One thousand words, a million tokens, 200 units, learning rate 1, clip 0.25, dropout 0.2."""
QUICK = SpansRun(
    Spans(vocabulary=50, tokens=40_000, test_tokens=3500),
    LanguageModel(embedding=32, hidden=32),
    Reading(epochs=12, rate=5.0, clip=1.0),
    along=50,
    replaced=50,
)
ROOMY = replace(QUICK, task=replace(QUICK.task, vocabulary=200, tokens=80_000))
"""Figure 1 at quick scale. In the smaller corpus rules of eight symbols fill half of the text, and
networks come to predict ω from the conduit itself, which the published ones do not."""

SMALLEST = (
    "task.copies=0", "task.rules=20", "task.tokens=900", "task.test_tokens=175",
    "reading.epochs=1", "model.hidden=8", "replaced=3", "draws=1",
)  # fmt: skip
"""What makes every cell run in a blink: for checks."""


def setting(
    scale: str, *, conduit: int, rules: int, epochs: int, listed: int = 0, copies: int = 0,
    slow: bool = False, quick: SpansRun = QUICK,
) -> SpansRun:  # fmt: skip
    """The cell of a scale with this corpus and so many epochs.

    `slow` gives a quick cell the published learning rate and clipping: it then only begins to
    learn. Otherwise it learns five times as fast. `quick` is what a quick cell starts from.
    """
    base = PAPER if scale == "paper" else quick
    task = replace(base.task, conduit=conduit, rules=rules, listed=listed, copies=copies)
    reading = replace(base.reading, epochs=epochs)
    if slow:
        reading = replace(reading, rate=PAPER.reading.rate, clip=PAPER.reading.clip)
    return replace(base, task=task, reading=reading)
