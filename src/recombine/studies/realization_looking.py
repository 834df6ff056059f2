"""Everything part `realization/inside` measures in a trained network: Tables 2-3, Figures 1-4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recombine.analyses.activations import Activations
from recombine.analyses.analysis import Analysis
from recombine.analyses.diagnostics import Diagnostics
from recombine.analyses.gates import Gates
from recombine.analyses.probes import Variant, strong_share
from recombine.analyses.pruning import strength
from recombine.analyses.weights import Weights, layout, matrices, strongest
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.tasks.task import Task

STRONG = 0.05
"""The strongest units, by absolute weight, among which groups are sought."""
TABLES = "t*"
"""The source words that are tables."""
VARIANTS: tuple[Variant, ...] = ("honest", "as-run")


@dataclass(frozen=True)
class Row:
    """A row of Tables 2 and 3."""

    part: str
    what: str
    reads: str

    @property
    def name(self) -> str:
        """As results name it."""
        return f"{self.part}.{self.what}.{self.reads}"


ROWS = (
    Row("encoder", "state", "word"),
    Row("decoder", "update", "word"),
    Row("decoder", "reset", "word"),
    Row("encoder", "state", "time"),
)
CELLS = {"encoder": "encoder.cells.0", "decoder": "decoder.cell"}
"""How the parameters of each part's recurrent cell are called."""
GATES = tuple((part, gate) for part in CELLS for gate in ("update", "reset"))
MATRICES = {
    "encoder W_hz": Weights(
        "encoder.cells.0.hidden", gate=1, gates=3, recurrent=True, as_name="encoder W_hz"
    ),
    "decoder W_iz": Weights("decoder.cell.input", gate=1, gates=3, as_name="decoder W_iz"),
    "decoder embedding": Weights("decoder.embedding", as_name="decoder embedding"),
}
"""The matrices of Figures 1 and 2; the update gate is the second of three."""
DRAWN = ("encoder W_hz", "decoder W_iz")
"""Drawn as graphs."""


def look(stack: Stack, task: Task, model: Model, *, folds: int) -> Mapping[str, np.ndarray]:
    """All measurements, lane by lane."""
    analyses: list[Analysis] = [
        Diagnostics(row.part, row.what, row.reads, words, variant, folds)  # type: ignore[arg-type]
        for row in ROWS
        for variant in VARIANTS
        for words in (TABLES if row.reads == "word" else "*",)
    ]
    analyses += [Gates(part, gate) for part, gate in GATES]
    analyses += [Activations(part, "state") for part in CELLS]
    analyses += MATRICES.values()
    found: dict[str, np.ndarray] = {}
    for analysis in analyses:
        found |= analysis.measure(stack, task, model)
    return found | _strong_groups(stack, found) | _pictures(stack)


def strengths(stack: Stack, part: str) -> np.ndarray:
    """The strength of each unit of a part's cell, [lane, unit]."""
    cell = CELLS[part]
    incoming = matrices(stack, f"{cell}.input")[f"{cell}.input"]
    recurrent = matrices(stack, f"{cell}.hidden")[f"{cell}.hidden"]
    return np.stack([strength(a, b) for a, b in zip(incoming, recurrent, strict=True)])


def _strong_groups(stack: Stack, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The share of each functional group that is among the strongest units of its cell."""
    shares = {}
    for row in ROWS:
        weighed = strengths(stack, row.part)
        for variant in VARIANTS:
            places = found[f"diagnostics/{row.name}.{variant}/group"]
            each = [
                strong_share(np.flatnonzero(place).tolist(), weight, STRONG)
                for place, weight in zip(places, weighed, strict=True)
            ]
            shares[f"diagnostics/{row.name}.{variant}/strong"] = np.array(each)
    return shares


def _pictures(stack: Stack) -> dict[str, np.ndarray]:
    """What is drawn: the decoder's embedding, and graphs of the strongest edges."""
    embedding = matrices(stack, "decoder.embedding")["decoder.embedding"]
    found = {"picture/decoder embedding": embedding.astype(np.float32)}
    for name in DRAWN:
        spec = MATRICES[name]
        lanes = next(iter(matrices(stack, spec.parameter).values()))
        graphs = [strongest(spec.block(lane), recurrent=spec.recurrent) for lane in lanes]
        drawn = [layout(graph) for graph in graphs]
        # Graphs differ in how many nodes have an edge: the rest are left at NaN.
        rows, columns = spec.block(lanes[0]).shape
        most = rows if spec.recurrent else rows + columns
        places = np.full((len(drawn), most, 2), np.nan, dtype=np.float32)
        for lane, (found_places, _, _) in enumerate(drawn):
            places[lane, : len(found_places)] = found_places
        found[f"picture/{name}/places"] = places
        found[f"picture/{name}/edges"] = np.stack([edges for _, edges, _ in drawn])
        found[f"picture/{name}/weights"] = np.stack([w for _, _, w in drawn]).astype(np.float32)
    return found
