"""Numbers of weight matrices, against matrices whose structure is known."""

import networkx as nx
import numpy as np
import pytest

from recombine.analyses.weights import (
    Weights,
    held_by_top,
    inequality,
    layout,
    matrices,
    measures,
    modularity,
    polarity,
    strongest,
)
from recombine.errors import BadValue, UnknownName
from recombine.models.mlp import MLP
from recombine.tasks.corners import Corners

RNG = np.random.default_rng(0)


def test_the_strongest_edges_are_the_largest() -> None:
    matrix = RNG.standard_normal((30, 40))
    graph = strongest(matrix, share=0.05)
    assert len(graph.weights) == 60
    assert np.abs(graph.weights).min() >= np.sort(np.abs(matrix).ravel())[-60]
    assert np.array_equal(graph.weights, matrix[graph.senders, graph.receivers])
    above = strongest(matrix, threshold=2.0)
    assert len(above.weights) == (np.abs(matrix) > 2.0).sum()


def test_mass_and_inequality_of_alike_and_of_one() -> None:
    alike, one = np.ones(200), np.eye(200)[7]
    assert held_by_top(alike) == pytest.approx(0.01)
    assert held_by_top(one) == 1.0
    assert inequality(alike) == pytest.approx(0.0)
    assert inequality(one) == pytest.approx(1 - 1 / 200)


def test_inequality_is_half_the_mean_difference_over_the_mean() -> None:
    masses = RNG.random(50)
    pairs = np.abs(masses[:, None] - masses[None]).mean()
    assert inequality(masses) == pytest.approx(pairs / (2 * masses.mean()))


def test_polarity_of_one_sign_and_of_signs_that_cancel() -> None:
    one_sign = np.outer([1.0, -1.0, 1.0, -1.0], np.ones(4))
    assert polarity(strongest(one_sign, share=1.0)) == 1.0
    assert polarity(strongest(one_sign.T, share=1.0)) == 0.0


def test_blocks_are_modular_and_a_shuffle_is_not() -> None:
    blocks = np.kron(np.eye(5), np.ones((40, 40))) * RNG.uniform(0.5, 1, (200, 200))
    blocks += 0.01 * RNG.standard_normal(blocks.shape)
    found = measures(blocks, recurrent=True)
    assert found["modularity"] > 0.7
    assert found["modularity_beyond"] > 0.25
    noise = measures(RNG.standard_normal((200, 200)), recurrent=True)
    assert abs(noise["modularity_beyond"]) < 0.05


def test_two_cliques_have_the_modularity_of_the_formula() -> None:
    """Q = Σ_c (share of edges inside c − (share of degree in c)²): ½ for two equal cliques."""
    clique = np.ones((4, 4)) - np.eye(4)
    graph = strongest(np.kron(np.eye(2), clique), threshold=0.5, recurrent=True)
    assert modularity(graph) == pytest.approx(0.5)


def test_a_matrix_between_layers_keeps_the_sides_apart() -> None:
    graph = strongest(np.eye(3, 5), threshold=0.5)
    assert strongest(np.eye(3), threshold=0.5).undirected().number_of_nodes() == 6
    built = graph.undirected()
    assert built.number_of_nodes() == 6 and nx.number_connected_components(built) == 3


def test_the_analysis_reads_named_matrices_lane_by_lane() -> None:
    model, task = MLP(widths=(8, 6)), Corners()
    stack = model.stack([0, 1, 2], task.input_shape, 2, 2)
    found = Weights(parameter="weights.1").measure(stack, task, model)
    expected = measures(matrices(stack, "weights.1")["weights.1"][2])
    assert found["weights/weights.1/polarity"].shape == (3,)
    assert found["weights/weights.1/mean"][2] == expected["mean"]
    gate = Weights(parameter="weights.1", gate=1, gates=3)
    whole = matrices(stack, "weights.1")["weights.1"][0]
    assert np.array_equal(gate.block(whole), whole[:, 2:4])


def test_what_cannot_be_is_refused() -> None:
    model, task = MLP(), Corners()
    stack = model.stack([0], task.input_shape, 2, 2)
    with pytest.raises(UnknownName):
        Weights(parameter="nowhere").measure(stack, task, model)
    with pytest.raises(BadValue):
        Weights(gate=3, gates=3)


@pytest.mark.parametrize("recurrent", [True, False])
def test_a_matrix_of_zeros_has_no_shares(recurrent: bool) -> None:
    found = measures(np.zeros((12, 12)), recurrent=recurrent)
    assert found.pop("largest") == found.pop("mean") == 0.0
    assert len(found) == 7 and np.isnan(list(found.values())).all()


def test_blocks_that_are_not_equal_are_refused() -> None:
    with pytest.raises(BadValue, match=r"gates = 5 .* divides the 36 columns of cell"):
        Weights("cell", gate=4, gates=5).block(np.zeros((12, 36)))


def test_a_layout_keeps_the_edges_and_is_the_same_every_time() -> None:
    matrix = RNG.standard_normal((40, 40))
    graph = strongest(matrix, share=0.03, recurrent=True)
    places, edges, weights = layout(graph)
    again, _, _ = layout(graph)
    assert np.array_equal(places, again) and np.array_equal(weights, graph.weights)
    nodes = list(graph.undirected())
    assert [nodes[a] for a, _ in edges] == graph.senders.tolist()
    assert [nodes[b] for _, b in edges] == graph.receivers.tolist()
    between, ends, _ = layout(strongest(np.eye(3, 5), threshold=0.5))
    assert between.shape == (6, 2) and ends.shape == (3, 2)
