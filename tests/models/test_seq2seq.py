"""Sequence models: equal to a plain version, deaf to padding and neighbours, greedy alone."""

from collections.abc import Iterator
from typing import cast

import pytest
import torch
from torch import Tensor, nn

from recombine.models import seq2seq_kernel
from recombine.models.cells import as_torch
from recombine.models.seq2seq import Seq2Seq, StackedSeq2Seq
from recombine.models.stack import read_sites
from recombine.seeds import stream

WORDS, CLASSES, LENGTH, STEPS = 6, 5, 4, 3
AS_RUN = Seq2Seq(hidden=512, output_embedding=512, start="last-word")
SMALL = cast(tuple[Seq2Seq, ...], Seq2Seq.variants())


def sentences(lanes: int, batch: int, *, whole: bool = False) -> Tensor:
    rng = stream(0, "test")
    words = torch.eye(WORDS)[torch.from_numpy(rng.integers(WORDS, size=(lanes, batch, LENGTH)))]
    ends = torch.from_numpy(rng.integers(2, LENGTH + 1, size=(lanes, batch, 1)))
    return words if whole else words * (torch.arange(LENGTH) < ends).unsqueeze(-1)


def stacked(model: Seq2Seq, seeds: range | list[int]) -> StackedSeq2Seq:
    stack = model.stack(seeds, (LENGTH, WORDS), STEPS, CLASSES)
    assert isinstance(stack, StackedSeq2Seq)
    return stack


def plainly(stack: StackedSeq2Seq, sentence: Tensor) -> tuple[Tensor, Tensor]:
    """Logits and attention of lane 0 of the model as run, for one sentence, in plain PyTorch."""
    encoder, decoder = stack.encoder, stack.decoder
    read, write = as_torch(encoder.cells[0], 0), as_torch(decoder.cell, 0)  # type: ignore[arg-type]
    outputs, h = read((sentence @ encoder.embedding[0]).unsqueeze(0))
    a, f = decoder.attention, decoder.focus
    w_a = torch.cat([a.encoder[0], a.decoder[0]])  # type: ignore[union-attr, index]
    word, logits, looks = CLASSES - 1, [], []
    for _ in range(STEPS):
        query = h[0].expand(outputs.shape[1], -1)
        units = torch.relu(torch.cat([outputs[0], query], dim=1) @ w_a + a.bias[0])  # type: ignore[union-attr, index]
        weights = torch.softmax(units @ a.score[0] + a.score_bias[0], dim=0)  # type: ignore[union-attr, index]
        c, e = weights @ outputs[0], decoder.embedding[0, word]
        x = c * torch.relu(torch.cat([c, e]) @ f.weight[0] + f.bias[0])
        out, h = write(x.reshape(1, 1, -1), h)
        logits.append(out[0, 0] @ decoder.output[0] + decoder.output_bias[0])
        looks.append(weights)
        word = int(logits[-1].argmax())
    return torch.stack(logits), torch.stack(looks)


def test_the_model_as_run_equals_a_plain_version() -> None:
    model = Seq2Seq(embedding=4, hidden=8, output_embedding=8, start="last-word", bound=1.5)
    stack = stacked(model, [4])
    inputs = sentences(1, 9, whole=True)
    seen = read_sites(stack, inputs, [f"decoder.{t}.attention" for t in range(STEPS)])
    found = stack(inputs)
    assert len({tuple(row.tolist()) for row in found[0].argmax(-1)}) > 1, "all answers alike"
    for row in range(9):
        logits, looks = plainly(stack, inputs[0, row])
        torch.testing.assert_close(found[0, row], logits, rtol=1e-4, atol=1e-5)
        for t in range(STEPS):
            at = seen[f"decoder.{t}.attention"][0, row]
            torch.testing.assert_close(at, looks[t], rtol=1e-4, atol=1e-5)


def test_the_model_as_run_has_as_many_parameters_as_published() -> None:
    stack = AS_RUN.stack([0], (4, 19), 3, 11)
    assert isinstance(stack, StackedSeq2Seq)
    count = {
        name: sum(p.numel() for p in module.parameters())
        for name, module in [("encoder", stack.encoder), ("decoder", stack.decoder)]
    }
    assert count == {"encoder": 814_384, "decoder": 2_637_324}
    assert sum(p.numel() for p in stack.parameters()) == 3_451_708
    every = torch.cat([p.detach().flatten() for p in stack.parameters()])
    assert float(every.abs().max()) <= 0.08
    assert abs(float(every.std()) - 0.16 / 12**0.5) < 1e-4


