"""Descent on two-layer ReLU nets against autograd, with blocks, probing and checkpoints."""

import numpy as np
import pytest
import torch

from recombine.cell import Arrays, Context
from recombine.errors import Interrupted
from recombine.training.two_layer import Blocks, Course, TwoLayer, answers, fit

RNG = np.random.default_rng(0)
X = torch.from_numpy(RNG.standard_normal((2, 10, 3)))
Y = torch.from_numpy(RNG.standard_normal((2, 10)))


def start(tasks: int = 2) -> TwoLayer:
    rng = np.random.default_rng(1)
    first = torch.from_numpy(rng.standard_normal((2, 3, 4)))
    return TwoLayer(
        first, tuple(torch.from_numpy(rng.standard_normal((2, 4))) for _ in range(tasks))
    )


def run(net: TwoLayer, tasks: list[Blocks], course: Course) -> TwoLayer:
    return fit(net, tasks, course, context=Context(), stage="test")[0]


def test_blocks_come_in_turn() -> None:
    blocks = Blocks.of(X, Y, batch=4)
    assert [x.shape[1] for x in blocks.inputs] == [4, 4, 2]
    assert torch.equal(blocks.only(1).pairs()[1][1], Y[1, 4:8])


def test_two_updates_are_those_of_autograd() -> None:
    net, rate = start(), 0.01
    w, a, b = (value.clone().requires_grad_() for value in net.tensors())
    for step in range(2):
        rows = slice(5 * step, 5 * step + 5)
        x, y = X[:, rows], Y[:, rows]
        loss = torch.zeros((), dtype=torch.float64)
        for readout, target in ((a, y), (b, -y)):
            f = ((x @ w).relu() @ readout[..., None])[..., 0]
            loss = loss + (f - target).square().mean(1).sum() / 2
        gradients = torch.autograd.grad(loss, (w, a, b))
        w, a, b = (
            (p - rate * g).detach().requires_grad_()
            for p, g in zip((w, a, b), gradients, strict=True)
        )
    tasks = [Blocks.of(X, Y, batch=5), Blocks.of(X, -Y, batch=5)]
    end = run(net, tasks, Course(2, rate))
    for value, expected in zip(end.tensors(), (w, a, b), strict=True):
        assert torch.allclose(value, expected, atol=1e-12)


def test_probing_leaves_the_first_layer() -> None:
    net = start(1)
    end = run(net, [Blocks.of(X, Y, batch=5)], Course(50, 0.01, readout_only=True))
    assert torch.equal(end.first, net.first) and not torch.equal(end.readouts[0], net.readouts[0])


def test_a_seed_stops_when_its_loss_is_small() -> None:
    net = start(1)
    target = answers(net, 0, X)
    end = run(net, [Blocks.of(X, target, batch=10)], Course(200, 0.1, tolerance=1e-12))
    assert torch.equal(end.first, net.first)


@pytest.mark.parametrize("lanes", [[0], [1], [1, 0]])
def test_a_seed_has_the_same_bits_in_any_company(lanes: list[int]) -> None:
    def trained(rows: list[int]) -> torch.Tensor:
        net = start(1)
        net = TwoLayer(net.first[rows].float(), (net.readouts[0][rows].float(),))
        blocks = Blocks.of(X[rows].float(), Y[rows].float(), batch=4)
        return run(net, [blocks], Course(300, 0.05)).first

    together = trained([0, 1])
    for place, lane in enumerate(lanes):
        assert torch.equal(trained(lanes)[place], together[lane])


class _Shelf:
    """A checkpoint in memory."""

    def __init__(self) -> None:
        self.held: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.held

    def save(self, arrays: Arrays) -> None:
        self.held = {name: value.copy() for name, value in arrays.items()}


@pytest.mark.parametrize("kill", [100, 300, 500, 800])
def test_a_killed_run_goes_on_with_the_same_bits(kill: int) -> None:
    # two seeds of 400 updates each; the kill strikes in the first, between them, or in the second
    shelf, course = _Shelf(), Course(400, 0.02)
    tasks = [Blocks.of(X, Y, batch=4)]

    def strike(done: int, total: int) -> None:
        assert total == 800
        if done == kill:
            raise Interrupted("asked to stop")

    with pytest.raises(Interrupted):
        fit(start(1), tasks, course, context=Context(progress=strike, checkpoint=shelf), stage="a")
    whole = fit(start(1), tasks, course, context=Context(), stage="a")
    seen: list[int] = []
    context = Context(progress=lambda done, _: seen.append(done), checkpoint=shelf)
    again = fit(start(1), tasks, course, context=context, stage="a")
    assert all(done > kill for done in seen)
    for value, expected in zip(again[0].tensors(), whole[0].tensors(), strict=True):
        assert torch.equal(value, expected)
    assert torch.equal(again[1], whole[1])


def test_a_net_that_diverges_begins_again_with_a_smaller_rate() -> None:
    blocks = [Blocks.of(X, Y, batch=10)]
    wild, loss = fit(start(1), blocks, Course(1100, 2.0), context=Context(), stage="a")
    first = fit(start(1), blocks, Course(0, 2.0), context=Context(), stage="a")[1]
    assert all(bool(v.isfinite().all()) for v in wild.tensors()) and bool((loss < first).all())


def test_probing_is_descent_on_the_readout_alone() -> None:
    net, rate = start(1), 0.02
    end = run(net, [Blocks.of(X, Y, batch=10)], Course(7, rate, readout_only=True))
    hidden, a = (X @ net.first).relu(), net.readouts[0].clone()
    for _ in range(7):
        residual = (hidden @ a[..., None])[..., 0] - Y
        a = a - rate * (hidden * residual[..., None]).mean(1)
    assert torch.allclose(end.readouts[0], a, atol=1e-12)
