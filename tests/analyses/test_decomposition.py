"""Contextual decomposition: equal to its definition, to the network, and to numbers on paper."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from recombine.analyses import decomposition
from recombine.analyses.decomposition import decompose, parts
from recombine.analyses.decomposition_plain import Parts, _split, decompose_plainly
from recombine.analyses.decomposition_variant import INTERACTIONS, Variant
from recombine.analyses.recurrent_network import Network, of_lane, of_module
from recombine.errors import BadValue, UsageError
from recombine.models.language_model import LanguageModel

VARIANTS = [
    Variant(),
    Variant(order="all"),
    Variant(bias_product="but-last"),
    Variant(bias_product="never", output_gate="decomposed"),
    Variant(interactions=("rel-rel", "rel-irrel", "irrel-b")),
    Variant(interactions=("irrel-irrel", "rel-b"), order="all", output_gate="decomposed"),
    Variant(interactions=INTERACTIONS, bias_product="but-last"),
]
LENGTH = 6
PHRASES = [
    (s, first, last)
    for s in range(3)
    for first in range(LENGTH + 1)
    for last in range(first, LENGTH + 1)
]
"""Every phrase of three sequences: empty ones, whole sequences, overlapping ones."""
EVERYWHERE = np.tile(np.arange(LENGTH), (len(PHRASES), 1))


def _network(
    module: type[nn.LSTM] | type[nn.GRU],
    layers: int = 1,
    *,
    batch_first: bool = True,
    bias: bool = True,
) -> tuple[Network, nn.LSTM | nn.GRU, nn.Embedding, nn.Linear]:
    with torch.random.fork_rng():
        torch.manual_seed(layers)
        own = module(4, 5, num_layers=layers, batch_first=batch_first, bias=bias).double()
        for parameter in own.parameters():
            parameter.data.mul_(3)  # far from linear
        embedding, last = nn.Embedding(7, 4).double(), nn.Linear(5, 8, bias=bias).double()
    return of_module(own, last, embedding), own, embedding, last


def _text(sequences: int = 3, length: int = LENGTH) -> torch.Tensor:
    return torch.randint(7, (sequences, length), generator=torch.Generator().manual_seed(1))


def _everything(
    network: Network, text: torch.Tensor, variant: Variant | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    relevant, whole = torch.zeros(2, len(PHRASES), LENGTH, network.hidden).double()
    for rows, r, h in parts(network, text, PHRASES, EVERYWHERE, variant=variant):
        relevant[rows], whole[rows] = r, h
    return relevant, whole


@pytest.mark.parametrize("module", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize(
    ("layers", "batch_first", "bias"), [(1, True, True), (2, False, True), (3, True, False)]
)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_it_is_its_definition_and_the_definition_sums_to_the_network(
    module: type[nn.LSTM] | type[nn.GRU],
    layers: int,
    batch_first: bool,
    bias: bool,
    variant: Variant,
) -> None:
    network, own, embedding, _ = _network(module, layers, batch_first=batch_first, bias=bias)
    text = _text()
    relevant, whole = _everything(network, text if batch_first else text.T, variant)
    with torch.no_grad():
        states = own(embedding(text if batch_first else text.T))[0]
    states = states if batch_first else states.transpose(0, 1)
    for i in range(0, len(PHRASES), 9):
        sequence, first, last = PHRASES[i]
        r, q = decompose_plainly(network, embedding(text[sequence]).detach(), first, last, variant)
        assert (r + q - states[sequence]).abs().max() < 1e-12
        assert (relevant[i] - r).abs().max() < 1e-12
        assert (whole[i] - states[sequence]).abs().max() < 1e-12


@pytest.mark.parametrize("module", [nn.LSTM, nn.GRU])
def test_pieces_of_any_size_give_the_same(
    module: type[nn.LSTM] | type[nn.GRU], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, *_ = _network(module, 2)
    relevant, whole = _everything(network, _text())
    for name, size in (("STRIDE", 7), ("TOGETHER", 20), ("SHARED_BYTES", 3000)):
        monkeypatch.setattr(decomposition, name, size)
        again, states = _everything(network, _text())
        torch.testing.assert_close(again, relevant, rtol=0, atol=1e-14)
        torch.testing.assert_close(states, whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize("module", [nn.LSTM, nn.GRU])
def test_scores_sum_to_the_logits(module: type[nn.LSTM] | type[nn.GRU]) -> None:
    network, own, embedding, last = _network(module, 2)
    text, at = _text(), EVERYWHERE[:, 2:]
    found = decompose(network, text, PHRASES, at)
    with torch.no_grad():
        logits = last(own(embedding(text))[0])
    wanted = logits[[s for s, *_ in PHRASES]][:, 2:]
    sums = found.relevant + found.rest + network.last_bias
    torch.testing.assert_close(sums, wanted, rtol=0, atol=1e-12)
    torch.testing.assert_close(found.probability, found.relevant.softmax(-1))
    two = decompose(network, text, PHRASES, at, words=[5, 0])
    torch.testing.assert_close(two.probability, found.probability[..., [5, 0]])
    torch.testing.assert_close(two.rest, found.rest[..., [5, 0]])


def test_an_lstm_on_paper() -> None:
    """One unit that counts: gates open, g = tanh of the input, bias none but the gates'."""
    lstm, last = nn.LSTM(1, 1, batch_first=True).double(), nn.Linear(1, 2).double()
    for parameter in (*lstm.parameters(), *last.parameters()):
        parameter.data.zero_()
    lstm.weight_ih_l0.data[2] = 1.0  # g reads the input
    lstm.bias_ih_l0.data[:] = torch.tensor([2.0, 1.0, 0.0, -1.0])  # i, f, g, o
    last.weight.data[:] = torch.tensor([[1.0], [-2.0]])
    x = torch.tensor([[[0.5], [-1.0], [0.25]]]).double()
    found = decompose(of_module(lstm, last), x, [(0, 0, 1), (0, 1, 2), (0, 0, 3)], [2, 2, 2])
    i, f, o = (1 / (1 + math.exp(-b)) for b in (2.0, 1.0, -1.0))
    # Gates stand still, so that c is a sum of terms: each word's share is its own term.
    shares = [i * math.tanh(0.5) * f * f, i * math.tanh(-1.0) * f, i * math.tanh(0.25)]
    c = sum(shares)
    expected = [
        o * (math.tanh(shares[k]) + math.tanh(c) - math.tanh(c - shares[k])) / 2 for k in (0, 1)
    ]
    expected.append(o * math.tanh(c))
    for phrase, h in enumerate(expected):
        assert found.relevant[phrase, 0].tolist() == pytest.approx([h, -2 * h], abs=1e-14)
        rest = expected[2] - h
        assert found.rest[phrase, 0].tolist() == pytest.approx([rest, -2 * rest], abs=1e-14)


