"""What a lane sees depends on its seed and the step, and follows the sampling it names."""

import numpy as np
import pytest
import torch

from recombine.tasks.corners import Corners
from recombine.tasks.lookup import LookupTables
from recombine.training import Recipe
from recombine.training.feed import BLOCK, Feed

SAMPLINGS = ["fresh", "with-replacement", "without-replacement", "in-order"]


def recipe(sampling: str) -> Recipe:
    examples = None if sampling == "fresh" else 23
    return Recipe(sampling=sampling, examples=examples, batch=5)  # type: ignore[arg-type]


def batches(sampling: str, seeds: list[int], steps: range | list[int]) -> list[torch.Tensor]:
    feed = Feed(Corners(), recipe(sampling), seeds, "cpu")
    return [feed.batch(step)[0] for step in steps]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_batch_depends_on_the_seed_and_the_step_alone(sampling: str) -> None:
    together = batches(sampling, [5, 6, 7], range(BLOCK + 3))
    for step in (0, 4, BLOCK - 1, BLOCK, BLOCK + 2):
        alone = batches(sampling, [6], [step])[0]
        assert torch.equal(alone[0], together[step][1])
    assert not torch.equal(together[0][0], together[0][1])


def test_fresh_examples_never_come_back() -> None:
    seen = torch.cat([b[0] for b in batches("fresh", [0], range(2 * BLOCK))])
    assert len(torch.unique(seen, dim=0)) == len(seen)


@pytest.mark.parametrize("sampling", SAMPLINGS[1:])
def test_a_fixed_set_is_all_there_is(sampling: str) -> None:
    seen = torch.cat([b[0] for b in batches(sampling, [0], range(200))])
    few = 20 if sampling == "in-order" else 23  # in order, the last three never fit a batch
    assert len(torch.unique(seen, dim=0)) == few


def test_without_replacement_shows_each_example_once_an_epoch() -> None:
    epochs = batches("without-replacement", [0], range(8))
    first, second = torch.cat([b[0] for b in epochs[:4]]), torch.cat([b[0] for b in epochs[4:]])
    assert len(torch.unique(first, dim=0)) == len(torch.unique(second, dim=0)) == 20
    assert not torch.equal(first, second)


def test_in_order_repeats_the_same_epoch() -> None:
    shown = batches("in-order", [0, 1], range(8))
    for a, b in zip(shown[:4], shown[4:], strict=True):
        assert torch.equal(a, b)


def test_with_replacement_draws_uniformly() -> None:
    feed = Feed(Corners(), recipe("with-replacement"), [0], "cpu")
    rows = np.concatenate([feed._rows(step)[0] for step in range(4000)])
    share = np.bincount(rows, minlength=23) / len(rows)
    assert np.abs(share - 1 / 23).max() < 0.005


def test_inputs_and_targets_belong_together() -> None:
    inputs, targets = Feed(Corners(), recipe("without-replacement"), [3], "cpu").batch(17)
    assert np.array_equal(Corners().oracle(inputs[0].numpy()), targets[0].numpy())


def test_each_once_shows_every_row_of_the_split_once_an_epoch_in_a_new_order() -> None:
    task, plan = LookupTables(), Recipe(sampling="each-once", batch=100)
    feed = Feed(task, plan, [0, 1], "cpu")
    rows = task.show(z := task.combinations("train"), np.zeros((len(z), 3, 0), np.float32)).inputs
    wanted = sorted(map(bytes, rows))
    epochs = []
    for epoch in range(2):
        batches = [feed.batch(3 * epoch + i)[0] for i in range(3)]
        assert [b.shape[1] for b in batches] == [100, 100, 32]
        epochs.append(torch.cat(batches, dim=1))
    for shown in (*epochs[0], *epochs[1]):
        assert sorted(map(bytes, shown.numpy())) == wanted
    assert not torch.equal(epochs[0][0], epochs[0][1])
    assert not torch.equal(epochs[0][0], epochs[1][0])
    again = Feed(task, plan, [1], "cpu").batch(4)[0]
    assert torch.equal(again[0], feed.batch(4)[0][1])


def test_alone_a_sequence_is_cut_where_it_ends() -> None:
    task = LookupTables()
    for lanes, shapes in [("looped", {(3, 2), (4, 3)}), ("stacked", {(4, 3)})]:
        plan = Recipe(sampling="each-once", batch=1, lanes=lanes)  # type: ignore[arg-type]
        feed = Feed(task, plan, [0], "cpu")
        seen = set()
        for step in range(40):
            inputs, targets = feed.batch(step)
            seen.add((inputs.shape[2], targets.shape[2]))
            length = int(inputs.any(-1).sum())
            assert int((targets >= 0).sum()) == length - 1
        assert seen == shapes
