"""Training that is stopped on the way continues to the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recombine.analyses.dependence import Dependence
from recombine.cell import Context, Outcome
from recombine.engine import plan
from recombine.engine.jobs import perform
from recombine.errors import Interrupted
from recombine.models.mlp import MLP
from recombine.runs import Store
from recombine.tasks.corners import Corners
from recombine.training import SGD, Adam, Probe, Recipe, Stop, Trial


class Killed(BaseException):
    """What no cell is told of: the process is gone."""


def at_step(last: int, error: BaseException) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done == last:
            raise error

    return progress


def assert_same(ours: Outcome, theirs: Outcome) -> None:
    assert ours.scalars == pytest.approx(theirs.scalars, rel=0, abs=0, nan_ok=True)
    for name in ("arrays", "weights"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.keys() == other.keys()
        for key in mine:
            np.testing.assert_array_equal(mine[key], other[key], err_msg=key)


STEPS = 24
MARKS = (0, 1, 2, 4, 8, 10, 16, 20)
OPTIMIZERS = {"sgd": SGD(), "momentum": SGD(momentum=0.9), "adam": Adam(rate=0.05)}
SAMPLINGS = ("fresh", "with-replacement", "without-replacement", "in-order")


def long_trial(optimizer: str, sampling: str) -> Trial:
    """Everything that a checkpoint must carry: clipping, early stopping, curves, probes."""
    recipe = Recipe(
        steps=STEPS,
        sampling=sampling,  # type: ignore[arg-type]
        examples=None if sampling == "fresh" else 45,
        optimizer=OPTIMIZERS[optimizer],  # type: ignore[arg-type]
        clip=0.5,
        stop=Stop(measure="accuracy/train", better="higher", patience=2, goal=0.95),
        evaluate_at=MARKS,
        evaluation_examples=50,
    )
    probes = (Probe(Dependence(examples=50), MARKS),)
    return Trial(Corners(), MLP(), recipe, probes, keep_weights=True)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_stack_stopped_twice_ends_with_the_same_bits(
    tmp_path: Path, optimizer: str, sampling: str
) -> None:
    trial, seeds = long_trial(optimizer, sampling), range(8)
    straight = trial.run(seeds, Context())
    stopped = {outcome.scalars["stopped_at"] for outcome in straight.values()}
    assert len(stopped) > 1, "some lanes stop early and some do not"
    with Store.open(tmp_path / "store") as store:
        checkpoint = store.checkpoint("long")
        for step, error in ((5, Interrupted("stopped")), (17, Killed())):
            context = Context("cpu", at_step(step, error), checkpoint, checkpoint_every=0)
            with pytest.raises(type(error)):
                trial.run(seeds, context)
        told: list[int] = []
        context = Context("cpu", lambda done, total: told.append(done), checkpoint)
        resumed = trial.run(seeds, context)
    assert told[0] == 17, "the last state saved before the kill is that of step 16"
    for seed in seeds:
        assert_same(resumed[seed], straight[seed])


def test_a_checkpoint_is_not_written_before_its_time(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        checkpoint = store.checkpoint("long")
        context = Context("cpu", at_step(20, Killed()), checkpoint, checkpoint_every=1000)
        with pytest.raises(Killed):
            long_trial("sgd", "fresh").run([0], context)
        assert checkpoint.load() is None


def test_a_seed_that_stops_early_is_the_same_alone_and_beside_others() -> None:
    trial = long_trial("adam", "fresh")
    together = trial.run(range(8), Context())
    for seed in range(8):
        assert_same(trial.run([seed], Context())[seed], together[seed])


def test_a_plateau_is_no_improvement() -> None:
    recipe = Recipe(
        steps=6,
        optimizer=SGD(rate=1e-9),
        stop=Stop(measure="accuracy/train", better="higher", patience=2),
        evaluate_at=tuple(range(7)),
        evaluation_examples=90,  # shares of 90 that 32 bits cannot hold
    )
    outcomes = Trial(Corners(), MLP(), recipe).run(range(8), Context())
    assert {outcome.scalars["stopped_at"] for outcome in outcomes.values()} == {2.0}


def test_a_job_stopped_on_the_way_continues_from_its_checkpoint(tmp_path: Path) -> None:
    trial, told = long_trial("adam", "fresh"), []
    with Store.open(tmp_path / "store") as store:
        (job,) = plan({"main": (trial, range(4))}, store).jobs
        with pytest.raises(Interrupted):
            perform(job, store.path, "cpu", at_step(9, Interrupted("stopped")))
        assert store.has(job.key) == {} and os.listdir(store.path / "checkpoints")
        perform(job, store.path, "cpu", lambda done, total: told.append(done))
        assert told[0] == 10
        assert os.listdir(store.path / "checkpoints") == []
        for seed, outcome in trial.run(range(4), Context()).items():
            record, arrays = store.get(job.key, seed)
            assert_same(Outcome(record.scalars, arrays), Outcome(outcome.scalars, outcome.arrays))


def test_a_checkpoint_of_other_seeds_is_not_taken(tmp_path: Path) -> None:
    trial, told = long_trial("sgd", "fresh"), []
    with Store.open(tmp_path / "store") as store:
        (few,) = plan({"main": (trial, range(2))}, store).jobs
        with pytest.raises(Interrupted):
            perform(few, store.path, "cpu", at_step(9, Interrupted("stopped")))
        (more,) = plan({"main": (trial, range(3))}, store).jobs
        assert more.claim == few.claim
        perform(more, store.path, "cpu", lambda done, total: told.append(done))
    assert told[0] == 1
