"""What a score carries and how it leans, on scores made by hand."""

import numpy as np
import pytest

from recombine.analyses.redundancy import Redundancy, score_information
from recombine.errors import BadValue
from recombine.models.mlp import MLP, StackedMLP
from recombine.tasks.corners import Corners

RNG = np.random.default_rng(0)
# Equally many of both values, so that no bin of equal count straddles them.
Z = RNG.permutation(np.arange(4000) % 2)
NOISE = RNG.random(4000)


@pytest.mark.parametrize(
    ("score", "bits"),
    [
        (Z.astype(float), 1.0),
        (Z + 0.1 * NOISE, 1.0),
        (np.exp(5 * (Z + 0.1 * NOISE)), 1.0),
        (RNG.random(4000), 0.0),
        (np.full(4000, 0.3), 0.0),
    ],
    ids=["copy", "copy with noise", "monotone change", "independent", "constant"],
)
def test_information_of_known_scores(score: np.ndarray, bits: float) -> None:
    found = score_information(score[None], Z, 2, bins=8)
    assert found[0] == pytest.approx(bits, abs=0.01)


def test_a_score_that_agrees_three_times_in_four_carries_what_entropy_says() -> None:
    agrees = RNG.random(4000) < 0.75
    score = np.where(agrees, Z, 1 - Z).astype(float)
    expected = 1 + 0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)
    assert score_information(score[None], Z, 2, bins=8)[0] == pytest.approx(expected, abs=0.03)


def test_slope_has_the_sign_of_the_weight_and_its_closed_form() -> None:
    model = MLP(widths=())
    stack = model.stack([0], (2,), 1, 2)
    assert isinstance(stack, StackedMLP)
    stack.weights[0].data[0] = 0
    stack.weights[0].data[0, :, 1].copy_(stack.weights[0].data.new_tensor([1.0, -2.0]))
    stack.biases[0].data.zero_()
    found = Redundancy(examples=600).measure(stack, Corners(), model)["redundancy/slope"][0, 0]
    assert found[0] > 0 > found[1]
    assert found[1] / found[0] == pytest.approx(-2.0, rel=1e-4)


def test_an_output_of_zero_carries_nothing_and_leans_nowhere() -> None:
    model = MLP(init="glorot-zero-output")
    found = Redundancy().measure(model.stack([0, 1], (2,), 1, 2), Corners(), model)
    assert not found["redundancy/information"].any()
    assert not found["redundancy/slope"].any()


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(BadValue):
        Redundancy(bins=1)
    with pytest.raises(BadValue):
        Redundancy(examples=4)
