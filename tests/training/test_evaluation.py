"""Evaluation counts what it says it counts, whatever the chunks."""

import numpy as np
import pytest
import torch

from recombine.errors import BadValue
from recombine.models.mlp import MLP
from recombine.seeds import stream
from recombine.tasks.corners import Corners
from recombine.training import Keep, Recipe, Stop, Trial, evaluation, train
from recombine.training.lanes import Lanes


def measures() -> dict[str, np.ndarray]:
    task, model, recipe = Corners(), MLP(init="pytorch"), Recipe(evaluation_examples=333)
    lanes = Lanes(model.stack(range(5), (2,), 1, 2), recipe)
    found = evaluation.Evaluation.of(task, model, recipe, "cpu").measure(lanes)
    return {name: values.numpy() for name, values in found.items()}


def test_accuracy_and_loss_are_those_of_the_evaluation_examples() -> None:
    task, model = Corners(), MLP(init="pytorch")
    examples = task.sample("corner", 333, stream(0, "evaluation", "corner"))
    raw = model.stack(range(5), (2,), 1, 2)(torch.from_numpy(examples.inputs)[None])
    right = (raw.argmax(-1).numpy() == examples.targets).all(-1).mean(1)
    np.testing.assert_allclose(measures()["accuracy/corner"], right)
    loss = -raw.log_softmax(-1)[..., 0, 1].mean(1)
    np.testing.assert_allclose(measures()["loss/corner"], loss.detach(), rtol=1e-5)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measures()
    monkeypatch.setattr(evaluation, "WIDEST", 5 * 7)
    for name, values in measures().items():
        np.testing.assert_allclose(values, whole[name], rtol=1e-6)


def test_what_is_measured_is_known_before() -> None:
    assert list(measures()) == evaluation.measured(Corners(), Recipe())


@pytest.mark.parametrize(
    ("recipe", "where"),
    [
        (Recipe(steps=1, keep=(Keep(measure="loss/validation"),)), "training/keep.measure"),
        (Recipe(steps=1, stop=Stop("acuracy/train", goal=1.0)), "training/stop.measure"),
    ],
)
def test_a_rule_by_what_is_not_measured_is_refused_before_training(
    recipe: Recipe, where: str
) -> None:
    task, model = Corners(), MLP()
    with pytest.raises(BadValue, match=f"{where}.*a split that the task has: accuracy/train, loss"):
        Trial(task, model, recipe).ready()
    with pytest.raises(BadValue, match=where):
        train(task, model, recipe, seeds=[0])
