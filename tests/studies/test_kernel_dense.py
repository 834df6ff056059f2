"""Part `kernel/dense`: what its tables set beside the published numbers."""

import numpy as np
import pytest
from sklearn.svm import SVC  # type: ignore[import-untyped, unused-ignore]

from recombine.analyses.additivity import rows
from recombine.cell import Outcome
from recombine.studies.kernel_dense_shown import ADDITION, addition_table
from recombine.studies.kernel_reading import lazy_margin
from recombine.studies.results import Results, Seeds
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence
from recombine.theory.kernel_fit import least_norm


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


@pytest.mark.parametrize(("left_out", "within"), [(3, 0.003), (2, 0.005), (1, 0.01)])
def test_margins_of_lazy_networks_count_the_biases(left_out: int, within: float) -> None:
    """Against fits on all cells, with the kernel of wide random layers as the authors draw them."""
    task = ContextDependence(left_out=left_out)
    z, train = rows(task)
    x = task.render(z, task.draw_noise(len(z), np.random.default_rng(0)))
    d, units, rng = x.shape[1], 400_000, np.random.default_rng(1)
    gram = np.zeros((len(z), len(z)))
    for _ in range(10):
        w = rng.normal(size=(d, units // 10)) * np.sqrt(2 / d)
        h = np.maximum(x @ w + rng.uniform(-1, 1, units // 10) / np.sqrt(d), 0)
        gram += h @ h.T / units
    y = 2.0 * task.targets(z)[:, 0] - 1
    f = least_norm(gram[np.ix_(train, train)], y[train], intercept=True)
    margins = y * f.predict(gram[:, train])
    wanted = margins[~train].mean() / margins[train].mean()
    assert lazy_margin(left_out, "squared") == pytest.approx(wanted, abs=within)
    machine = SVC(C=1e8, kernel="precomputed").fit(gram[np.ix_(train, train)], y[train])
    margins = y * machine.decision_function(gram[:, train])
    wanted = margins[~train].mean() / margins[train].mean()
    assert lazy_margin(left_out, "logistic-sign") == pytest.approx(wanted, abs=within)
