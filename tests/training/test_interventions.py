"""Guidance: its loss and gradient against a plain version; who cannot be guided is told so."""

import pytest
import torch

from recombine.errors import UsageError
from recombine.models.mlp import MLP
from recombine.models.seq2seq import Seq2Seq
from recombine.models.stack import read_sites
from recombine.seeds import stream
from recombine.tasks.corners import Corners
from recombine.tasks.lookup import LookupTables
from recombine.tasks.task import IGNORE
from recombine.training import Adam, Guidance, Recipe, train
from recombine.training.feed import Feed
from recombine.training.lanes import Lanes

MODEL = Seq2Seq(hidden=16, output_embedding=16, start="last-word", bound=0.5)
TASK = LookupTables()


def recipe(weight: float, **more: object) -> Recipe:
    return Recipe(
        steps=10,
        batch=6,
        sampling="each-once",
        loss="sequence-cross-entropy",
        guidance=Guidance(weight),
        **more,  # type: ignore[arg-type]
    )


def test_the_loss_and_its_gradient_equal_a_plain_version() -> None:
    seeds = [3, 4]
    stack = MODEL.stack(seeds, TASK.input_shape, len(TASK.outputs), TASK.classes)
    lanes, feed = Lanes(stack, recipe(0.7)), Feed(TASK, recipe(0.7), seeds, "cpu")
    inputs, targets, wanted = feed.batch(0)
    assert (targets == IGNORE).any() and not (targets == IGNORE).all()
    parameters = list(stack.parameters())
    found = lanes.losses(inputs, targets, wanted)

    answers = stack(inputs).log_softmax(-1)
    looks = read_sites(stack, inputs, [f"decoder.{t}.attention" for t in range(3)])
    plain = []
    for lane in range(2):
        total = torch.zeros(())
        for row in range(6):
            for t in range(3):
                if targets[lane, row, t] != IGNORE:
                    total = total - answers[lane, row, t, targets[lane, row, t]]
                    total = total - 0.7 * looks[f"decoder.{t}.attention"][lane, row, t].log()
        plain.append(total / 6)
    torch.testing.assert_close(found, torch.stack(plain), rtol=1e-5, atol=1e-5)
    ours = torch.autograd.grad(found.sum(), parameters)
    theirs = torch.autograd.grad(torch.stack(plain).sum(), parameters)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)


def test_guidance_moves_attention_to_where_it_should_be() -> None:
    long = recipe(1.0, evaluate_at=(), evaluate_whole=True)
    long = Recipe(**{**long.__dict__, "steps": 150, "clip": 5.0, "optimizer": Adam(0.01)})
    stack = train(TASK, MODEL, long, seeds=[0])[0].stack
    examples = TASK.show(
        z := TASK.combinations("heldout_tables"), TASK.draw_noise(len(z), stream(0, "test"))
    )
    inputs = torch.from_numpy(examples.inputs).unsqueeze(0)
    seen = read_sites(stack, inputs, ["decoder.1.attention"])["decoder.1.attention"]
    assert float(seen[..., 1].detach().mean()) > 0.8


def test_a_seed_trains_the_same_alone_and_beside_others() -> None:
    short = recipe(1.0, evaluate_at=(), evaluate_whole=True, clip=5.0)
    together = train(TASK, MODEL, short, seeds=[5, 6, 7])[0].stack
    alone = train(TASK, MODEL, short, seeds=[6])[0].stack
    for a, b in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.equal(a[1], b[0])


def test_what_cannot_be_guided_is_told_so() -> None:
    with pytest.raises(UsageError, match="does not state where to look"):
        train(Corners(), MLP(), Recipe(steps=1, guidance=Guidance()), seeds=[0])
    deaf = Seq2Seq(attention="none")
    with pytest.raises(UsageError, match="no attention to guide"):
        train(TASK, deaf, recipe(1.0), seeds=[0])
    with pytest.raises(UsageError, match="0 or more"):
        Guidance(-1.0)
