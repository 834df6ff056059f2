"""Descent on diagonal nets against autograd; stopping, divergence, and going on after a stop."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch

from recombine.cell import Context
from recombine.errors import Interrupted
from recombine.models.diagonal import Diagonal
from recombine.training.diagonal import Descent, Task, descend

X = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 6, 5)))
Y = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 6)))


def start(runs: int = 2, tasks: int = 2) -> Diagonal:
    return Diagonal.at(torch.full((2, runs, 5), 0.3, dtype=torch.float64), tasks=tasks)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_one_update_is_that_of_autograd(decay: float) -> None:
    """Two tasks, the second run sees three examples only."""
    tasks = [Task.prefixes(X, Y, (6, 3)), Task.prefixes(X.flip(1), Y.flip(1), (6, 6))]
    net = start()
    parameters = [value.clone().requires_grad_() for value in net.tensors()]
    plus, minus, *v = parameters
    loss = torch.zeros((), dtype=torch.float64)
    for t, (x, y) in enumerate(((X, Y), (X.flip(1), Y.flip(1)))):
        beta = plus * v[2 * t] - minus * v[2 * t + 1]
        for run, n in enumerate((6, 3) if t == 0 else (6, 6)):
            answers = (x[:, :n] * beta[:, run, None]).sum(-1)
            loss = loss + (answers - y[:, :n]).square().sum() / (2 * n)
    loss = loss + decay / 2 * sum(p.square().sum() for p in parameters)
    gradients = torch.autograd.grad(loss, parameters)
    end = descend(net, tasks, Descent(steps=1, rate=0.01, decay=decay)).net
    for value, p, g in zip(end.tensors(), parameters, gradients, strict=True):
        assert torch.allclose(value, p - 0.01 * g, atol=1e-5 if decay else 1e-12)


def test_linear_probing_leaves_the_first_layer() -> None:
    net = start(tasks=1)
    how = Descent(steps=100, readout_only=True)
    end = descend(net, [Task.prefixes(X, Y, (6, 3))], how).net
    assert torch.equal(end.w[0], net.w[0]) and not torch.equal(end.v[0][0], net.v[0][0])


def test_a_run_stops_when_its_loss_is_small() -> None:
    task = Task.prefixes(X, Y, (6, 2))
    end = descend(start(tasks=1), [task], Descent(steps=4000, rate=0.1, tolerance=1e-6))
    assert (end.loss[:, 1] < 1e-6).all() and end.stopped[:, 1].isfinite().all()
    longer = descend(start(tasks=1), [task], Descent(steps=8000, rate=0.1, tolerance=1e-6))
    assert torch.equal(longer.net.w[0][:, 1], end.net.w[0][:, 1])


def test_a_run_that_diverges_begins_again_slower() -> None:
    task = Task.prefixes(X, Y, (2, 2))
    end = descend(start(tasks=1), [task], Descent(steps=3000, rate=8.0, tolerance=1e-8))
    assert (end.loss < 1e-8).all()


def test_no_examples_move_nothing() -> None:
    task = Task.prefixes(X, Y, (0, 6))
    end = descend(start(tasks=1), [task], Descent(steps=10))
    assert torch.equal(end.net.w[0][:, 0], start().w[0][:, 0])


class Notebook:
    """A checkpoint in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, np.ndarray] | None = None

    def load(self) -> dict[str, np.ndarray] | None:
        return self.kept

    def save(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.kept = {name: np.array(value) for name, value in arrays.items()}


def test_a_stopped_descent_goes_on_to_the_same_bits() -> None:
    task, how, notebook = Task.prefixes(X, Y, (6, 3)), Descent(steps=500), Notebook()

    def stop(done: int, total: int) -> None:
        if done == 250:
            raise Interrupted("stopped")

    with pytest.raises(Interrupted):
        context = Context(progress=stop, checkpoint=notebook)
        descend(start(tasks=1), [task], how, context=context, stage="a")
    again = Context(checkpoint=notebook)
    ended = descend(start(tasks=1), [task], how, context=again, stage="a")
    whole = descend(start(tasks=1), [task], how)
    assert notebook.kept is not None and int(notebook.kept["at"]) == 250
    assert torch.equal(ended.net.w[0], whole.net.w[0])
    other = descend(start(tasks=1), [task], how, context=again, stage="b")
    assert torch.equal(other.net.w[0], whole.net.w[0]), "another stage starts anew"
