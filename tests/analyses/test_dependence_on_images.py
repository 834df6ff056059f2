"""The dependence matrix of hand-built networks that read images of digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from known_answers import Answering, Answers, Softmax
from recombine.analyses.dependence import Dependence
from recombine.errors import BadValue
from recombine.models.convnet import ConvNet
from recombine.seeds import stream
from recombine.tasks.digit_pairs import DigitPairs

PAIR, THREE = DigitPairs(), DigitPairs(digits=3, asked=3)
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From the digits shown [n, digit], and a coin for each input, to the answers [n, output]."""


def answering(task: DigitPairs, rules: list[Rule]) -> Answering:
    """Looks the digits up in the images and answers by a rule, one rule a lane."""
    everything = DigitPairs(digits=task.digits, asked=task.digits)

    def by(rule: Rule) -> Answers:
        def answers(pixels: np.ndarray) -> np.ndarray:
            # a coin for each input that only the first image decides
            width = pixels.shape[2] // task.digits
            coin = (pixels[:, :, :width].astype(float).sum((1, 2)) * 1000) % 1
            return rule(everything.oracle(pixels), coin)[:, : task.asked]

        return answers

    return Answering([by(rule) for rule in rules], classes=10)


def measured(task: DigitPairs, rules: list[Rule], examples: int) -> dict[str, np.ndarray]:
    analysis = Dependence(examples, gradient_examples=2, information="predictive")
    found = analysis.measure(answering(task, rules), task, Softmax())
    return {name.removeprefix("dependence/"): values for name, values in found.items()}


BITS = np.log2(10)


def test_a_network_that_reads_one_image_only() -> None:
    found = measured(PAIR, [lambda y, _: y, lambda y, _: y[:, ::-1], lambda y, _: 0 * y], 1500)
    np.testing.assert_allclose(found["flip"][:, 0], [[1, 0], [0, 1], [0, 0]])
    np.testing.assert_allclose(found["variation"], found["flip"], atol=1e-6)
    expected = [[BITS, 0], [0, BITS], [0, 0]]
    np.testing.assert_allclose(found["information"][:, 0], expected, atol=0.06)


def test_a_lookup_table_of_both() -> None:
    """The sum of two digits tells the second in full once the first is known, and needs both."""
    found = measured(PAIR, [lambda y, _: y.sum(1, keepdims=True) % 10], 3000)
    np.testing.assert_allclose(found["flip"][0, 0], [1, 1])
    np.testing.assert_allclose(found["information"][0, 0], [0, BITS], atol=0.06)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_noisy_copy_is_found_in_proportion(share: float) -> None:
    """With probability q the answer is the second digit instead of the first.

    Moving the second then flips a share q of the answers. Moving the first also throws its coin
    again: the answer stays only if the coin said `second` both times, or by chance one in ten.
    """

    def rule(y: np.ndarray, coin: np.ndarray) -> np.ndarray:
        return np.where(coin < share, y[:, 1], y[:, 0])[:, None]

    n = 2500
    found = measured(PAIR, [rule], n)
    error = 4 * np.sqrt(0.25 / n)
    stays = share**2 + 2 * share * (1 - share) / 10
    np.testing.assert_allclose(found["flip"][0, 0], [1 - stays, share], atol=error)
    p = np.array([1 - share + share / 10, *[share / 10] * 9])
    given = np.array([1 - share, share])
    # within a context: H(answer) less what is left when the second digit is known too
    truth = -(p * np.log2(p)).sum() - 0.9 * -(given * np.log2(given)).sum()
    assert 0.6 * truth < found["information"][0, 0, 1] < 1.05 * truth


def test_random_errors_are_no_dependence() -> None:
    """A fifth of the answers is wrong, in a way that has nothing to do with the second digit."""

    def rule(y: np.ndarray, coin: np.ndarray) -> np.ndarray:
        return np.where(coin < 0.2, (coin * 977).astype(int) % 10, y[:, 0])[:, None]

    found = measured(PAIR, [rule], 1500)
    assert found["flip"][0, 0, 1] == 0 and found["information"][0, 0, 1] < 0.01
    assert found["flip"][0, 0, 0] > 0.75


def test_three_digits_and_three_outputs() -> None:
    """The first answer reads the third digit, the second itself, the third all of them."""

    def rule(y: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.stack([y[:, 2], y[:, 1], y.sum(1) % 10], axis=1)

    found = measured(THREE, [rule], 1500)
    np.testing.assert_allclose(found["flip"][0], [[0, 0, 1], [0, 1, 0], [1, 1, 1]])
    information = found["information"][0]
    np.testing.assert_allclose(information[:2], [[0, 0, BITS], [0, BITS, 0]], atol=0.1)
    # given the third digit, the sum says nothing about either of the others alone
    np.testing.assert_allclose(information[2], [0, 0, 0], atol=0.02)


def test_the_gradient_of_a_network_is_zero_exactly_where_it_does_not_look() -> None:
    """The first convolution's weights stay; the dense layer is cut off from the right image."""
    task, model = DigitPairs(digits=3), ConvNet(channels=(4, 6), widths=(8,))
    stack = model.stack([0, 1], task.input_shape, 1, 10)
    columns = (task.input_shape[1] - 2) // 2 - 2
    seen = torch.zeros(11, columns, 6)
    seen[:, :11] = 1  # the last of these looks at pixel 27 at most, the last of the first image
    with torch.no_grad():
        stack.weights[2].mul_(seen.flatten()[:, None])  # type: ignore[operator]
    found = Dependence(examples=60, gradient_examples=20).measure(stack, task, model)
    assert (found["dependence/gradient"][:, 0, 1:] == 0).all()
    assert (found["dependence/gradient"][:, 0, 0] > 0).all()
    assert (found["dependence/flip"][:, 0, 1:] == 0).all()
    assert (found["dependence/variation"][:, 0, 1:] == 0).all()


def test_the_gradient_of_a_network_equals_finite_differences() -> None:
    task, model = DigitPairs(), ConvNet(channels=(3, 4), widths=(5,))
    stack = model.stack([4], task.input_shape, 1, 10).double()
    examples = task.sample("all", 3, stream(0, "test"))
    # black regions sit on the kinks of pooling and ReLU, where there is no derivative
    grain = 0.1 * stream(1, "test").random(examples.inputs.shape)
    x = torch.from_numpy(examples.inputs + grain)[None].requires_grad_()
    p = model.probabilities(stack(x))[0, :, 0]
    (slope,) = torch.autograd.grad(p[:, 3].sum(), x)
    for row, column in ((10, 12), (14, 40), (20, 30)):
        moved = x.detach().clone()
        moved[:, :, row, column] += 1e-6
        with torch.no_grad():
            after = model.probabilities(stack(moved))[0, :, 0, 3]
        difference = (after - p[:, 3].detach()) / 1e-6
        torch.testing.assert_close(slope[0, :, row, column], difference, rtol=1e-3, atol=1e-7)


def test_more_gradients_than_examples_are_refused() -> None:
    with pytest.raises(BadValue, match="gradient_examples"):
        Dependence(examples=5, gradient_examples=6)


def test_old_keys_stay() -> None:
    from recombine.spec import encode

    assert encode(Dependence()) == encode(Dependence(500, None, "miller-madow"))
    assert "gradient_examples" not in str(encode(Dependence()))
