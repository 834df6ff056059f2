"""Dependence estimators on models whose dependence is known by construction."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from known_answers import Softmax
from recombine.analyses.dependence import Dependence, gradient_norms, slopes
from recombine.models import Stack
from recombine.models.mlp import MLP
from recombine.models.stack import Tap, untouched
from recombine.seeds import stream
from recombine.tasks.corners import Corners

Rule = Callable[[Tensor], Tensor]


class Known(Stack):
    """A network whose logit is a given function of the inputs, one function a lane."""

    def __init__(self, rules: list[Rule]) -> None:
        super().__init__()
        self._rules = rules
        self.unused = nn.Parameter(torch.zeros(len(rules), 1))

    @property
    def lanes(self) -> int:
        return len(self._rules)

    @property
    def sites(self) -> tuple[str, ...]:
        return ("output",)

    def forward(self, inputs: Tensor, tap: Tap = untouched) -> Tensor:
        x = inputs.expand(self.lanes, *inputs.shape[1:])
        logits = torch.stack([rule(lane) for rule, lane in zip(self._rules, x, strict=True)])
        return torch.stack([torch.zeros_like(logits), logits], dim=-1).unsqueeze(2)


SHARP = 1000.0
RULES: dict[str, Rule] = {
    "own factor only": lambda x: SHARP * x[:, 0],
    "other factor only": lambda x: SHARP * x[:, 1],
    "constant": lambda x: 0 * x[:, 0] + 5,
    "exclusive or": lambda x: SHARP * x[:, 0] * x[:, 1],
    "either": lambda x: SHARP * torch.maximum(x[:, 0], x[:, 1]),
}
H = {  # flip rates of (Y1, Y2), and bits I(Ŷ; Y1), I(Ŷ; Y2 | Y1)
    "own factor only": ((1, 0), (1, 0)),
    "other factor only": ((0, 1), (0, 1)),
    "constant": ((0, 0), (0, 0)),
    "exclusive or": ((1, 1), (0, 1)),
    "either": ((0.5, 0.5), (0.3113, 0.5)),
}


@pytest.fixture(scope="module")
def measured() -> dict[str, np.ndarray]:
    return dict(Dependence(examples=8000).measure(Known([*RULES.values()]), Corners(), Softmax()))


@pytest.mark.parametrize("name", RULES)
def test_intervention_finds_the_known_dependence(
    name: str, measured: dict[str, np.ndarray]
) -> None:
    lane = list(RULES).index(name)
    flips = measured["dependence/flip"][lane, 0]
    assert flips == pytest.approx(H[name][0], abs=0.02)
    assert measured["dependence/variation"][lane, 0] == pytest.approx(flips, abs=0.03)


@pytest.mark.parametrize("name", RULES)
def test_information_is_the_known_number_of_bits(
    name: str, measured: dict[str, np.ndarray]
) -> None:
    lane = list(RULES).index(name)
    assert measured["dependence/information"][lane, 0] == pytest.approx(H[name][1], abs=0.02)


def test_the_gradient_is_zero_exactly_where_an_input_is_not_read() -> None:
    soft: list[Rule] = [lambda x: 2 * x[:, 0], lambda x: x[:, 1] + 0 * x[:, 0]]
    found = Dependence(examples=500).measure(Known(soft), Corners(), Softmax())
    gradient = found["dependence/gradient"][:, 0]
    assert gradient[0, 1] == 0 and gradient[1, 0] == 0
    assert gradient[0, 0] > 0.1 and gradient[1, 1] > 0.1


def test_the_gradient_of_a_logistic_model_is_its_closed_form() -> None:
    """‖∂p/∂x_j‖ = √2 |w_j| p (1 − p) for two classes with logit w·x."""
    task = Corners()
    examples = task.sample("all", 400, stream(0, "test"))
    weights = torch.tensor([1.5, -0.5])
    found = gradient_norms(Known([lambda x: x @ weights]), task, Softmax(), examples)
    p = torch.sigmoid(torch.from_numpy(examples.inputs) @ weights)
    expected = 2**0.5 * weights.abs() * (p * (1 - p)).mean()
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-5)


def test_slopes_equal_finite_differences() -> None:
    task, model = Corners(), MLP(activation="tanh")
    examples = task.sample("all", 20, stream(1, "test"))
    stack = model.stack([0, 1], (2,), 1, 2).double()
    inputs = torch.from_numpy(examples.inputs.astype(float))
    wide = type(examples)(examples.z, examples.noise, inputs.numpy(), examples.targets)
    found = slopes(stack, model, wide, output=0)[1]
    step = 1e-6
    for axis in range(2):
        moved = inputs.clone()
        moved[:, axis] += step
        with torch.no_grad():
            high = model.probabilities(stack(moved[None]))[:, :, 0, 1]
            low = model.probabilities(stack(inputs[None]))[:, :, 0, 1]
        torch.testing.assert_close(found[..., axis], (high - low) / step, rtol=1e-3, atol=1e-5)


def test_a_noisy_copy_of_the_other_factor_is_found_in_proportion() -> None:
    """With probability q the model reads Y2 instead of Y1, by a coin hidden in X1's last digits."""

    def rule(q: float) -> Rule:
        def read(x: Tensor) -> Tensor:
            coin = (x[:, 0].abs() * 1000) % 1
            return SHARP * torch.where(coin < q, x[:, 1], x[:, 0])

        return read

    shares = [0.0, 0.25, 0.5, 1.0]
    found = Dependence(examples=8000).measure(
        Known([rule(q) for q in shares]), Corners(), Softmax()
    )
    np.testing.assert_allclose(found["dependence/flip"][:, 0, 1], shares, atol=0.02)