def test_a_gru_on_paper() -> None:
    """With its gates standing still a GRU is a leaky sum of candidates."""
    gru, last = nn.GRU(1, 1, batch_first=True).double(), nn.Linear(1, 1).double()
    for parameter in (*gru.parameters(), *last.parameters()):
        parameter.data.zero_()
    gru.weight_ih_l0.data[2] = 1.0  # the candidate reads the input
    gru.bias_ih_l0.data[1] = 0.5  # the update gate
    last.weight.data.fill_(1.0)
    x = torch.tensor([[[0.5], [-1.0], [0.25]]]).double()
    found = decompose(of_module(gru, last), x, [(0, 1, 2), (0, 0, 2), (0, 0, 3)], [2, 2, 2])
    z = 1 / (1 + math.exp(-0.5))
    terms = [(1 - z) * math.tanh(v) * z**p for v, p in ((0.5, 2), (-1.0, 1), (0.25, 0))]
    expected = [terms[1], terms[0] + terms[1], sum(terms)]
    assert found.relevant[:, 0, 0].tolist() == pytest.approx(expected, abs=1e-14)


def test_the_whole_sequence_without_biases_has_everything_and_an_empty_phrase_nothing() -> None:
    network, *_ = _network(nn.LSTM, 2, bias=False)
    found = decompose(network, _text(), [(1, 0, LENGTH), (1, 3, 3)], [LENGTH - 1] * 2)
    assert found.rest[0].abs().max() < 1e-13
    assert found.relevant[0].abs().max() > 0.01
    assert not found.relevant[1].any()
    assert torch.allclose(found.probability[1], torch.tensor(1 / 8).double())


def test_before_its_phrase_begins_nothing_is_relevant() -> None:
    network, *_ = _network(nn.GRU)
    found = decompose(network, _text(), [(0, 3, 5)] * 2, [[0, 2], [3, 4]])
    assert not found.relevant[0].any()
    assert found.relevant[1].all()


def test_no_phrases_is_an_answer_too() -> None:
    network, *_ = _network(nn.LSTM)
    assert decompose(network, _text(), [], []).relevant.shape == (0, 1, 8)


@pytest.mark.parametrize(
    ("phrase", "at", "message"),
    [
        ((3, 0, 1), 0, "a sequence from 0 to 2"),
        ((-1, 0, 1), 0, "a sequence from 0 to 2"),
        ((0, 4, 7), 5, "0 ≤ first ≤ after ≤ 6"),
        ((0, 4, 3), 5, "0 ≤ first ≤ after ≤ 6"),
        ((0, -1, 3), 5, "0 ≤ first ≤ after ≤ 6"),
        ((0, 1, 3), 6, "places from 0 to 5"),
        ((0, 1, 3), -1, "places from 0 to 5"),
    ],
)
def test_what_is_out_of_range_is_named(phrase: tuple[int, int, int], at: int, message: str) -> None:
    network, *_ = _network(nn.LSTM)
    with pytest.raises(BadValue, match=message) as caught:
        decompose(network, _text(), [(0, 0, 1), phrase], [0, at])
    assert "1" in str(caught.value).split("=")[0]  # which one it is


