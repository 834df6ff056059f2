"""Training on from given weights with some of them frozen, lane by lane."""

import numpy as np
import pytest
import torch

from recombine.analyses.pruning import prune
from recombine.analyses.substitution import put, take
from recombine.analyses.traces import everything
from recombine.errors import BadValue, UnknownName
from recombine.models.seq2seq import Seq2Seq
from recombine.models.stack import Stack
from recombine.tasks.lookup import LookupTables
from recombine.training import Adam, Guidance, Keep, Recipe, train
from recombine.training.lanes import Frozen

TASK = LookupTables(tables=4, bits=2, held_tables=1, held_compositions=2, held_inputs=1,
                    validation=3)  # fmt: skip
MODEL = Seq2Seq(embedding=4, hidden=8, output_embedding=8, start="last-word")
RECIPE = Recipe(
    steps=7, batch=1, sampling="each-once", loss="sequence-cross-entropy",
    optimizer=Adam(rate=0.01), clip=5.0, evaluate_at=(0, 3), evaluate_whole=True,
    guidance=Guidance(), keep=(Keep("best", "loss/validation"),),
)  # fmt: skip
SPLIT = {"encoder.cells.0.hidden": torch.tensor([True, False])}


def fresh(*seeds: int) -> Stack:
    return MODEL.stack(seeds, TASK.input_shape, len(TASK.outputs), TASK.classes)


def on(stack: Stack, seeds: list[int], frozen: Frozen | None = None) -> Stack:
    train(TASK, MODEL, RECIPE, seeds=seeds, stack=stack, frozen=frozen)
    return stack


def test_a_given_stack_is_trained_as_one_drawn_anew() -> None:
    given, (drawn, _) = on(fresh(3), [3]), train(TASK, MODEL, RECIPE, seeds=[3])
    mine, other = take(given, 0), take(drawn.stack, 0)
    assert all(np.array_equal(mine[name], other[name]) for name in mine)


@pytest.mark.parametrize("part", ["encoder", "decoder.embedding", "decoder.cell.hidden"])
def test_frozen_parts_keep_their_bits_and_the_rest_moves(part: str) -> None:
    stack, before = fresh(0), take(fresh(0), 0)
    frozen = {n: torch.tensor([True]) for n in before if n.startswith(part)}
    after = take(on(stack, [0], frozen), 0)
    assert all(np.array_equal(after[n], before[n]) == (n in frozen) for n in before)


def test_a_lane_may_freeze_what_its_neighbour_trains() -> None:
    stack, name = fresh(0, 0), "encoder.cells.0.hidden"
    before = take(stack, 0)
    on(stack, [0, 0], SPLIT)
    still, moved = take(stack, 0), take(stack, 1)
    assert np.array_equal(still[name], before[name])
    assert not np.array_equal(moved[name], before[name])
    free = take(on(fresh(0), [0]), 0)
    assert all(np.array_equal(moved[n], free[n]) for n in free), "a frozen neighbour was felt"


def test_what_was_kept_has_a_value_for_frozen_parameters_too() -> None:
    stack = fresh(0)
    frozen = {"decoder.embedding": torch.tensor([True])}
    lanes, _ = train(TASK, MODEL, RECIPE, seeds=[0], stack=stack, frozen=frozen)
    kept = lanes.kept(0)
    assert set(kept) == {name for name, _ in stack.named_parameters()}
    assert torch.equal(kept["decoder.embedding"], stack.decoder.embedding)


def test_names_that_are_none_and_nothing_left_to_train_are_refused() -> None:
    with pytest.raises(UnknownName):
        on(fresh(0), [0], {"encodr": torch.tensor([True])})
    with pytest.raises(BadValue):
        on(fresh(0), [0], {n: torch.tensor([True]) for n in take(fresh(0), 0)})


def test_pruning_a_sequence_model() -> None:
    inputs = torch.from_numpy(everything(TASK).inputs).unsqueeze(0)
    whole = fresh(0, 1)
    sites = ("encoder.*.state", "decoder.*.state", "decoder.start")
    everyone = {site: np.ones((2, 8), dtype=bool) for site in sites}
    assert torch.equal(prune(whole, everyone)(inputs), whole(inputs))
    nobody = {site: np.zeros((2, 8), dtype=bool) for site in sites}
    silent = prune(whole, nobody)(inputs)
    assert torch.equal(silent, whole.decoder.output_bias[:, None, None].expand_as(silent))


def test_pruned_units_stay_silent_in_retraining() -> None:
    kept = np.array([[True, False, True, True, False, False, True, True]])
    sites = ("encoder.*.state", "decoder.*.state", "decoder.start")
    stack = prune(fresh(0), dict.fromkeys(sites, kept))
    before = take(stack, 0)
    on(stack, [0])
    after = take(stack, 0)
    moved = after["inner.encoder.cells.0.hidden"] != before["inner.encoder.cells.0.hidden"]
    assert moved[kept[0]].any() and not moved[~kept[0]].any()
    columns = moved.reshape(8, 3, 8).any(axis=(0, 1))
    assert columns[kept[0]].any() and not columns[~kept[0]].any()


def test_a_component_put_back_gives_the_same_answers() -> None:
    inputs = torch.from_numpy(everything(TASK).inputs).unsqueeze(0)
    stack, again = fresh(5), fresh(6)
    put(again, [take(stack, 0)])
    assert torch.equal(stack(inputs), again(inputs))
