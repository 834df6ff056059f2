"""Which words of this sentence carry the prediction? Any recurrent language model, any text.

    network = of_module(lstm, linear, embedding)
    credit = word_credits(network, numbers, predicted)
    figure = carriers_figure([(words, credit)], "was")

Each word is a phrase of its own; its credit is its part of the predicted word's score in the last
state, relative to the mean over words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from recombine.analyses.decomposition import whole_numbers
from recombine.analyses.decomposition_variant import Variant
from recombine.analyses.recurrent_network import Network
from recombine.analyses.replacement import credited
from recombine.errors import BadValue
from recombine.studies.figure import Axis, Bars, Figure, Heat, Panel


def word_credits(
    network: Network, text: Sequence[int], predicted: int, *, variant: Variant | None = None
) -> Float[np.ndarray, " word"]:
    """What each word of a text contributes to the score of the word predicted after it."""
    words = whole_numbers("text", text)
    if words.ndim != 1 or not len(words):
        raise BadValue("text", text, "the numbers of at least one word")
    n = len(words)
    phrases = [(0, i, i + 1) for i in range(n)]
    numbers = torch.from_numpy(words).unsqueeze(0 if network.batch_first else 1)
    return credited(network, numbers, phrases, np.full(n, n - 1), predicted, variant=variant)


def carriers_figure(
    sentences: Sequence[tuple[Sequence[str], Float[np.ndarray, " word"]]],
    predicted: str,
    *,
    name: str = "carriers",
    where: str = "",
) -> Figure:
    """A heat map over the words of sentences, and the first sentence word by word."""
    if not sentences:
        raise BadValue("sentences", sentences, "at least one pair of words and their credits")
    for i, (words, credit) in enumerate(sentences):
        if not len(words) == len(credit) > 0:
            given = f"{len(words)} words, {len(credit)} credits"
            raise BadValue(f"sentences[{i}]", given, "a credit for each word, one or more")
    longest = max(len(words) for words, _ in sentences)
    largest = max(float(np.abs(credit).max()) for _, credit in sentences) or 1.0
    # Aligned at the end, where the prediction is made.
    heat = np.full((len(sentences), longest), np.nan)
    for row, (words, credit) in enumerate(sentences):
        heat[row, longest - len(words) :] = credit
    words, credit = sentences[0][0], np.asarray(sentences[0][1])
    names = tuple(f"{i + 1} {word}" for i, word in enumerate(words))
    return Figure(
        id=name,
        title=f"Which words carry the prediction of {predicted}?",
        caption=f"Each word's part of the score of {predicted} in the state before it, by "
        "contextual decomposition, relative to the mean over words. Left: sentences one below the "
        "other, their ends aligned. Right: the first sentence, word by word.",
        where=where,
        panels=(
            Panel(
                Axis("words before the prediction"),
                Axis("sentence", ticks=tuple(range(1, len(sentences) + 1))),
                (Heat(heat, -largest, largest, "credit", counted_from=(1, -longest)),),
                title="heat map",
            ),
            Panel(
                Axis("word"), Axis(f"part of the score of {predicted}"),
                (Bars(names, credit, credit, credit),), title="the first sentence",
            ),
        ),
        columns=2,
    )  # fmt: skip
