"""Numbers printed for networks on images: all of them, each beside its own measurement."""

import numpy as np
import pytest

from recombine.analyses.additivity import rows
from recombine.cell import Outcome
from recombine.conduct import requests
from recombine.studies.kernel import STUDY
from recombine.studies.kernel_images_printed import AT, CIFAR, KINDS, MNIST, SHARES, of_cell
from recombine.studies.results import Results, Seeds
from recombine.studies.table import Table
from recombine.tasks.addition import Addition
from recombine.tasks.items import ItemTask


def measured(task: ItemTask) -> Seeds:
    """Two seeds that answer held-out sums with half the slope, and .6 and .9 of the rest."""
    z, train = rows(task)
    right = (
        task.values[z].sum(axis=1)
        if isinstance(task, Addition)
        else np.sin(z @ [1, 2, 4][: z.shape[1]])
    )
    outcome = Outcome(
        {},
        {
            "answers/mean": np.where(train, 1.0, 0.5)[None] * right,
            "answers/accuracy": np.where(train, 0.9, 0.6)[None],
            "answers/error": np.where(train, 2.0, 5.0)[None],
            "additivity/test": np.array([0.98]),
            "loss/train": np.array([0.1]),
        },
    )
    return Seeds({0: outcome, 1: outcome})


def paper(part: str) -> dict[str, Table]:
    request = requests([f"kernel/{part}"], scale="paper")[0]
    cells = {
        name: measured(need.cell.trial.task)  # type: ignore[attr-defined]
        for name, need in request.needs().items()
    }
    results = Results("paper", "as-run", cells)
    assert STUDY.part(part).figures(results)
    return {table.id: table for table in STUDY.part(part).tables(results)}


def test_every_distance_has_what_is_printed_of_it() -> None:
    tables = paper("images-distances")
    lines = {line[:2]: line[2:] for line in tables["distances"].rows}
    assert len(lines) == 9 * 5
    for (name, d), told in lines.items():
        printed = MNIST[name][AT.index(d)] if name in MNIST else None  # type: ignore[index, arg-type]
        assert told[0] == (printed.score if printed else None)
        assert (told[3] is not None) == (
            name in ("extrapolation", "interpolation", "both", "asymmetric")
        )
    known = [line[::2] for line in (lines["CD-3", 20], lines["both", 5], lines["both", 20])]
    assert known[0] == (0.229, None, ".945 to .976", 0.992)
    assert known[1] == (None, 4.14, "1.9 to 3.0", None)
    assert known[2] == (0.84, 2.72, "1.9 to 3.0", 0.9907)
    assert lines["equivalence q=4", 10][4] == 0.82
    ours = [lines["extrapolation", 0][i].estimate for i in (1, 3, 5, 7)]  # type: ignore[union-attr]
    assert ours == pytest.approx([0.5, 5.0, 2.0, 0.98])
    assert lines["equivalence q=1", 0][5].estimate == pytest.approx(0.9)  # type: ignore[union-attr]
    pooled = [line[1] for line in tables["pooled"].rows]
    assert pooled == [0.51, 0.54, 0.67, 0.73, 0.785]
    assert tables["pooled"].rows[0][2].estimate == pytest.approx(0.6)  # type: ignore[union-attr]
    shares = {line[:2]: line[2] for line in tables["shares"].rows}
    assert shares["CD-2 d=20", "right"] == 0.542 and len(shares) == 15


def test_coloured_networks_have_what_is_printed_of_them() -> None:
    lines = {line[0]: line[1:] for line in paper("architectures")["architectures"].rows}
    assert lines.keys() == CIFAR.keys()
    assert lines["resnet interpolation"][0] == pytest.approx((1.26 + 1.71) / 6)
    assert lines["vit both"][0] == pytest.approx((1.68 + 1.21) / 8)
    assert lines["vit CD-1"][0] == 0.58 and lines["vit CD-1"][4] == ".69 to .75"


def test_printed_shares_are_shares() -> None:
    for printed in SHARES.values():
        assert len(printed) == len(KINDS) and sum(printed) == pytest.approx(1, abs=0.01)


def test_cells_are_known_by_near_and_far() -> None:
    assert of_cell("interpolation far").score == 0.83
    assert of_cell("equivalence near").trained == 0.70
    assert of_cell("CD-1 near").score == 0.894
