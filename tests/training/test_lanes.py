"""Lanes: one update equals PyTorch's own on each seed; clipping and stopping act lane by lane."""

import pytest
import torch
from torch import nn

from recombine.models.mlp import MLP, StackedMLP
from recombine.tasks.corners import Corners
from recombine.training import SGD, Adam, Recipe, Stop, train
from recombine.training.feed import Feed
from recombine.training.lanes import Lanes, clip

SEEDS = [0, 1, 2, 3]


def twin(stack: StackedMLP, lane: int) -> nn.Sequential:
    """The same network as a plain module."""
    layers: list[nn.Module] = []
    for weight, bias in zip(stack.weights, stack.biases, strict=True):
        layer = nn.Linear(*weight.shape[1:])
        layer.weight.data = weight[lane].T.detach().clone()
        layer.bias.data = bias[lane].detach().clone()
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("optimizer", [SGD(rate=0.1), SGD(rate=0.1, momentum=0.8), Adam(rate=0.01)])
def test_fifty_updates_equal_a_plain_loop_over_seeds(optimizer: SGD | Adam) -> None:
    recipe = Recipe(steps=50, optimizer=optimizer, clip=0.5)
    stack = MLP().stack(SEEDS, (2,), 1, 2)
    assert isinstance(stack, StackedMLP)
    twins = [twin(stack, lane) for lane in range(4)]
    lanes, feed = Lanes(stack, recipe), Feed(Corners(), recipe, SEEDS, "cpu")
    for step in range(50):
        lanes.update(step, *feed.batch(step))

    for lane, network in enumerate(twins):
        if isinstance(optimizer, Adam):
            theirs: torch.optim.Optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
        else:
            momentum = optimizer.momentum
            theirs = torch.optim.SGD(network.parameters(), lr=0.1, momentum=momentum)
        for step in range(50):
            x, y = feed.batch(step)
            theirs.zero_grad()
            nn.functional.cross_entropy(network(x[lane]), y[lane, :, 0]).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            theirs.step()
        trained = twin(stack, lane)
        for a, b in zip(trained.parameters(), network.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_clipping_takes_the_norm_of_each_lane() -> None:
    gradients = [torch.tensor([[3.0, 0.0], [0.3, 0.0]]), torch.tensor([[4.0], [0.4]])]
    clipped = clip(gradients, 1.0)
    torch.testing.assert_close(clipped[0], torch.tensor([[0.6, 0.0], [0.3, 0.0]]))
    torch.testing.assert_close(clipped[1], torch.tensor([[0.8], [0.4]]))


def test_clipping_rounds_the_same_in_a_stack_of_any_size() -> None:
    generator = torch.Generator().manual_seed(0)
    gradients = [torch.randn(37, *shape, generator=generator) for shape in [(3, 4), (5,)] * 4]
    together = clip(gradients, 0.1)
    for size in (1, 2, 9, 16):
        alone = clip([g[-size:].clone() for g in gradients], 0.1)
        for a, b in zip(together, alone, strict=True):
            assert torch.equal(a[-size:], b)


def test_clipping_a_zero_gradient_leaves_it_zero() -> None:
    assert not clip([torch.zeros(2, 3)], 1.0)[0].any()


def test_a_stopped_lane_keeps_its_weights_while_others_go_on() -> None:
    recipe = Recipe(
        steps=200,
        evaluate_at=tuple(range(0, 201, 20)),
        stop=Stop(measure="accuracy/train", better="higher", goal=0.9),
    )
    lanes, curves = train(Corners(), MLP(), recipe, seeds=range(20))
    stopped = lanes.stopped_at.tolist()
    assert len({s for s in stopped if s >= 0}) > 1, "the lanes should stop at different steps"
    for lane, at in enumerate(stopped):
        if at < 0:
            continue
        alone, _ = train(Corners(), MLP(), Recipe(steps=at, evaluate_at=()), seeds=[lane])
        for together, single in zip(
            lanes.stack.parameters(), alone.stack.parameters(), strict=True
        ):
            assert torch.equal(together[lane], single[0])
        later = [values[lane] for step, values in curves["loss/train"].items() if step >= at]
        assert len(set(map(float, later))) == 1


def test_lanes_that_have_all_stopped_are_measured_to_the_end() -> None:
    recipe = Recipe(steps=500, stop=Stop(goal=10.0), evaluate_at=(0, 100))
    _, curves = train(Corners(), MLP(), recipe, seeds=[0, 1])
    assert list(curves["loss/train"]) == [0, 100, 500]
    assert (curves["loss/train"][500] == curves["loss/train"][0]).all()
