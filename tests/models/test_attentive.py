"""The attentive network: against nn.LSTM, its packed form against the plain one, lanes apart."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models import attentive_packed as packed
from recombine.models.attentive import Attentive, encode
from recombine.models.attentive_kernel import Decode
from recombine.seeds import stream
from recombine.tasks.scan import Scan

SMALL = Attentive(encoder=4, decoder=8, embedding=5, output_embedding=3)
BRIDGED = Attentive(encoder=3, decoder=8, embedding=5, output_embedding=3)


def examples(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    shown = Scan(split="simple").sample("train", n, stream(0, "test"))
    return shown.inputs, shown.targets


def stack(model: Attentive, seeds: list[int]):  # type: ignore[no-untyped-def]
    task = Scan()
    return model.stack(seeds, task.input_shape, len(task.outputs), task.classes)


def torch_gates(weight: Tensor) -> Tensor:
    """Gates i, f, o, g in the columns as rows i, f, g, o, the way torch has them."""
    i, f, o, g = weight.chunk(4, dim=-1)
    return torch.cat([i, f, g, o], dim=-1).T.contiguous()


def test_the_encoder_is_a_bidirectional_lstm_over_packed_sentences() -> None:
    inputs = torch.from_numpy(examples()[0])
    w = stack(SMALL, [3]).lane(0)
    lstm = nn.LSTM(5, 4, bidirectional=True, batch_first=True)
    with torch.no_grad():
        for side, suffix in enumerate(("", "_reverse")):
            columns = slice(16 * side, 16 * (side + 1))
            for name, value in {
                f"weight_ih_l0{suffix}": torch_gates(w["encoder_input"][0][:, columns]),
                f"weight_hh_l0{suffix}": torch_gates(w["encoder_state"][0, side]),
                f"bias_ih_l0{suffix}": torch_gates(w["encoder_bias"][0, None, columns])[:, 0],
                f"bias_hh_l0{suffix}": torch.zeros(16),
            }.items():
                getattr(lstm, name).copy_(value)
        lengths = inputs.sum((1, 2)).long()
        sentences = nn.utils.rnn.pack_padded_sequence(
            inputs @ w["source"][0], lengths, batch_first=True, enforce_sorted=False
        )
        outputs, (h, c) = lstm(sentences)
        wanted, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=9)
        read = encode(w, inputs[None])
    seen = inputs.sum(-1) > 0
    assert torch.allclose(read.memory[0][seen], wanted[seen], atol=1e-6)
    assert torch.allclose(read.h[0], h.transpose(0, 1).flatten(1), atol=1e-6)
    assert torch.allclose(read.c[0], c.transpose(0, 1).flatten(1), atol=1e-6)


def plain_decoder(  # type: ignore[no-untyped-def]
    table, weight, keys, memory, hidden, mixer, h, c, previous, counts
) -> Tensor:
    """The decoder as one would write it with an LSTM cell of torch's, step by step."""
    d, start, rows, a = h.shape[1], 0, [], torch.zeros_like(h)
    cell = nn.LSTMCell(2 * d, d, bias=False).double()
    for n in counts:
        x = torch.cat([h[:n], a[:n]], dim=1) @ weight + table[previous[start : start + n]]
        i, f, o, g = x.chunk(4, dim=1)
        forced = torch.cat([i, f, g, o], dim=1)  # torch's order; its own weights are not used
        zero = torch.zeros_like(h[:n])
        state = torch.func.functional_call(
            cell,
            {"weight_ih": torch.eye(4 * d).double(), "weight_hh": torch.zeros(4 * d, d).double()},
            (forced, (zero, c[:n])),
        )
        h, c = state
        alpha = torch.softmax((keys[:n] * h[:, None]).sum(-1) + hidden[:n, :, 0], dim=1)
        context = (alpha[..., None] * memory[:n]).sum(1)
        a = torch.cat([h, context], dim=1) @ mixer
        rows.append(a)
        start += n
    return torch.cat(rows)


