"""Weight matrices as pictures and as numbers: heat maps, graphs of the strongest edges.

A matrix joins senders (rows) to receivers (columns). Its numbers:

- *mass*: the share of Σ|w| that the top 1% of senders (or receivers) hold; 0.01 if all are alike.
- *inequality*: Gini's coefficient of the same masses, 0 if all are alike, towards 1 if one has all.
- *polarity*: Σ_i |Σ_j w_ij| / Σ_ij |w_ij| over the edges of the graph: 1 if all strong weights of
  a sender have one sign, about 0 if they cancel.
- *modularity* (Newman): edges within communities (Louvain's) beyond what degrees alone would give.
  A sparse random graph has some as well, because communities are *sought*; so the same is measured
  after the entries of the matrix are shuffled, and `modularity_beyond` is the difference.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from recombine.analyses.analysis import ANALYSIS_SEED, Analysis
from recombine.errors import BadValue, UnknownName
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.seeds import stream
from recombine.tasks.task import Task

if TYPE_CHECKING:
    import networkx  # type: ignore[import-untyped, unused-ignore]

TOP = 0.01
"""The strongest neurons, and the strongest edges, as a share of all."""


@dataclass(frozen=True)
class Graph:
    """The strongest edges of a matrix."""

    senders: Int[np.ndarray, " edge"]
    receivers: Int[np.ndarray, " edge"]
    weights: Float[np.ndarray, " edge"]
    recurrent: bool
    """Whether senders and receivers are the same neurons."""

    def undirected(self) -> networkx.Graph:
        """The edges with |weight|; in a matrix between two layers each side has its own nodes."""
        graph = _networkx().Graph()
        for i, j, w in zip(self.senders, self.receivers, self.weights, strict=True):
            a, b = int(i), int(j) if self.recurrent else -1 - int(j)
            # Two directions between the same neurons add up.
            known = graph.edges[a, b]["weight"] if graph.has_edge(a, b) else 0.0
            graph.add_edge(a, b, weight=known + abs(float(w)))
        return graph


def strongest(
    matrix: Float[np.ndarray, "sender receiver"],
    *,
    share: float = TOP,
    threshold: float | None = None,
    recurrent: bool = False,
) -> Graph:
    """The share of edges with the largest |w|, or all above a threshold."""
    size = np.abs(matrix).ravel()
    if threshold is None:
        kept = np.argsort(-size, kind="stable")[: max(1, round(share * size.size))]
    else:
        kept = np.flatnonzero(size > threshold)
    i, j = np.unravel_index(np.sort(kept), matrix.shape)
    return Graph(i, j, matrix[i, j], recurrent)


def held_by_top(masses: Float[np.ndarray, " neuron"], *, share: float = TOP) -> float:
    """The share of all mass that the heaviest neurons hold."""
    top = np.sort(masses)[::-1][: max(1, round(share * len(masses)))]
    return float(top.sum() / masses.sum()) if masses.sum() > 0 else float("nan")


def inequality(masses: Float[np.ndarray, " neuron"]) -> float:
    """Gini's coefficient: half the mean difference between two neurons, over their mean."""
    ordered, n = np.sort(masses), len(masses)
    if ordered.sum() == 0:
        return float("nan")
    rank = 2 * np.arange(1, n + 1) - n - 1
    return float((rank * ordered).sum() / (n * ordered.sum()))


def polarity(graph: Graph) -> float:
    """How far the strong weights of each sender have one sign."""
    if not graph.weights.any():
        return float("nan")
    sums = np.bincount(graph.senders, weights=graph.weights)
    return float(np.abs(sums).sum() / np.abs(graph.weights).sum())


def modularity(graph: Graph) -> float:
    """Newman's modularity of Louvain's communities, weighted by |w|."""
    if not graph.weights.any():
        return float("nan")
    built = graph.undirected()
    found = _networkx().community.louvain_communities(built, weight="weight", seed=ANALYSIS_SEED)
    return float(_networkx().community.modularity(built, found, weight="weight"))


