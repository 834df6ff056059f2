"""Answers by combination, additivity, salience and alignment of networks that are known."""

import numpy as np
import pytest
import torch

from recombine.analyses.additivity import Additivity, rows
from recombine.analyses.alignment import Alignment, alignment
from recombine.analyses.salience import Salience
from recombine.errors import BadValue, UnknownName
from recombine.models.mlp import MLP
from recombine.tasks.addition import Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.corners import Corners
from recombine.tasks.pictures import Images
from recombine.tasks.relations import Equivalence
from recombine.theory.network_kernels import biased_input, network_salience

LINEAR = MLP(widths=(), init="kaiming", readout="linear")


def test_a_linear_network_answers_with_a_sum() -> None:
    task = Addition()
    stack = LINEAR.stack(range(3), task.input_shape, 1, task.classes)
    found = Additivity().measure(stack, task, LINEAR)
    assert found["additivity/test"] == pytest.approx(np.ones(3))
    z, train = rows(task)
    assert train.sum() == 17 and found["answers/mean"].shape == (3, 81)
    weight = stack.weights[0][1, :, 0].detach().numpy()  # type: ignore[union-attr, index]
    bias = stack.biases[0][1, 0].item()  # type: ignore[union-attr, index, operator]
    said = weight[z[:, 0]] + weight[9 + z[:, 1]] + bias
    assert found["answers/mean"][1] == pytest.approx(said, abs=1e-5)


def test_accuracy_and_error_are_of_the_nearest_number() -> None:
    task = Addition()
    stack = LINEAR.stack([0], task.input_shape, 1, task.classes)
    values = torch.from_numpy(np.concatenate([task.values, task.values * 0.98]).astype(np.float32))
    stack.weights[0].data = values[None, :, None]  # type: ignore[union-attr, index]
    stack.biases[0].data.zero_()  # type: ignore[union-attr, index, operator]
    found = Additivity().measure(stack, task, LINEAR)
    assert found["answers/accuracy"].min() == 1
    z, _ = rows(task)
    assert found["answers/error"][0] == pytest.approx((0.02 * task.values[z[:, 1]]) ** 2, abs=1e-6)


def test_two_classes_are_read_as_log_odds() -> None:
    model, task = MLP(), Corners()
    stack = model.stack(range(2), (2,), 1, 2)
    found = Additivity(examples=4).measure(stack, task, model)
    assert found["answers/mean"].shape == (2, 4)
    assert np.isnan(found["answers/error"]).all()


def test_images_are_averaged_by_combination() -> None:
    task = Addition(inputs=Images())
    model = MLP(widths=(8,), readout="linear")
    stack = model.stack([0], task.input_shape, 1, task.classes)
    found = Additivity(examples=20).measure(stack, task, model)
    assert found["answers/mean"].shape == (1, 81)


@pytest.mark.parametrize(("task", "factors"), [(Addition(), 2), (ContextDependence(), 3)])
def test_a_wide_layer_has_the_salience_of_theory(
    task: Addition | ContextDependence, factors: int
) -> None:
    model = MLP(widths=(20_000,), init="kaiming", readout="linear")
    stack = model.stack([0], task.input_shape, 1, task.classes)
    theory = network_salience(biased_input(factors, task.input_shape[0]))
    found = Salience().measure(stack, task, model)["salience"][0]
    assert found == pytest.approx(theory, abs=0.01)


def test_sites_are_named() -> None:
    model, task = MLP(), Corners()
    stack = model.stack([0], (2,), 1, 2)
    assert Salience("hidden.0", 3).measure(stack, task, model)["salience"].shape == (1, 2)
    with pytest.raises(UnknownName, match=r"perhaps you meant 'hidden\.0'"):
        Salience("hiden.0").measure(stack, task, model)
    with pytest.raises(BadValue):
        Additivity(examples=0)
    with pytest.raises(BadValue):
        Salience(repeats=0)


def test_units_that_treat_a_class_as_one_thing_are_aligned() -> None:
    rng = np.random.default_rng(0)
    owner = np.array([0, 0, 1, 1])
    like, readout = rng.standard_normal(200), rng.standard_normal(200)
    sign = np.where(owner == 0, 1.0, -1.0)[:, None]
    second = like * np.sign(readout)
    weights = np.concatenate([sign * np.abs(like), sign * np.abs(second) * np.sign(readout)])
    same, different, rule = alignment(weights, readout, owner)
    assert same == pytest.approx(1) and rule == 1
    assert different == pytest.approx(-1)
    random = alignment(rng.standard_normal((8, 5000)), rng.standard_normal(5000), owner)
    assert np.abs(random[:2]).max() < 0.05 and random[2] == pytest.approx(0.5, abs=0.05)


def test_there_is_nothing_to_align_in_other_networks() -> None:
    task = Equivalence()
    deep = MLP(widths=(8, 8), readout="linear")
    stack = deep.stack(range(2), task.input_shape, 1, 2)
    assert all(np.isnan(v).all() for v in Alignment().measure(stack, task, deep).values())
