"""Training on packed batches: seeds apart, kills survived, answers kept as they were given."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from recombine.analyses.verb_dependence import VerbDependence
from recombine.cell import Arrays, Context, Outcome
from recombine.errors import BadValue, Interrupted
from recombine.models.attentive import Attentive
from recombine.seeds import stream
from recombine.tasks.corners import Corners
from recombine.tasks.scan import Scan
from recombine.training import Adam, Exponential, Probe, Recipe
from recombine.training.translation import Translation

RECIPE = Recipe(
    steps=6,
    batch=16,
    loss="sequence-cross-entropy",
    optimizer=Adam(rate=0.01),
    schedule=Exponential(stairs=True),
    clip=1.0,
    evaluate_at=(0, 3),
    evaluation_examples=30,
)
CELL = Translation(
    Scan(split="filler_num0"),
    Attentive(encoder=4, decoder=8, embedding=5, output_embedding=3),
    RECIPE,
    (Probe(VerbDependence(examples=5), (3,)),),
    keep_weights=True,
    forced=True,
)


def same(a: Outcome, b: Outcome) -> bool:
    pairs = [(a.arrays, b.arrays), (a.weights, b.weights)]
    return a.scalars == b.scalars and all(
        x.keys() == y.keys() and all(np.array_equal(x[k], y[k]) for k in x) for x, y in pairs
    )


def test_a_seed_ends_with_the_same_bits_alone_and_beside_others() -> None:
    together = CELL.run([0, 1], Context())
    assert same(together[1], CELL.run([1], Context())[1])
    assert not same(together[0], together[1])


class Memory:
    """A checkpoint in memory."""

    def __init__(self) -> None:
        self.held: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.held

    def save(self, arrays: Arrays) -> None:
        self.held = {name: np.array(value) for name, value in arrays.items()}


def test_a_killed_run_continues_to_the_same_bits() -> None:
    memory = Memory()

    def stop(done: int, total: int) -> None:
        if done == 4:
            raise Interrupted("enough")

    with pytest.raises(Interrupted):
        CELL.run([0], Context(progress=stop, checkpoint=memory))
    assert memory.held is not None and int(memory.held["step"]) == 4
    continued = CELL.run([0], Context(checkpoint=memory))
    assert same(continued[0], CELL.run([0], Context())[0])


def test_what_is_measured_is_what_the_plain_network_says() -> None:
    outcome = CELL.run([2], Context())[2]
    task = CELL.task
    lanes = CELL.model.stack([2], task.input_shape, len(task.outputs), task.classes)
    for name, value in lanes.named_parameters():
        value.data.copy_(torch.from_numpy(outcome.weights[name])[None])
    shown = task.sample("test", 30, stream(0, "evaluation", "test"))
    wanted = torch.from_numpy(shown.targets)
    with torch.no_grad():
        free = lanes(torch.from_numpy(shown.inputs)[None])[0].argmax(-1)
        told = lanes.forced(torch.from_numpy(shown.inputs)[None], wanted[None])[0].argmax(-1)
    for name, guess in {"accuracy": free, "forced": told}.items():
        share = ((guess == wanted) | (wanted < 0)).all(1).double().mean()
        assert outcome.scalars[f"{name}/test"] == float(share)
    assert outcome.arrays["answers/test"].shape == (1173, 49)
    rights = outcome.arrays["right/test"]
    correct = ((free == wanted) | (wanted < 0)).all(1).numpy()
    assert rights.shape == (3, 30) and np.array_equal(rights[-1], correct)
    assert outcome.arrays["verb-dependence"].shape == (1, 2, 3, 2)
    assert outcome.arrays["accuracy/train@steps"].tolist() == [0, 3, 6]


def test_training_lowers_the_loss() -> None:
    cell = replace(CELL, recipe=replace(RECIPE, steps=40, batch=64, evaluate_at=()))
    loss = cell.run([0], Context())[0].arrays["loss/batch"]
    assert loss[-5:].mean() < 0.8 * loss[:3].mean()


def test_told_or_not_a_sentence_is_right_or_wrong() -> None:
    """Teacher forcing cannot change whether a whole sentence is right, at any step of training."""
    cell = replace(
        CELL,
        task=Scan(),
        model=Attentive(encoder=16, decoder=32),
        recipe=replace(RECIPE, steps=60, batch=64, evaluate_at=(20, 40)),
    )
    arrays = cell.run([0], Context())[0].arrays
    assert arrays["accuracy/train"].max() > 0
    assert np.array_equal(arrays["accuracy/train"], arrays["forced/train"])


def test_what_cannot_be_trained_so_is_refused() -> None:
    with pytest.raises(BadValue, match="a SequenceTask"):
        replace(CELL, task=Corners())
    with pytest.raises(BadValue, match="sequence-cross-entropy, and no early stopping"):
        replace(CELL, recipe=replace(RECIPE, loss="squared-sign"))
    with pytest.raises(BadValue, match="fresh"):
        replace(CELL, recipe=replace(RECIPE, sampling="in-order", examples=100))
