"""Cells of `gated`: a seed's bits do not depend on its neighbours; gaps are told, not hidden."""

import math

import numpy as np
import pytest
import torch

from recombine.cell import Arrays, Cell, Context
from recombine.errors import BadValue, Interrupted
from recombine.models.gated import Gated
from recombine.studies.gated_cells import GatedTable, Limit, example_gradients
from recombine.studies.gated_data import lanes, synthetic, toy, toy_reference
from recombine.studies.gated_relu_cell import GatedReLU
from recombine.theory.gated import respond
from recombine.theory.max_margin import REASONS
from recombine.training.normalised import Descent, Normalised

SHORT, BRIEF = Normalised(steps=30), Descent(steps=12)
CELLS: list[Cell] = [
    Limit(problem="toy", model=Gated(widths=(2,), init="normal"), training=SHORT),
    Limit(model=Gated(widths=(), planes=2, init="normal"), training=SHORT),
    Limit(model=Gated(widths=(4, 3), init="normal"), training=SHORT),
    GatedTable(n=37, training=BRIEF),
    GatedTable(n=37, model=Gated(widths=(), planes=1), training=Descent(steps=12, batch=8)),
    GatedReLU(n=37, training=BRIEF, frozen=True),
]


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: c.name)
def test_a_seed_has_the_same_bits_alone_and_beside_others(cell: Cell) -> None:
    together = cell.run([0, 1, 2, 3, 4], Context())
    for seeds in ([3], [1, 3]):
        alone = cell.run(seeds, Context())
        np.testing.assert_equal(dict(alone[3].scalars), dict(together[3].scalars))
        np.testing.assert_equal(dict(alone[3].arrays), dict(together[3].arrays))


def test_gradients_of_margins_are_those_of_finite_differences() -> None:
    model = Gated(widths=(3, 2), init="normal")
    sample = synthetic(0, n=5, dim=2, model=model)
    nets, points = lanes(model, [0], [sample], torch.float64)
    theta, margins, slopes = example_gradients(nets, points, 0)
    assert slopes.shape == (5, len(theta))
    step = 1e-6 * np.random.default_rng(0).standard_normal(len(theta))
    at = 0
    with torch.no_grad():
        for layer in nets.layers:
            piece = step[at : at + layer.numel()]
            layer.add_(torch.from_numpy(piece).reshape(layer.shape))
            at += layer.numel()
    moved = points.margins(nets)[0].detach().numpy()
    np.testing.assert_allclose(moved - margins, slopes @ step, atol=1e-10)
    # Euler: θ · ∇q = L q for a network of degree L.
    np.testing.assert_allclose(slopes @ theta, model.degree * margins)


def test_the_toy_is_labelled_by_its_reference() -> None:
    sample = toy(0)
    assert sample.x.shape == (16, 3) and sample.y.sum() == 0
    outputs = respond(toy_reference(), sample.x, sample.on[0])
    np.testing.assert_allclose(outputs, np.abs(sample.x[:, :2]).sum(1) - 1)
    assert (sample.y * outputs > 0.25).all()


def test_a_problem_without_a_solution_is_a_gap_with_a_reason() -> None:
    cell = GatedTable(n=1400, model=Gated(widths=(), planes=0), training=Descent(steps=2))
    scalars = cell.run([0], Context())[0].scalars
    assert math.isnan(scalars["error/svm"]) and math.isnan(scalars["inconsistency/svm"])
    assert REASONS[int(scalars["reason/svm"])] == "no predictor of this form separates the points"
    assert not math.isnan(scalars["error/gd"])


def test_what_the_cells_cannot_do_is_refused() -> None:
    for wrong in (
        lambda: Limit(points=0),
        lambda: Limit(problem="toy"),
        lambda: Limit(model=Gated(gates="relu")),
        lambda: GatedTable(n=0),
        lambda: GatedTable(model=Gated(gates="relu")),
        lambda: GatedReLU(model=Gated()),
        lambda: GatedReLU(n=0),
    ):
        with pytest.raises(BadValue):
            wrong()


class _Shelf:
    """A checkpoint in memory that counts what was found."""

    def __init__(self) -> None:
        self.held: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.held

    def save(self, arrays: Arrays) -> None:
        self.held = {name: np.array(value) for name, value in arrays.items()}


@pytest.mark.parametrize("kill", [100, 300, 500])
def test_a_killed_relu_network_ends_with_the_same_bits(kill: int) -> None:
    # three trainings of 200 steps: the network, then two with frozen gates
    cell, shelf, seen = GatedReLU(n=20, training=Descent(steps=200), frozen=True), _Shelf(), 0

    def strike(done: int, total: int) -> None:
        nonlocal seen
        seen += 100
        if seen > kill:
            raise Interrupted("asked to stop")

    with pytest.raises(Interrupted):
        cell.run([0, 1], Context(progress=strike, checkpoint=shelf, checkpoint_every=0.0))
    assert shelf.held is not None
    whole = cell.run([0, 1], Context())
    again = cell.run([0, 1], Context(checkpoint=shelf))
    for seed in (0, 1):
        np.testing.assert_equal(dict(again[seed].scalars), dict(whole[seed].scalars))


def test_frozen_gates_agree_with_their_own_machine_and_stay_put() -> None:
    cell = GatedReLU(n=100, training=Descent(steps=1500), frozen=True)
    scalars = cell.run([0], Context())[0].scalars
    for name in ("learned", "random"):
        assert scalars[f"train/frozen-{name}"] == 0.0
        assert scalars[f"inconsistency/frozen-{name}"] < 0.12
    # the machine of the first gates knows the frozen network better than the one that moved on
    assert scalars["inconsistency/frozen-random"] < scalars["inconsistency/random"]
    assert 0 < scalars["error/gates"] < 0.5


def test_a_relu_network_on_one_class_or_one_image_has_numbers_or_reasons() -> None:
    scalars = GatedReLU(n=1, training=BRIEF, frozen=True).run([0], Context())[0].scalars
    for name in ("hidden", "learned", "random"):
        missing = math.isnan(scalars[f"error/{name}"])
        assert missing == bool(scalars[f"reason/{name}"])