@pytest.mark.parametrize("counts", [(5, 5, 3, 1), (5,), (5, 5)])
def test_the_written_out_gradient_is_autograds(counts: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    n, length, d, m, kinds = 5, 4, 3, 6, 4
    hidden = torch.zeros(n, length, 1, dtype=torch.float64)
    hidden[2, -1] = -torch.inf
    leaves = [
        normal(kinds, 4 * d), normal(2 * d, 4 * d), normal(n, length, d), normal(n, length, m),
        normal(d + m, d), normal(n, d), normal(n, d),
    ]  # fmt: skip
    arguments = [*leaves[:4], hidden, *leaves[4:]]
    previous = torch.randint(kinds, (sum(counts),), generator=generator)
    ours = Decode.apply(*arguments, previous, counts)
    theirs = plain_decoder(*arguments, previous, counts)
    assert torch.allclose(ours, theirs)
    weights = torch.randn(ours.shape, generator=generator, dtype=torch.float64)
    for mine, other in zip(
        torch.autograd.grad((ours * weights).sum(), leaves),
        torch.autograd.grad((theirs * weights).sum(), leaves),
        strict=True,
    ):
        assert torch.allclose(mine, other, atol=1e-10)


@pytest.mark.parametrize("model", [SMALL, BRIDGED])
def test_packed_and_plain_agree_in_logits_loss_and_gradient(model: Attentive) -> None:
    inputs, targets = examples()
    lanes, batch = stack(model, [0, 1]), packed.pack(inputs, targets, start=7)
    raw = lanes.forced(torch.from_numpy(inputs)[None], torch.from_numpy(targets)[None])
    wanted = torch.from_numpy(targets)
    plain = nn.functional.cross_entropy(
        raw[1].flatten(0, 1), wanted.flatten(), ignore_index=-1, reduction="sum"
    ) / len(inputs)
    w = lanes.lane(1)
    ours = packed.loss(w, batch)
    assert torch.allclose(ours, plain, rtol=1e-5)
    gradients = torch.autograd.grad(ours, list(w.values()))
    for mine, other in zip(
        gradients, torch.autograd.grad(plain, list(lanes.parameters())), strict=True
    ):
        assert torch.allclose(mine[0], other[1], atol=2e-5)
    told = ((raw[1].argmax(-1) == wanted) | (wanted < 0)).all(1).long()
    assert torch.equal(packed.forced_right(w, batch), told[batch.order])


def test_free_running_answers_are_the_plain_ones() -> None:
    inputs, targets = examples()
    lanes, batch = stack(SMALL, [0, 1]), packed.pack(inputs, targets, start=7)
    with torch.no_grad():
        plain = lanes(torch.from_numpy(inputs)[None])[1].argmax(-1)
    for row, word in enumerate(plain):
        ends = (word == 6).nonzero()
        if len(ends):
            plain[row, int(ends[0]) :] = 6
    w = lanes.lane(1)
    assert torch.equal(packed.answers(w, torch.from_numpy(inputs), 49), plain)
    wanted = torch.from_numpy(targets)
    correct = ((plain == wanted) | (wanted < 0)).all(1).long()
    assert torch.equal(packed.right(packed.written(w, batch), batch), correct[batch.order])


def test_a_right_answer_is_counted_right_and_a_wrong_end_is_not() -> None:
    inputs, targets = examples()
    batch = packed.pack(inputs, targets, start=7)
    assert packed.right(batch.wanted, batch).all()
    wrong = batch.wanted.clone()
    wrong[-1] = 0  # the last row is the end of a longest answer
    assert packed.right(wrong, batch).sum() == len(inputs) - 1


def test_packing_keeps_every_word_once() -> None:
    inputs, targets = examples()
    batch = packed.pack(inputs, targets, start=7)
    assert sum(batch.counts) == (targets >= 0).sum() == len(batch.wanted)
    assert sorted(batch.counts, reverse=True) == list(batch.counts)
    assert (batch.previous[: batch.counts[0]] == 7).all()
    assert sorted(batch.order.tolist()) == list(range(len(inputs)))


def test_a_seed_has_the_same_bits_alone_and_in_a_stack() -> None:
    inputs = torch.from_numpy(examples(12)[0])[None]
    with torch.no_grad():
        together, alone = stack(SMALL, [0, 1, 2])(inputs), stack(SMALL, [1])(inputs)
    assert torch.equal(together[1], alone[0])


def test_an_input_that_is_no_sequence_is_refused() -> None:
    with pytest.raises(BadValue, match="a sequence of one-hot words"):
        SMALL.stack([0], (3,), 2, 2)
    with pytest.raises(BadValue, match="at least 1"):
        Attentive(encoder=0)
