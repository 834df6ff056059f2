"""Tasks on items: sizes of the splits as published, answers, even draws, and the shifted images."""

import numpy as np
import pytest

from recombine.errors import BadValue
from recombine.seeds import stream
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.exposure import Invariance, PartialExposure
from recombine.tasks.items import ItemTask
from recombine.tasks.pictures import Images, load, permutation
from recombine.tasks.relations import Equivalence, Ordering
from recombine.theory import shortcut
from recombine.theory.additivity import is_additive

SPLITS: list[tuple[ItemTask, int, int]] = [
    (Addition(trained_items=SETS["extrapolation"]), 17, 64),
    (Addition(trained_items=SETS["asymmetric"]), 17, 64),
    (Addition(trained_items=SETS["interpolation"]), 32, 49),
    (Addition(trained_items=SETS["both"]), 32, 49),
    (Addition(dispersed=3), 18, 63),
    (ContextDependence(left_out=3), 54, 18),
    (ContextDependence(left_out=2), 64, 8),
    (ContextDependence(left_out=1), 70, 2),
    (Equivalence(), 12, 4),
    (Equivalence(classes_of=(5, 5), linking=(1, 1)), 36, 64),
    (Equivalence(classes_of=(5, 5), linking=(4, 4)), 96, 4),
    (Ordering(), 12, 30),
    (Invariance(), 2, 2),
    (PartialExposure(), 3, 1),
]


@pytest.mark.parametrize(("task", "train", "test"), SPLITS, ids=lambda x: getattr(x, "name", x))
def test_splits_have_the_published_sizes(task: ItemTask, train: int, test: int) -> None:
    assert len(task.combinations("train")) == train
    assert len(task.combinations("test")) == test


def test_context_dependence_is_what_the_theory_is_about() -> None:
    for left_out in (1, 2, 3):
        z, y, train = shortcut.task(3, left_out)
        task = ContextDependence(left_out=left_out)
        assert np.array_equal(task.combinations("train"), z[train])
        assert np.array_equal(2 * task.targets(z)[:, 0] - 1, y)


def test_sums_are_additive_and_equivalence_is_not() -> None:
    for task, wanted in ((Addition(), True), (Equivalence(), False), (ContextDependence(), True)):
        z = np.concatenate([task.combinations("train"), task.combinations("test")])
        train = np.arange(len(z)) < len(task.combinations("train"))
        values = np.asarray(task.class_values)[task.targets(z)[:, 0]]
        assert is_additive(values, z, train) is wanted


def test_sums_stand_for_numbers() -> None:
    task = Addition()
    z = task.combinations("all")
    values = np.asarray(task.class_values)[task.targets(z)[:, 0]]
    assert np.array_equal(values, task.values[z].sum(axis=1))


def test_dispersed_items_have_two_partners_each() -> None:
    z = Addition(dispersed=7).combinations("train")
    for factor in (0, 1):
        assert (np.bincount(z[:, factor], minlength=9) == 2).all()
    assert not np.array_equal(z, Addition(dispersed=8).combinations("train"))


def test_examples_are_spread_evenly_over_combinations() -> None:
    task = Addition()
    z, _ = task.draw("train", 17, stream(0, "test"))
    assert len(np.unique(z, axis=0)) == 17
    z, _ = task.draw("train", 40, stream(0, "test"))
    assert set(np.unique(z, axis=0, return_counts=True)[1]) == {2, 3}


def test_one_hot_codes_stand_side_by_side() -> None:
    inputs = ContextDependence().render(np.array([[1, 0, 5]]), np.zeros((1, 3)))
    assert np.flatnonzero(inputs[0]).tolist() == [1, 2, 13]


def test_images_lie_in_channels_of_their_own_shifted_and_edge_padded() -> None:
    task = Addition(inputs=Images(shift=3))
    assert task.input_shape == (2, 8, 11)
    examples = task.sample("train", 5, stream(0, "test"))
    bank = load("digits", 0)
    for z, noise, shown in zip(examples.z, examples.noise, examples.inputs, strict=True):
        for c in (0, 1):
            kind = permutation(0, c)[z[c]]
            row = bank.rows(np.array([kind]), noise[c : c + 1], 100)[0]
            image = (bank.images[row, 0] - bank.mean[0]) / bank.spread[0]
            padded = np.pad(image, ((0, 0), (3 * c, 3 * (1 - c))), mode="edge")
            assert np.allclose(shown[c], padded, atol=1e-5)


def test_training_images_and_unseen_ones_are_disjoint() -> None:
    bank = load("digits", 0)
    classes = np.repeat(np.arange(10), 2000)
    noise = Images().draw(len(classes), 1, stream(0, "test"), training=True)[:, 0]
    seen = set(bank.rows(classes, noise, 100).tolist())
    noise = Images().draw(len(classes), 1, stream(1, "test"), training=False)[:, 0]
    unseen = set(bank.rows(classes, noise, 100).tolist())
    assert len(seen) == 1000 and not seen & unseen
    assert len(seen | unseen) == 1797


def test_an_assignment_changes_classes_and_images() -> None:
    z, noise = np.array([[0, 0]]), np.array([[-0.5, -0.5]])
    one, two = (Addition(inputs=Images(assignment=k)).render(z, noise) for k in (0, 1))
    assert not np.array_equal(one, two)


def test_wrong_fields_are_refused() -> None:
    with pytest.raises(BadValue, match="at most 10"):
        Addition(items=11, trained_items=(0,), inputs=Images())
    with pytest.raises(BadValue, match="not all of them"):
        Addition(trained_items=(9,))
    with pytest.raises(BadValue, match="1 to 3"):
        ContextDependence(left_out=4)
    with pytest.raises(BadValue, match="one number a class"):
        Equivalence(linking=(1,))
    with pytest.raises(BadValue, match="some that do not"):
        Equivalence(linking=(2, 2))
    with pytest.raises(BadValue, match="at least 3"):
        Ordering(items=2)
    with pytest.raises(BadValue, match="below 174"):
        Addition(inputs=Images(per_class=1000)).sample("train", 1, stream(0, "test"))
