"""One row for each tested combination: `rows.csv` beside an audit's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recombine.auditing.source import free

if TYPE_CHECKING:
    from recombine.auditing.audit import Audit


def rows(audit: Audit) -> pl.DataFrame:
    """Each tested combination: its label, what it shares with training, what clashes."""
    combinations, table = audit.combinations, audit.table
    tested = np.flatnonzero(combinations.tested)
    z = combinations.z[tested]
    named: dict[str, Any] = {}
    for place, name in enumerate(table.factors):
        values = np.array(table.values[place], dtype=object)
        named[name] = pl.Series(values[z[:, place]].tolist(), dtype=pl.String)
    y = combinations.test.y[tested]
    named[table.label] = [table.classes[int(v)] for v in y] if table.classes else y
    found: dict[str, Any] = {
        "rows in test": combinations.test.count[tested],
        "rows in training": combinations.train.count[tested],
    }
    for order in range(1, audit.conjunctions.order + 1):
        found[f"seen of order {order}"] = audit.conjunctions.of(order)[tested].mean(axis=1)
    clash = np.zeros(len(combinations.z), dtype=np.int64)
    for number, witness in enumerate(audit.learnable.witnesses(), start=1):
        clash[list(witness)] = number
    found["clash"] = clash[tested]
    first = {free("row", named, "audit"): combinations.test.row[tested]}
    return pl.DataFrame(
        first | named | {free(name, named, "audit"): cells for name, cells in found.items()}
    )
