"""Training of language models: as a plain PyTorch loop does it, in lanes, and after a kill."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from recombine.cell import Arrays, Context
from recombine.errors import BadValue, Interrupted
from recombine.models.language_model import LanguageModel
from recombine.training.language import Reader, Reading, read

MODEL = LanguageModel(embedding=6, hidden=8)
TEXT = np.random.default_rng(0).integers(9, size=(4, 203))


def _reader(recipe: Reading, seeds: range = range(4), model: LanguageModel = MODEL) -> Reader:
    return Reader(model.of_words(seeds, 9), recipe, seeds, recipe.columns(TEXT[list(seeds)]))


def _nothing(epoch: int) -> Mapping[str, np.ndarray]:
    return {}


def test_it_trains_as_a_plain_loop_does() -> None:
    recipe = Reading(epochs=2, batch=5, stretch=7, dropout=0.0, rate=2.0, clip=0.05)
    reader = _reader(recipe)
    stack = MODEL.of_words([2], 9)
    lstm, table = nn.LSTM(6, 8), stack.embedding[0].detach().clone().requires_grad_()
    for name, value in zip(
        ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), stack.layer(0), strict=True
    ):
        getattr(lstm, name).data.copy_(value[0])
    last, bias = (
        p[0].detach().clone().requires_grad_() for p in (stack.last_weight, stack.last_bias)
    )
    parameters = [table, *lstm.parameters(), last, bias]
    columns = torch.from_numpy(TEXT[2, :200].reshape(5, 40).T.copy())
    losses = []
    for _ in range(2):
        state, total = (torch.zeros(1, 5, 8), torch.zeros(1, 5, 8)), 0.0
        for begin in range(0, 39, 7):
            end = min(begin + 7, 39)
            out, state = lstm(F.embedding(columns[begin:end], table), state)
            state = (state[0].detach(), state[1].detach())
            loss = F.cross_entropy(
                (out @ last.T + bias).flatten(0, 1), columns[begin + 1 : end + 1].flatten()
            )
            gradients = torch.autograd.grad(loss, parameters)
            norm = torch.sqrt(sum(g.square().sum() for g in gradients))  # type: ignore[arg-type]
            assert norm > 0.05  # the clip has something to do
            for p, g in zip(parameters, gradients, strict=True):
                p.data.add_(g * (0.05 / norm), alpha=-2.0)
            total += loss.item() * (end - begin)
        losses.append(total / 39)
    curves = read(reader, _nothing, Context())
    np.testing.assert_allclose([v[2] for v in curves["loss"].values()], losses, rtol=1e-6)
    for ours, theirs in zip(reader.stack.parameters(), parameters, strict=True):
        torch.testing.assert_close(ours[2], theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_lane_does_not_depend_on_its_neighbours(cell: str) -> None:
    model = LanguageModel(cell=cell, embedding=6, hidden=8, layers=2)  # type: ignore[arg-type]
    recipe = Reading(epochs=2, batch=5, stretch=7, rate=3.0)
    together, alone = _reader(recipe, model=model), _reader(recipe, range(2, 3), model)
    many, one = read(together, _nothing, Context()), read(alone, _nothing, Context())
    assert many["loss"][2][2] == one["loss"][2][0]
    for a, b in zip(together.stack.parameters(), alone.stack.parameters(), strict=True):
        assert torch.equal(a[2], b[0])


class _Memory:
    """A checkpoint that keeps what it is given."""

    kept: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.kept

    def save(self, arrays: Arrays) -> None:
        self.kept = {name: np.array(value) for name, value in arrays.items()}


@pytest.mark.parametrize("stop_at", [3, 6, 7, 11])
def test_stopped_and_continued_it_ends_with_the_same_bits(stop_at: int) -> None:
    recipe = Reading(epochs=2, batch=5, stretch=7)
    measured = read(whole := _reader(recipe), _marks, Context())
    memory = _Memory()

    def stop(done: int, total: int) -> None:
        if done == stop_at:
            raise Interrupted

    with pytest.raises(Interrupted):
        read(_reader(recipe), _marks, Context(progress=stop, checkpoint=memory))
    again = _reader(recipe)
    curves = read(again, _marks, Context(checkpoint=memory))
    assert {n: list(c) for n, c in curves.items()} == {n: list(c) for n, c in measured.items()}
    for name, by_epoch in measured.items():
        for epoch, values in by_epoch.items():
            assert np.array_equal(curves[name][epoch], values)
    for a, b in zip(whole.stack.parameters(), again.stack.parameters(), strict=True):
        assert torch.equal(a, b)


def _marks(epoch: int) -> Mapping[str, np.ndarray]:
    return {"mark": np.full(4, epoch)}


def test_dropout_keeps_the_mean_and_changes_from_update_to_update() -> None:
    reader = _reader(Reading(dropout=0.3, batch=5))
    value = torch.ones(4, 50, 5, 40)
    first, second = reader._drop(0)(0, value), reader._drop(1)(0, value)
    assert first.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert abs(float(first.mean()) - 1) < 0.02
    assert not torch.equal(first, second)
    assert not torch.equal(first[0], first[1])
    assert torch.equal(first, reader._drop(0)(0, value))


@pytest.mark.parametrize(
    "fields", [{"epochs": -1}, {"batch": 0}, {"rate": 0.0}, {"clip": 0.0}, {"dropout": 1.0}]
)
def test_what_makes_no_sense_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(BadValue):
        Reading(**fields)  # type: ignore[arg-type]


def test_a_text_too_short_for_its_columns_is_refused() -> None:
    with pytest.raises(BadValue, match="at most half of the 203 tokens"):
        Reading(batch=150).columns(TEXT)
