"""The loop: learns, measures where it should, and does not depend on who runs beside whom."""

import numpy as np
import pytest

from recombine.analyses.boundary import Boundary
from recombine.analyses.dependence import Dependence
from recombine.cell import Context
from recombine.models.mlp import MLP
from recombine.tasks.corners import Corners
from recombine.training import SGD, Adam, Probe, Recipe, Trial, train

SHORT = Recipe(steps=40, evaluate_at=(0, 10), evaluation_examples=100)


def test_training_learns_the_corners_it_sees() -> None:
    _, curves = train(Corners(), MLP(), Recipe(), seeds=range(10))
    assert curves["accuracy/train"][0].mean() < 0.75
    assert curves["accuracy/train"][1024].min() > 0.93


def test_evaluations_come_at_the_asked_steps_and_the_last() -> None:
    _, curves = train(Corners(), MLP(), SHORT, seeds=[0])
    assert list(curves["accuracy/corner"]) == [0, 10, 40]


@pytest.mark.parametrize("optimizer", [SGD(momentum=0.9), Adam()])
@pytest.mark.parametrize("size", [1, 2, 5, 33])
def test_a_seed_gives_the_same_bits_in_a_stack_of_any_size(
    optimizer: SGD | Adam, size: int
) -> None:
    recipe = Recipe(steps=40, evaluate_at=(0, 10), optimizer=optimizer, clip=0.7)
    probes = (Probe(Dependence(examples=60), (0, 40)), Probe(Boundary(resolution=5)))
    trial = Trial(Corners(), MLP(), recipe, probes, keep_weights=True)
    wide = trial.run(range(64), Context())
    some = trial.run(range(64 - size, 64), Context())
    for seed, outcome in some.items():
        assert outcome.scalars == wide[seed].scalars
        for name, values in {**outcome.arrays, **outcome.weights}.items():
            other = {**wide[seed].arrays, **wide[seed].weights}[name]
            assert np.array_equal(values, other), name


def test_looped_lanes_are_the_same_training_one_by_one() -> None:
    stacked = Trial(Corners(), MLP(), SHORT)
    looped = Trial(Corners(), MLP(), Recipe(**{**SHORT.__dict__, "lanes": "looped"}))
    assert (stacked.seeds_per_job, looped.seeds_per_job) == (500, 1)
    a, b = stacked.run(range(3), Context()), looped.run(range(3), Context())
    for seed in range(3):
        np.testing.assert_allclose(
            a[seed].arrays["loss/train"], b[seed].arrays["loss/train"], rtol=1e-5
        )


def test_progress_is_told_every_step() -> None:
    heard: list[tuple[int, int]] = []
    context = Context(progress=lambda done, total: heard.append((done, total)))
    train(Corners(), MLP(), SHORT, seeds=[0], context=context)
    assert heard == [(step, 40) for step in range(1, 41)]


def test_weights_are_kept_only_when_asked() -> None:
    assert not Trial(Corners(), MLP(), SHORT).run([0], Context())[0].weights
    kept = Trial(Corners(), MLP(), SHORT, keep_weights=True).run([0], Context())[0].weights
    assert sum(values.size for values in kept.values()) == 2 * 8 + 8 + 2 * (8 * 8 + 8) + 8 * 2 + 2


def test_a_probe_at_steps_never_reached_is_not_run() -> None:
    trial = Trial(Corners(), MLP(), SHORT, (Probe(Dependence(examples=50), (0, 999)),))
    assert trial.run([0], Context())[0].arrays["dependence/flip@steps"].tolist() == [0]


def test_nothing_touches_the_global_random_state() -> None:
    import torch

    before = torch.random.get_rng_state()
    Trial(Corners(), MLP(), SHORT).run([0], Context())
    assert torch.equal(before, torch.random.get_rng_state())
