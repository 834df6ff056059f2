"""Language models: equal to PyTorch's own modules and loss, and the same bits in any stack."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from recombine.errors import BadValue
from recombine.models import next_word
from recombine.models.language_model import LanguageModel, StackedLanguageModel
from recombine.models.recurrent import run_layer

MODULES = {"lstm": nn.LSTM, "gru": nn.GRU}


def _words(*shape: int, words: int = 11, seed: int = 0) -> torch.Tensor:
    return torch.randint(words, shape, generator=torch.Generator().manual_seed(seed))


def _module(stack: StackedLanguageModel, lane: int) -> nn.LSTM | nn.GRU:
    model = stack.blueprint
    made = MODULES[model.cell](model.embedding, model.hidden, model.layers).double()
    for i in range(model.layers):
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        for name, value in zip(names, stack.layer(i), strict=True):
            getattr(made, f"{name}_l{i}").data.copy_(value[lane])
    return made


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
def test_logits_are_those_of_torchs_modules(cell: str, layers: int) -> None:
    model = LanguageModel(cell=cell, embedding=5, hidden=7, layers=layers)  # type: ignore[arg-type]
    stack, text = model.of_words(range(3), 11).double(), _words(3, 6, 4)
    logits = stack.logits(text)
    for lane in range(3):
        rows = F.embedding(text[lane], stack.embedding[lane])
        own = _module(stack, lane)(rows)[0] @ stack.last_weight[lane].T + stack.last_bias[lane]
        torch.testing.assert_close(logits[lane], own, rtol=0, atol=1e-14)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("words", [11, next_word.LARGE + 5])
def test_loss_and_gradients_are_autograds(cell: str, words: int) -> None:
    model = LanguageModel(cell=cell, embedding=5, hidden=7, layers=2)  # type: ignore[arg-type]
    stack = model.of_words(range(3), words).double()
    text, following = _words(3, 6, 4, words=words), _words(3, 6, 4, words=words, seed=1)
    weights = torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)
    losses, _ = stack.next_word_losses(text, following, stack.start(4))
    ours = torch.autograd.grad((losses * weights).sum(), list(stack.parameters()))
    total, theirs = torch.zeros(()).double(), []
    for lane in range(3):
        module = _module(stack, lane)
        parts = [stack.embedding[lane], stack.last_weight[lane], stack.last_bias[lane]]
        table, last, bias = (part.detach().requires_grad_() for part in parts)
        logits = module(F.embedding(text[lane], table))[0] @ last.T + bias
        total = F.cross_entropy(logits.reshape(-1, words), following[lane].reshape(-1))
        torch.testing.assert_close(losses[lane], total, rtol=0, atol=1e-13)
        wanted = [table, *module.parameters(), last, bias]
        theirs.append(torch.autograd.grad(total * weights[lane], wanted))
    for name, mine, *others in zip(dict(stack.named_parameters()), ours, *theirs, strict=True):
        torch.testing.assert_close(mine, torch.stack(others), rtol=0, atol=1e-13, msg=name)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_gradients_flow_through_the_state_at_both_ends(cell: str) -> None:
    stack = LanguageModel(cell=cell, embedding=3, hidden=4).of_words([0], 5).double()  # type: ignore[arg-type]
    rows = torch.randn(1, 6, 2, 3, generator=torch.Generator().manual_seed(0)).double()
    state = [torch.rand_like(part).requires_grad_() for part in stack.start(2)[0]]
    whole, last = run_layer(cell, rows, stack.layer(0), tuple(state))  # type: ignore[arg-type]
    one, between = run_layer(cell, rows[:, :3], stack.layer(0), tuple(state))  # type: ignore[arg-type]
    two, end = run_layer(cell, rows[:, 3:], stack.layer(0), between)  # type: ignore[arg-type]
    torch.testing.assert_close(whole, torch.cat([one, two], 1))
    a = torch.autograd.grad(whole.square().sum() + last[0].sum(), [*state, *stack.layer(0)])
    b = torch.autograd.grad(
        one.square().sum() + two.square().sum() + end[0].sum(), [*state, *stack.layer(0)]
    )
    for x, y in zip(a, b, strict=True):
        torch.testing.assert_close(x, y)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize(
    ("hidden", "words", "batch", "time"),
    [(7, 9, 3, 5), (13, 17, 2, 6), (50, 53, 5, 7), (48, 52, 1, 9), (9, 261, 2, 5)],
)
def test_a_lane_has_the_same_bits_in_any_stack(
    cell: str, hidden: int, words: int, batch: int, time: int
) -> None:
    model = LanguageModel(cell=cell, embedding=hidden, hidden=hidden, layers=2)  # type: ignore[arg-type]
    text = _words(12, time, batch, words=words)

    def run(low: int, high: int) -> list[torch.Tensor]:
        stack, some = model.of_words(range(low, high), words), text[low:high]
        losses, state = stack.next_word_losses(some, some, stack.start(batch))
        losses, _ = stack.next_word_losses(some, some, state)
        return [losses, *torch.autograd.grad(losses.sum(), list(stack.parameters()))]

    every = run(0, 12)
    for low, high in ((0, 1), (7, 8), (2, 5), (1, 12)):
        for mine, all_of in zip(run(low, high), every, strict=True):
            assert torch.equal(mine, all_of[low:high])


def test_rows_and_words_are_read_alike() -> None:
    stack, text = LanguageModel(embedding=5, hidden=6).of_words(range(2), 11), _words(2, 6, 4)
    rows = F.one_hot(text, 11).float().transpose(1, 2)
    assert stack(rows).shape == (2, 4, 1, 11)
    torch.testing.assert_close(stack(rows)[:, :, 0], stack.logits(text)[:, -1])


def test_inputs_of_another_width_are_refused() -> None:
    stack = LanguageModel(embedding=5, hidden=6).stack([0], (4, 3), 1, 2)
    with pytest.raises(BadValue, match="rows of 3 numbers"):
        stack(torch.zeros(1, 2, 4, 5))
    with pytest.raises(BadValue, match="1 or more"):
        LanguageModel(hidden=0)
