"""How far requests are, from the store alone: no study, and so no torch, is imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recombine.engine.provenance import source_of_modules
from recombine.runs import Asked, Store


@dataclass(frozen=True)
class Standing:
    """How far one cell of a request is."""

    request: Asked
    cell: str
    key: str
    done: int
    missing: int
    begun: int
    """Jobs of one or more missing seeds that are under way, or will continue, from a checkpoint."""
    failed: int
    stale: int
    """Seeds done by another version of the source than this one."""


def standing(asked: Sequence[Asked], store: Store) -> list[Standing]:
    """How far each cell of each request is."""
    rows = []
    for request in asked:
        for cell in request.cells:
            source = source_of_modules(cell.modules)
            held = {row.seed: row for row in store.index.rows(cell.key)}
            found = [held[seed] for seed in cell.seeds if seed in held]
            states = [row.status for row in found]
            rows.append(
                Standing(
                    request=request,
                    cell=cell.name,
                    key=cell.key,
                    done=states.count("done"),
                    missing=len(cell.seeds) - len(found),
                    begun=store.begun(cell.key),
                    failed=states.count("failed"),
                    stale=sum(row.status == "done" and row.source != source for row in found),
                )
            )
    return rows
