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

from recombine.analyses.decomposition_variant import Variant
from recombine.analyses.recurrent_network import Network
from recombine.analyses.replacement import credited
from recombine.errors import BadValue
from recombine.studies.figure import Axis, Bars, Figure, Map, Panel


def word_credits(
    network: Network, text: Sequence[int], predicted: int, *, variant: Variant | None = None
) -> Float[np.ndarray, " word"]:
    """What each word of a text contributes to the score of the word predicted after it."""
    n = len(text)
    if n == 0:
        raise BadValue("text", list(text), "at least one word")
    phrases = [(0, i, i + 1) for i in range(n)]
    numbers = torch.as_tensor(list(text)).unsqueeze(0 if network.batch_first else 1)
    return credited(network, numbers, phrases, np.full(n, n - 1), predicted, variant=variant)


def carriers_figure(
    sentences: Sequence[tuple[Sequence[str], Float[np.ndarray, " word"]]],
    predicted: str,
    *,
    name: str = "carriers",
    where: str = "",
) -> Figure:
    """A heat map over the words of sentences, and the first sentence word by word."""
    longest = max(len(words) for words, _ in sentences)
    largest = max(float(np.abs(credit).max()) for _, credit in sentences) or 1.0
    # Aligned at the end, where the prediction is made; one half is no credit at all.
    heat = np.full((len(sentences), longest), 0.5)
    for row, (words, credit) in enumerate(sentences):
        heat[len(sentences) - 1 - row, longest - len(words) :] = 0.5 + credit / (2 * largest)
    words, credit = sentences[0]
    names = tuple(f"{i + 1} {word}" for i, word in enumerate(words))
    return Figure(
        id=name,
        title=f"Which words carry the prediction of {predicted}?",
        caption=f"Each word's part of the score of {predicted} in the state before it, by "
        "contextual decomposition, relative to the mean over words. Left: sentences one below the "
        f"other, their ends aligned; 0 is −{largest:.2g}, one half nothing, 1 is {largest:.2g}. "
        "Right: the first sentence, word by word.",
        where=where,
        panels=(
            Panel(
                Axis("words before the prediction"),
                Axis("sentence", ticks=tuple(range(1, len(sentences) + 1))),
                (Map(heat, (-longest - 0.5, -0.5, 0.5, len(sentences) + 0.5), "credit"),),
                title="heat map",
            ),
            Panel(
                Axis("word"), Axis(f"part of the score of {predicted}"),
                (Bars(names, credit, credit, credit),), title="the first sentence",
            ),
        ),
        columns=2,
    )  # fmt: skip
