"""Cells: equal to PyTorch's own, in both conventions of the update gate, and read gate by gate."""

import pytest
import torch
from torch import nn

from recombine.models.cells import GRU, LSTM, Cell, as_torch, load, sigmoid
from recombine.models.initial import Initial
from recombine.models.stack import Tap, untouched

CELLS = [GRU, LSTM]


def made(kind: type[Cell], seeds: range = range(3)) -> Cell:
    return kind(Initial(seeds, "uniform", 0.5), 4, 6)


def looking(site: str, value: torch.Tensor) -> torch.Tensor:
    """A tap that might look at anything."""
    return value


def run(cell: Cell, inputs: torch.Tensor, tap: Tap = untouched) -> torch.Tensor:
    """The states [seed, batch, time, hidden] of a plain pass over the inputs."""
    project, recur = cell.open()
    state, states = cell.start(inputs), []
    for t in range(inputs.shape[2]):
        state = cell.step(project(inputs[:, :, t]), state, recur, tap, f"cell.{t}")
        states.append(state[0])
    return torch.stack(states, dim=2)


@pytest.mark.parametrize("tap", [untouched, looking])
@pytest.mark.parametrize("kind", CELLS)
def test_states_and_gradients_equal_pytorchs_own(kind: type[Cell], tap: Tap) -> None:
    cell = made(kind)
    inputs = torch.randn(3, 5, 7, 4, generator=torch.Generator().manual_seed(0))
    states = run(cell, inputs, tap)
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(1))
    found = torch.autograd.grad((states * weights).sum(), list(cell.parameters()))
    for lane in range(3):
        module = as_torch(cell, lane)
        theirs, _ = module(inputs[lane])
        torch.testing.assert_close(states[lane], theirs, rtol=1e-5, atol=1e-6)
        (theirs * weights[lane]).sum().backward()
        wanted = [module.weight_ih_l0.grad, module.weight_hh_l0.grad]
        for ours, gradient in zip(found[:2], wanted, strict=True):
            assert gradient is not None
            torch.testing.assert_close(ours[lane].T, gradient, rtol=1e-4, atol=1e-5)
        for ours, bias in zip(found[2:], [module.bias_ih_l0, module.bias_hh_l0], strict=True):
            torch.testing.assert_close(ours[lane], bias.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", CELLS)
def test_weights_of_a_module_can_be_loaded(kind: type[Cell]) -> None:
    torch.manual_seed(0)
    module = nn.GRU(4, 6, batch_first=True) if kind is GRU else nn.LSTM(4, 6, batch_first=True)
    cell = made(kind)
    load(cell, 1, module)
    inputs = torch.randn(1, 5, 7, 4).expand(3, -1, -1, -1)
    theirs, _ = module(inputs[0])
    ours = run(cell, inputs)
    torch.testing.assert_close(ours[1], theirs, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(ours[0], theirs, atol=1e-3)


def test_the_conventions_of_the_update_gate_are_mirror_images() -> None:
    kept = GRU(Initial([0], "uniform", 0.5), 4, 6, "torch")
    written = GRU(Initial([0], "uniform", 0.5), 4, 6, "printed")
    with torch.no_grad():  # 1 − σ(a) = σ(−a): turn the sign of everything that makes z
        for value in written.parameters():
            value[..., 6:12].neg_()
    inputs = torch.randn(1, 3, 5, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(run(kept, inputs), run(written, inputs), rtol=1e-5, atol=1e-6)
    same_weights = GRU(Initial([0], "uniform", 0.5), 4, 6, "printed")
    assert not torch.allclose(run(kept, inputs), run(same_weights, inputs), atol=1e-3)


@pytest.mark.parametrize("cell", [*map(made, CELLS), made(GRU)])
def test_looking_at_the_gates_changes_no_bit_of_the_states(cell: Cell) -> None:
    inputs = torch.randn(3, 5, 7, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(run(cell, inputs), run(cell, inputs, looking))


def test_gradients_in_the_printed_convention_equal_autograds() -> None:
    cell = GRU(Initial([0], "uniform", 0.5), 4, 6, "printed")
    inputs = torch.randn(1, 5, 7, 4, generator=torch.Generator().manual_seed(0))
    pairs = []
    for tap in (untouched, looking):
        total = run(cell, inputs, tap).square().sum()
        pairs.append(torch.autograd.grad(total, list(cell.parameters())))
    for ours, plain in zip(*pairs, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-5)


def test_a_closed_or_open_update_gate_keeps_or_overwrites() -> None:
    cell = made(GRU, range(1))
    assert isinstance(cell, GRU)
    state = (torch.full((1, 2, 6), 0.3),)
    project, recur = cell.open()
    projected = project(torch.ones(1, 2, 4))

    def step(value: float) -> torch.Tensor:
        def tap(site: str, seen: torch.Tensor) -> torch.Tensor:
            return torch.full_like(seen, value) if site.endswith("update") else seen

        return cell.step(projected, state, recur, tap, "cell")[0]

    torch.testing.assert_close(step(1.0), state[0])
    assert not torch.allclose(step(0.0), state[0], atol=1e-2)


def test_the_sigmoid_is_pytorchs_and_rounds_the_same_at_any_place() -> None:
    x = torch.linspace(-20, 20, 1001, requires_grad=True)
    torch.testing.assert_close(sigmoid(x), torch.sigmoid(x), rtol=1e-5, atol=1e-7)
    (ours,) = torch.autograd.grad(sigmoid(x).square().sum(), x)
    (theirs,) = torch.autograd.grad(torch.sigmoid(x).square().sum(), x)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
    for size in (1, 3, 7, 63, 70, 333):
        assert torch.equal(sigmoid(x[:size]), sigmoid(x)[:size])
