"""Fused training of one lane: the same updates as PyTorch's own, and the same bits after a stop."""

import numpy as np
import pytest
import torch
from torch import nn

from recombine.cell import Arrays, Context
from recombine.errors import Interrupted
from recombine.models.seq2seq import Seq2Seq
from recombine.tasks.lookup import LookupTables
from recombine.training import Adam, Guidance, Keep, Recipe, Trial
from recombine.training.feed import Feed
from recombine.training.flat import Flat, shrink
from recombine.training.lanes import Lanes

TASK = LookupTables()
MODEL = Seq2Seq(hidden=24, output_embedding=24, start="last-word", bound=0.3)
FUSED = Recipe(
    steps=30,
    batch=1,
    sampling="each-once",
    loss="sequence-cross-entropy",
    optimizer=Adam(1e-2, fused=True),
    clip=1.0,
    guidance=Guidance(),
    evaluate_at=tuple(range(0, 31, 6)),
    evaluate_whole=True,
    keep=(
        Keep("low", "loss/validation", "lower"),
        Keep("high", "accuracy/validation", "higher"),
    ),
    lanes="looped",
)
TRIAL = Trial(TASK, MODEL, FUSED, keep_weights=True)


def stack() -> nn.Module:
    return MODEL.stack([3], TASK.input_shape, len(TASK.outputs), TASK.classes)


def test_moves_equal_pytorchs_adam_and_clipping() -> None:
    ours, theirs = stack(), stack()
    lanes = Lanes(ours, FUSED)  # type: ignore[arg-type]
    optimizer = torch.optim.Adam(theirs.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    for step in range(10):
        size = 0.001 if step % 2 else 1.0  # below and above the largest norm
        for parameter in theirs.parameters():
            parameter.grad = size * torch.randn(parameter.shape, generator=generator)
        given = tuple(p.grad.clone() for p in theirs.parameters() if p.grad is not None)
        lanes.move(step, given)
        nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_parameters_stay_what_they_are_in_one_vector() -> None:
    module = stack()
    before = [p.detach().clone() for p in module.parameters()]
    flat = Flat(list(module.parameters()))
    for parameter, value in zip(module.parameters(), before, strict=True):
        assert torch.equal(parameter, value)
        assert parameter.data_ptr() % 64 == 0
    flat.values.fill_(7.0)
    assert all(bool((p == 7).all()) for p in module.parameters())


def test_gradients_land_in_the_vector() -> None:
    module = stack()
    lanes = Lanes(module, FUSED)  # type: ignore[arg-type]
    flat = lanes._flat
    assert flat is not None
    parameters = list(module.parameters())
    batch = Feed(TASK, FUSED, [3], "cpu").batch(5)
    vector = flat.gather(torch.autograd.grad(lanes.losses(*batch).sum(), parameters))
    twin = stack()
    plain = Lanes(twin, Recipe(**{**FUSED.__dict__, "optimizer": Adam()}))  # type: ignore[arg-type]
    wanted = torch.autograd.grad(plain.losses(*batch).sum(), list(twin.parameters()))
    for found, gradient in zip(flat.views(vector), wanted, strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-6)


def test_shrinking_takes_the_norm_of_everything() -> None:
    gradient = torch.tensor([[3.0, 4.0, 0.0]])
    shrink(gradient, 1.0)
    torch.testing.assert_close(gradient, torch.tensor([[0.6, 0.8, 0.0]]))
    shrink(gradient, 5.0)
    torch.testing.assert_close(gradient, torch.tensor([[0.6, 0.8, 0.0]]))


class Memory:
    """A checkpoint in memory."""

    def __init__(self) -> None:
        self.held: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.held

    def save(self, arrays: Arrays) -> None:
        self.held = {name: np.array(value) for name, value in arrays.items()}


@pytest.mark.parametrize("fused", [True, False])
def test_a_run_that_was_stopped_ends_with_the_same_bits(fused: bool) -> None:
    optimizer = Adam(1e-2, fused=fused)
    trial = Trial(TASK, MODEL, Recipe(**{**FUSED.__dict__, "optimizer": optimizer}), (), True)
    whole = trial.run([3], Context())[3]
    memory = Memory()

    def stop(done: int, total: int) -> None:
        if done == 14:
            raise Interrupted

    with pytest.raises(Interrupted):
        trial.run([3], Context(progress=stop, checkpoint=memory))
    assert memory.held is not None
    again = trial.run([3], Context(checkpoint=memory))[3]
    assert again.scalars == whole.scalars
    for name, values in {**whole.arrays, **whole.weights}.items():
        assert np.array_equal(values, {**again.arrays, **again.weights}[name]), name


def test_the_best_weights_are_those_of_the_first_best_evaluation() -> None:
    outcome = TRIAL.run([3], Context())[3]
    for label, curve, best in [
        ("low", "loss/validation", np.argmin),
        ("high", "accuracy/validation", np.argmax),
    ]:
        at = int(outcome.arrays[f"{curve}@steps"][best(outcome.arrays[curve])])
        assert outcome.scalars[f"kept_at/{label}"] == at
        short = Trial(TASK, MODEL, Recipe(**{**FUSED.__dict__, "steps": at}), (), True)
        there = short.run([3], Context())[3].weights
        for name, values in there.items():
            if ":" not in name:
                assert np.array_equal(outcome.weights[f"{label}:{name}"], values), name
