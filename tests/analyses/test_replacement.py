"""Interventions: replacing a phrase is what it says, and agrees with decomposition where due."""

import numpy as np
import pytest
import torch
from torch import nn

from recombine.analyses.recurrent_network import Network, of_module
from recombine.analyses.replacement import credited, replacement_effects


def _network() -> tuple[Network, nn.LSTM, nn.Embedding, nn.Linear]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        embedding, lstm, last = nn.Embedding(9, 4), nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 9)
    return of_module(lstm, last, embedding), lstm, embedding, last


def test_an_effect_is_the_change_of_the_networks_own_centred_score() -> None:
    network, lstm, embedding, last = _network()
    text = torch.from_numpy(np.random.default_rng(1).integers(9, size=(3, 7)))
    phrases, at = np.array([[0, 1, 3], [2, 0, 1], [1, 5, 7]]), np.array([6, 4, 6])
    found = replacement_effects(
        network, text, phrases, at, 8, others=5, draws=2, rng=np.random.default_rng(3)
    )

    def score(words: torch.Tensor, place: int) -> float:
        with torch.no_grad():
            logits = last(lstm(embedding(words[None]))[0])[0, place]
        return float(logits[8] - logits.mean())

    rng = np.random.default_rng(3)
    expected = np.zeros(3)
    for _ in range(2):
        new = rng.integers(5, size=(3, 7))
        for i, (sequence, first, end) in enumerate(phrases):
            words = text[sequence].clone()
            before = score(words, at[i])
            words[first:end] = torch.from_numpy(new[i, first:end])
            expected[i] += (before - score(words, at[i])) / 2
    assert found == pytest.approx(expected, abs=1e-6)


def test_nothing_replaced_has_no_effect_and_no_credit() -> None:
    network, *_ = _network()
    text, phrases = torch.zeros(1, 5, dtype=torch.int64), np.array([[0, 2, 2]])
    at = np.array([4])
    effect = replacement_effects(
        network, text, phrases, at, 1, others=9, draws=3, rng=np.random.default_rng(0)
    )
    assert effect.tolist() == [0.0]
    assert credited(network, text, phrases, at, 1).tolist() == [0.0]


def test_where_the_last_word_alone_matters_both_agree() -> None:
    """A forget gate that is shut: the state holds the last word only."""
    network, lstm, _, _ = _network()
    lstm.weight_hh_l0.data.zero_()
    lstm.weight_ih_l0.data[6:12].zero_()
    lstm.bias_ih_l0.data[6:12] = -1e4
    text = torch.from_numpy(np.random.default_rng(1).integers(9, size=(40, 5)))
    at = np.full(40, 4)
    last = np.stack([np.arange(40), np.full(40, 4), np.full(40, 5)], 1)
    effects = replacement_effects(
        network, text, last, at, 3, others=9, draws=200, rng=np.random.default_rng(0)
    )
    given = credited(network, text, last, at, 3)
    assert np.corrcoef(effects, given)[0, 1] > 0.98
    earlier = last - np.array([0, 1, 1])
    assert np.abs(credited(network, text, earlier, at, 3)).max() < 1e-6
