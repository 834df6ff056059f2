"""Gated stacks against loops written out, and against the ReLU they freeze."""

import numpy as np
import pytest
import torch

from recombine.errors import BadValue
from recombine.models.gated import Gated, StackedGated


def inputs(n: int = 9, dim: int = 3) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((1, n, dim))).float()


def stack(model: Gated, seeds: range = range(3)) -> StackedGated:
    made = model.stack(seeds, (3,), 1, 2)
    assert isinstance(made, StackedGated)
    return made.double()


@pytest.mark.parametrize("widths", [(), (4,), (4, 3)])
def test_a_stack_computes_what_a_loop_over_units_does(widths: tuple[int, ...]) -> None:
    nets = stack(Gated(widths=widths, planes=2))
    x = torch.cat([inputs(), torch.ones(1, 9, 1)], dim=-1)[0].double().numpy()
    outputs = nets(inputs()).detach().numpy()[..., 0, 0]
    layers = [p.detach().numpy() for p in nets.layers]
    for lane in range(3):
        for i, point in enumerate(x):
            z = point
            for k, weight in enumerate(layers[:-1] if widths else layers):
                normal = getattr(nets, f"normal_{k}")[lane].numpy()
                sides = normal @ point > getattr(nets, f"threshold_{k}")[lane].numpy()
                z = np.array([w[c] @ z for w, c in zip(weight[lane], sides @ [1, 2], strict=True)])
            wanted = z[0] if not widths else layers[-1][lane, 0] @ z
            np.testing.assert_allclose(outputs[lane, i], wanted)


def test_a_frozen_relu_starts_as_the_relu_and_keeps_its_gates() -> None:
    free, frozen = stack(Gated(gates="relu")), stack(Gated(gates="frozen-relu"))
    torch.testing.assert_close(free(inputs()), frozen(inputs()))
    with torch.no_grad():
        for nets in (free, frozen):
            nets.layers[0].neg_()
    assert not torch.allclose(free(inputs()), frozen(inputs()))
    torch.testing.assert_close(frozen(inputs()), -stack(Gated(gates="frozen-relu"))(inputs()))


@pytest.mark.parametrize("model", Gated.variants())
def test_outputs_are_homogeneous_in_the_weights(model: Gated) -> None:
    nets = stack(model)
    before = nets(inputs())
    with torch.no_grad():
        for layer in nets.layers:
            layer.mul_(1.7)
    torch.testing.assert_close(nets(inputs()), 1.7**model.degree * before)


@pytest.mark.parametrize("rows", [3, 12])
def test_orthogonal_weights_are_orthogonal(rows: int) -> None:
    weight = Gated(widths=(rows,), planes=0).draw(0, 6)[0][:, 0]
    short = weight @ weight.T if rows < 6 else weight.T @ weight
    np.testing.assert_allclose(short, np.eye(min(rows, 6)), atol=1e-5)


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(BadValue, match="two classes"):
        Gated().stack([0], (3,), 1, 3)
    with pytest.raises(BadValue, match="gates"):
        Gated(gates="relu", planes=2)
    with pytest.raises(BadValue, match="widths"):
        Gated(widths=(0,))
    with pytest.raises(BadValue, match="scale"):
        Gated(scale=0.0)


@pytest.mark.parametrize(
    "model", [*Gated.variants(), Gated(widths=(4, 3), planes=2), Gated(widths=(4, 3), gates="relu")]
)
def test_gradients_by_hand_are_those_of_autograd(model: Gated) -> None:
    nets = stack(model)
    x = torch.cat([inputs(), torch.ones(1, 9, 1)], dim=-1).double().expand(3, -1, -1)
    on = [nets._contexts(x, i) for i in range(nets._gated)]
    found = nets.gradients(x, on, torch.sin)
    outputs = nets(inputs())[:, :, 0, 0]
    total = (torch.sin(outputs.detach()) * outputs).sum()
    for ours, theirs in zip(found, torch.autograd.grad(total, [*nets.layers]), strict=True):
        torch.testing.assert_close(ours, theirs)
