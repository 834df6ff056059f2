"""Part `kernel/dense`: what its tables set beside the published numbers."""

import numpy as np

from recombine.analyses.additivity import rows
from recombine.cell import Outcome
from recombine.studies.kernel_dense_shown import ADDITION, addition_table
from recombine.studies.results import Results, Seeds
from recombine.tasks.addition import SETS, Addition


def test_published_additivity_stands_beside_the_lazy_and_the_richest_network() -> None:
    cells = {}
    for name in ADDITION:
        task = Addition(trained_items=SETS[name])
        sums = task.values[rows(task)[0]].sum(axis=1)
        for sigma in ("1", "1e-3", "1e-2"):
            share = {"additivity/test": np.array([0.7]), "additivity/train": np.array([1.0])}
            outcome = Outcome({}, {"answers/mean": 0.5 * sums[None], **share})
            cells[f"{name} {sigma}"] = Seeds({0: outcome, 1: outcome})
    table = addition_table(Results("quick", "as-run", cells))
    columns = [table.columns.index(c) for c in ("trained set", "σ", "published R²")]
    told = {(row[columns[0]], row[columns[1]]): row[columns[2]] for row in table.rows}
    for name in ADDITION:
        assert told[name, "1"] == "≈ 1" and told[name, "1e-2"] is None
        assert told[name, "1e-3"] == (".855 ± .05" if name == "asymmetric" else "≈ 1")
    for row in table.rows:
        slope, held_out, mean = (row[i] for i in (4, 7, 8))
        assert [round(v.estimate, 9) for v in (slope, held_out, mean)] == [0.5, 0.7, 0.85]  # type: ignore[union-attr]