def test_other_wrong_calls_are_refused() -> None:
    network, own, _, last = _network(nn.LSTM)
    with pytest.raises(BadValue, match="each of 1 phrases"):
        decompose(network, _text(), [(0, 0, 1)], [0, 1])
    with pytest.raises(BadValue, match="from 0 to 7"):
        decompose(network, _text(), [(0, 0, 1)], [0], words=[8])
    with pytest.raises(UsageError, match="no embedding"):
        decompose(of_module(own, last), _text(), [(0, 0, 1)], [0])
    with pytest.raises(UsageError, match="bidirectional"):
        of_module(nn.LSTM(4, 5, bidirectional=True), last)
    with pytest.raises(UsageError, match="reads 5 numbers, but the module's states have 6"):
        of_module(nn.LSTM(4, 6), last)
    with pytest.raises(BadValue, match="rel-irrel"):
        Variant(interactions=("rel-nothing",))
    with pytest.raises(BadValue, match="each once"):
        Variant(interactions=("rel-rel", "rel-rel"))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"sequences": [[1, 2]]}, "pass a torch.Tensor"),
        ({"sequences": torch.tensor([1, 2])}, "a table of sequences and words"),
        ({"sequences": torch.tensor([[True, False]])}, "a table of sequences and words"),
        ({"sequences": torch.ones(2, 3)}, "word numbers as whole numbers"),
        ({"sequences": torch.ones(2, 3, 9)}, r"or vectors, \[sequences, words, 4\]"),
        ({"sequences": torch.tensor([[1, -1, 2]])}, "= -1 is not legal.* from 0 to 6"),
        ({"sequences": torch.tensor([[1, 7, 2]])}, "= 7 is not legal.* from 0 to 6"),
        ({"phrases": [(0, 1.9, 4.9)]}, "phrases = .* whole numbers"),
        ({"phrases": [(0, 1), (0, 2), (0, 3)], "at": [1, 1]}, "triples"),
        ({"phrases": [0, 1, 2]}, "triples"),
        ({"phrases": [(0, 1, 2), (0, 1)]}, "as many in each row"),
        ({"phrases": ["abc"]}, "whole numbers"),
        ({"at": [2.5]}, "at = .* whole numbers"),
        ({"at": 3}, "one or more places for each of 1 phrases"),
        ({"at": [[]]}, "one or more places for each of 1 phrases"),
        ({"words": []}, "a list of numbers from 0 to 7"),
        ({"words": ["a"]}, "whole numbers"),
        ({"variant": "all"}, "a Variant"),
    ],
)
def test_what_cannot_be_meant_is_refused_not_bent(call: dict[str, Any], message: str) -> None:
    network, *_ = _network(nn.LSTM)
    good = {"sequences": _text(), "phrases": [(0, 1, 2)], "at": [3]}
    assert decompose(network, **good).relevant.shape[0] == 1
    with pytest.raises(UsageError, match=message):
        decompose(network, **{**good, **call})


@pytest.mark.usefixtures("unchecked")
def test_modules_that_do_not_fit_together_are_refused() -> None:
    lstm, last, table = nn.LSTM(4, 5), nn.Linear(5, 8), nn.Embedding(7, 4)
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((lstm, None), "the last layer is a NoneType"),
        ((lstm, table, last), "the last layer is a Embedding"),
        ((lstm, last, table.weight), "the embedding is a Parameter"),
        ((lstm, last, nn.Embedding(7, 3)), "gives 3 numbers, but the module reads 4"),
        ((lstm, last, nn.Embedding(7, 4, max_norm=1.0)), "without max_norm"),
        ((lstm, nn.Linear(5, 8).double(), table), "float32 and torch.float64"),
    ]
    for modules, message in wrong:
        with pytest.raises(UsageError, match=message):
            of_module(*modules)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_lane_of_our_own_model_is_read_as_torchs(cell: str) -> None:
    stack = LanguageModel(cell=cell, embedding=4, hidden=5, layers=2).of_words(range(3), 7)  # type: ignore[arg-type]
    found = decompose(of_lane(stack.double(), 1), _text(), PHRASES, EVERYWHERE)
    sums = found.relevant + found.rest + stack.last_bias[1]
    own = stack.logits(_text().T.expand(3, -1, -1))[1].transpose(0, 1)
    torch.testing.assert_close(sums, own[[s for s, *_ in PHRASES]].detach(), rtol=0, atol=1e-12)


def test_all_six_orders_by_hand() -> None:
    """Shapley's value of three players, each order written out."""
    r, q, b = torch.tensor([[0.3], [-1.2], [0.7]]).double()
    found = _split(torch.tanh, Parts(r, q, b), Variant(order="all"))
    t = torch.tanh
    by_hand = (2 * t(r) + (t(r + q) - t(q)) + (t(r + b) - t(b)) + 2 * (t(r + q + b) - t(q + b))) / 6
    torch.testing.assert_close(found.r, by_hand)
    torch.testing.assert_close(found.r + found.q + found.b, t(r + q + b))