@pytest.mark.parametrize("model", SMALL)
def test_padding_changes_nothing(model: Seq2Seq) -> None:
    stack = stacked(model, range(2))
    inputs = sentences(2, 7)
    found = stack(inputs)
    for lane, row in [(0, 1), (1, 4), (1, 6)]:
        length = int(inputs[lane, row].any(-1).sum())
        alone = stack(inputs[lane : lane + 1, row : row + 1, :length])[lane, 0]
        torch.testing.assert_close(alone, found[lane, row], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", SMALL)
@pytest.mark.parametrize("batch", [1, 7])
def test_outputs_and_gradients_do_not_depend_on_the_stack(model: Seq2Seq, batch: int) -> None:
    inputs = sentences(5, batch)
    weights = torch.randn(5, batch, STEPS, CLASSES, generator=torch.Generator().manual_seed(0))

    def gradients(seeds: range | list[int]) -> Iterator[Tensor]:
        stack = stacked(model, seeds)
        lanes = list(seeds)
        total = (stack(inputs[lanes]) * weights[lanes]).sum()
        yield stack(inputs[lanes])
        yield from torch.autograd.grad(total, list(stack.parameters()))

    together = list(gradients(range(5)))
    for lanes in ([2], [1, 4]):
        for alone, whole in zip(gradients(lanes), together, strict=True):
            assert torch.equal(alone, whole[lanes])


@pytest.mark.parametrize("model", SMALL)
def test_forced_with_its_own_answers_is_greedy(model: Seq2Seq) -> None:
    stack = stacked(model, range(3))
    inputs = sentences(3, 7)
    free = stack(inputs)
    own = free.argmax(-1)
    assert torch.equal(stack.forced(inputs, own), free)
    other = (own + 1) % CLASSES
    forced = stack.forced(inputs, other)
    assert torch.equal(forced[:, :, 0], free[:, :, 0])
    assert not torch.equal(forced[:, :, 1], free[:, :, 1])


def test_fewer_steps_are_the_beginning_of_more() -> None:
    stack, inputs = stacked(SMALL[0], range(2)), sentences(2, 3)
    assert torch.equal(stack.unroll(inputs, steps=2), stack(inputs)[:, :, :2])
    assert stack.unroll(inputs, steps=5).shape == (2, 3, 5, CLASSES)


def test_attention_is_nowhere_on_padding() -> None:
    stack, inputs = stacked(SMALL[0], range(2)), sentences(2, 7)
    absent = ~inputs.any(-1)
    for value in read_sites(stack, inputs, ["decoder.0.attention", "decoder.2.attention"]).values():
        assert not value[absent].any()
        torch.testing.assert_close(value.sum(-1), torch.ones(2, 7))


def test_a_decoder_of_another_size_starts_through_a_linear_layer() -> None:
    model = Seq2Seq(cell="lstm", hidden=5, both_directions=True, bridge="ends", decoder_hidden=7)
    bridges = stacked(model, [0]).decoder.bridges
    assert [tuple(cast(nn.Parameter, b.weight).shape) for b in bridges] == [(1, 20, 7)] * 2
    assert not stacked(SMALL[2], [0]).decoder.bridges


class _Looks:
    """Sees every site, or the attention alone, and keeps the attention."""

    def __init__(self, *, attention_only: bool) -> None:
        self.attention_only = attention_only
        self.seen: list[Tensor] = []

    def __call__(self, site: str, value: Tensor) -> Tensor:
        if site.startswith("decoder.") and site.endswith(".attention"):
            self.seen.append(value)
        return value


KERNEL = (
    SMALL[0],
    SMALL[1],
    Seq2Seq(cell="lstm", embedding=3, hidden=5, output_embedding=4),
    Seq2Seq(cell="lstm", embedding=3, hidden=5, output_embedding=4, combine="concatenate"),
)


@pytest.mark.parametrize("model", KERNEL)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize(("length", "whole"), [(LENGTH, False), (LENGTH, True), (1, True)])
@pytest.mark.parametrize("forced", [False, True])
def test_written_out_it_is_what_autograd_makes_of_the_modules(
    model: Seq2Seq, batch: int, length: int, whole: bool, forced: bool
) -> None:
    stack = stacked(model, range(3)).double()
    assert seq2seq_kernel.serves(stack.encoder, stack.decoder)
    inputs = sentences(3, batch, whole=whole)[:, :, :length].double().requires_grad_()
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(3, batch, STEPS, CLASSES, generator=generator).double()
    targets = torch.randint(CLASSES, (3, batch, STEPS), generator=generator) if forced else None
    found = []
    for attention_only in (True, False):
        tap = _Looks(attention_only=attention_only)
        logits = stack.unroll(inputs, tap, targets=targets)
        looks = torch.stack(tap.seen, dim=2)
        total = (logits * weights).sum() + (looks * weights[..., :1]).pow(2).sum()
        every = list(dict(stack.named_parameters()).values())
        # sources of a single word do not use the reader's recurrent weights
        gradients = torch.autograd.grad(total, [inputs, *every], materialize_grads=True)
        found.append([logits, looks, *gradients])
    for name, mine, theirs in zip(
        ["logits", "looks", "inputs", *dict(stack.named_parameters())], *found, strict=True
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-11, atol=1e-13, msg=name)
        assert mine.any() or length == 1, name  # one word leaves attention no choice


def test_written_out_frozen_weights_get_no_gradient() -> None:
    stack, inputs = stacked(KERNEL[0], range(2)), sentences(2, 3)
    stack.decoder.focus.weight.requires_grad_(False)
    stack.encoder.cells[0].hidden.requires_grad_(False)  # type: ignore[operator, union-attr]
    stack(inputs).square().sum().backward()  # type: ignore[no-untyped-call]
    without = {name for name, p in stack.named_parameters() if p.grad is None}
    assert without == {"decoder.focus.weight", "encoder.cells.0.hidden"}


def test_written_out_one_may_go_back_twice() -> None:
    stack, inputs = stacked(KERNEL[0], [0]), sentences(1, 3)
    total = stack(inputs).square().sum()
    once = torch.autograd.grad(total, list(stack.parameters()), retain_graph=True)
    again = torch.autograd.grad(total, list(stack.parameters()))
    total = stack(inputs).square().sum() + stack(inputs).square().sum()
    both = torch.autograd.grad(total, list(stack.parameters()))
    for a, b, c in zip(once, again, both, strict=True):
        assert torch.equal(a, b)
        torch.testing.assert_close(c, 2 * a)


def test_written_out_without_gradients_it_is_the_same() -> None:
    stack, inputs = stacked(KERNEL[0], range(2)), sentences(2, 3)
    with torch.no_grad():
        plain = stack(inputs)
    torch.testing.assert_close(plain, stack(inputs))
    assert not plain.requires_grad
