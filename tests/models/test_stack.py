"""Any plain module can be stacked by vmap, and equals itself run alone."""

import torch
from torch import nn

from recombine.models import Vmapped, read_sites
from recombine.models.mlp import MLP, StackedMLP
from recombine.training import Recipe
from recombine.training.lanes import Lanes


def modules(count: int) -> list[nn.Module]:
    made = []
    for seed in range(count):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            normal = nn.BatchNorm1d(4, track_running_stats=False)
            ends = nn.Linear(3, 4), nn.Linear(4, 2)
            made.append(nn.Sequential(ends[0], normal, nn.ReLU(), ends[1], nn.Unflatten(1, (1, 2))))
    return made


def test_a_vmapped_stack_equals_each_module_alone() -> None:
    each, x = modules(4), torch.randn(4, 6, 3)
    out = Vmapped(each)(x)
    for lane, module in enumerate(each):
        torch.testing.assert_close(out[lane], module(x[lane]))


def test_one_input_serves_every_lane() -> None:
    stack, x = Vmapped(modules(3)), torch.randn(1, 6, 3)
    torch.testing.assert_close(stack(x), stack(x.expand(3, -1, -1)))


def test_its_output_is_a_site() -> None:
    stack, x = Vmapped(modules(2)), torch.randn(2, 6, 3)
    assert torch.equal(read_sites(stack, x, ["output"])["output"], stack(x))
    assert not stack(x, lambda site, value: value * 0).any()


def test_training_a_vmapped_stack_leaves_the_modules_alone() -> None:
    each, x = modules(2), torch.randn(2, 6, 3)
    before = [p.clone() for p in each[0].parameters()]
    stack = Vmapped(each)
    Lanes(stack, Recipe()).update(0, x, torch.zeros(2, 6, 1, dtype=torch.long))
    assert all(torch.equal(a, b) for a, b in zip(before, each[0].parameters(), strict=True))
    assert not torch.equal(next(stack.parameters())[0], before[0])


def test_the_same_weights_give_the_same_outputs_written_out_and_vmapped() -> None:
    ours = MLP(widths=(5,)).stack(range(3), (3,), 1, 2)
    assert isinstance(ours, StackedMLP)
    each = []
    for lane in range(3):
        layers = [nn.Linear(3, 5), nn.Linear(5, 2)]
        for layer, weight, bias in zip(layers, ours.weights, ours.biases, strict=True):
            layer.weight.data, layer.bias.data = weight[lane].T.clone(), bias[lane].clone()
        each.append(nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.Unflatten(1, (1, 2))))
    x = torch.randn(3, 4, 3)
    torch.testing.assert_close(Vmapped(each)(x), ours(x))