def layout(
    graph: Graph,
) -> tuple[Float[np.ndarray, "node 2"], Int[np.ndarray, "edge 2"], Float[np.ndarray, " edge"]]:
    """A picture of the graph: places of its nodes, edges between them, and their weights.

    Connected nodes attract and all repel each other (Fruchterman & Reingold), from a fixed start;
    rounded, so that the last bits of a machine do not move the picture.
    """
    built = graph.undirected()
    number = {node: i for i, node in enumerate(built)}
    places = _networkx().spring_layout(built, seed=ANALYSIS_SEED, weight="weight", iterations=60)
    receivers = graph.receivers if graph.recurrent else -1 - graph.receivers
    ends = [(number[int(i)], number[int(j)]) for i, j in zip(graph.senders, receivers, strict=True)]
    found = np.array([places[node] for node in built], dtype=float).reshape(-1, 2)
    return np.round(found, 4), np.array(ends, dtype=np.int64).reshape(-1, 2), graph.weights


def measures(
    matrix: Float[np.ndarray, "sender receiver"], *, recurrent: bool = False
) -> dict[str, float]:
    """Every number of a matrix."""
    size = np.abs(matrix)
    graph = strongest(matrix, recurrent=recurrent)
    rng = stream(ANALYSIS_SEED, "shuffle")
    shuffled = rng.permutation(matrix.ravel()).reshape(matrix.shape)
    found = modularity(graph)
    return {
        "mass_senders": held_by_top(size.sum(axis=1)),
        "mass_receivers": held_by_top(size.sum(axis=0)),
        "inequality_senders": inequality(size.sum(axis=1)),
        "inequality_receivers": inequality(size.sum(axis=0)),
        "polarity": polarity(graph),
        "modularity": found,
        "modularity_beyond": found - modularity(strongest(shuffled, recurrent=recurrent)),
        "largest": float(size.max()),
        "mean": float(size.mean()),
    }


@dataclass(frozen=True)
class Weights(Analysis):
    """Measures every weight matrix whose name matches, or one gate's block of it."""

    name: ClassVar[str] = "weights"

    parameter: str = "*"
    """Name of the parameter in the stack, with wildcards; it must be a matrix in each lane."""
    gate: int | None = None
    """Which of `gates` equal blocks of receivers is meant; none: all of them."""
    gates: int = 1
    recurrent: bool = False
    """Whether rows and columns are the same neurons."""
    as_name: str = ""
    """What results are called; empty: the parameter's name."""

    def validate(self) -> None:
        if self.gates < 1:
            raise BadValue("analyses/weights.gates", self.gates, "at least 1")
        if self.gate is not None and not 0 <= self.gate < self.gates:
            raise BadValue("analyses/weights.gate", self.gate, f"0 to {self.gates - 1}, or none")

    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for name, lanes in matrices(stack, self.parameter).items():
            called = self.as_name or name
            blocks = [self.block(matrix) for matrix in lanes]
            each = [measures(block, recurrent=self.recurrent) for block in blocks]
            for number in each[0]:
                found[f"weights/{called}/{number}"] = np.array([one[number] for one in each])
        return found

    def block(self, matrix: Float[np.ndarray, "sender all"]) -> Float[np.ndarray, "sender one"]:
        """The receivers that are meant."""
        if self.gate is None:
            return matrix
        width, left = divmod(matrix.shape[1], self.gates)
        if left:
            legal = f"a number that divides the {matrix.shape[1]} columns of {self.parameter}"
            raise BadValue("analyses/weights.gates", self.gates, legal)
        return matrix[:, self.gate * width : (self.gate + 1) * width]


def matrices(stack: Stack, pattern: str) -> dict[str, Float[np.ndarray, "lane sender receiver"]]:
    """The parameters that match and are matrices, [lane, sender, receiver]."""
    named = {name: p for name, p in stack.named_parameters() if p.ndim == 3}
    chosen = {
        name: p.detach().cpu().double().numpy()
        for name, p in named.items()
        if fnmatchcase(name, pattern)
    }
    if not chosen:
        raise UnknownName("weight matrix", pattern, named)
    return chosen


def _networkx() -> Any:
    """Imported by those who draw graphs: it takes a sixth of a second."""
    return importlib.import_module("networkx")
