"""What a phrase does by intervention: replace it by other words and see how the logit changes.

The identity of contextual decomposition (its parts sum to the whole) says nothing about whether
the parts mean anything. An intervention does: if a phrase is credited with much of a word's score,
the score should fall when other words stand in its place. Scores are taken relative to the mean
over words, since softmax knows no others.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from recombine.analyses.decomposition import Phrases, decompose
from recombine.analyses.decomposition_variant import Variant
from recombine.analyses.recurrent_network import Network
from recombine.errors import BadValue

AT_ONCE = 4096
"""Sequences that are run side by side."""


@torch.no_grad()
def replacement_effects(
    network: Network,
    text: Int[Tensor, "sequence time"],
    phrases: Phrases,
    at: Int[np.ndarray, " phrase"],
    word: int,
    *,
    others: int,
    draws: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, " phrase"]:
    """By how much a word's score at `at` falls, on average, when words below `others` stand in."""
    table = np.asarray(phrases)
    places = np.arange(text.shape[1])
    inside = (places >= table[:, 1:2]) & (places < table[:, 2:])
    own = text.numpy()[table[:, 0]]
    as_is = _scores(network, own, at, word)
    total = np.zeros(len(table))
    for _ in range(draws):
        replaced = np.where(inside, rng.integers(others, size=own.shape), own)
        total += as_is - _scores(network, replaced, at, word)
    return total / draws


def _scores(network: Network, text: np.ndarray, at: np.ndarray, word: int) -> np.ndarray:
    """The centred score of a word after the words `at`."""
    found = []
    for start in range(0, len(text), AT_ONCE):
        some, where = text[start : start + AT_ONCE], at[start : start + AT_ONCE]
        # The rest of an empty phrase is everything.
        nothing = np.column_stack([np.arange(len(some)), *np.zeros((2, len(some)), dtype=int)])
        whole = decompose(network, torch.from_numpy(some), nothing, where).rest[:, 0]
        logits = whole + network.last_bias
        found.append((logits[:, word] - logits.mean(1)).double().numpy())
    return np.concatenate(found)


@torch.no_grad()
def credited(
    network: Network,
    text: Int[Tensor, "sequence time"],
    phrases: Phrases,
    at: Int[np.ndarray, " phrase"],
    word: int,
    *,
    variant: Variant | None = None,
) -> Float[np.ndarray, " phrase"]:
    """The centred score of a word that decomposition credited each phrase with."""
    size = len(network.last_weight)
    if not isinstance(word, int | np.integer) or not 0 <= word < size:
        raise BadValue("word", word, f"a number from 0 to {size - 1}")
    relevant = decompose(network, text, phrases, at, variant=variant).relevant[:, 0]
    return np.asarray((relevant[:, word] - relevant.mean(1)).double().numpy())
