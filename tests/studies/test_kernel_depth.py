"""Part `kernel/depth`: what is judged and shown of equivalence in deeper networks."""

import numpy as np
import pytest

from recombine.analyses.additivity import rows
from recombine.cell import Outcome
from recombine.conduct import requests
from recombine.studies.kernel import STUDY
from recombine.studies.kernel_depth import DEPTHS, TASK, course_table, updates_at
from recombine.studies.results import Results, Seeds


def test_updates_at_a_step_end_where_accuracy_is_one_for_good() -> None:
    accuracy = np.array(
        [
            [0.5, 0.75, 1.0, 0.75, 0.75, 1.0, 1.0],  # back once: the first 1 is not for good
            [0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0],
            [0.25, 0.5, 0.5, 0.75, 0.75, 0.75, 0.75],  # not there at the end
        ]
    )
    assert updates_at(accuracy, 0.5).tolist() == [1, 2, 2]
    assert updates_at(accuracy, 0.75).tolist() == [3, 0, 4]


@pytest.mark.parametrize(
    ("worst", "outcome"), [(0.99, "reproduced"), (0.95, "inconclusive"), (0.9, "contradicted")]
)
def test_depth_is_judged_by_held_out_pairs_at_the_worst_depth(worst: float, outcome: str) -> None:
    train = rows(TASK)[1]
    cells = {}
    for depth in DEPTHS:
        share = worst if depth == max(DEPTHS) else 1.0
        # what is trained has an accuracy of 0, and must not count
        tables = [np.where(train, 0.0, share + shift)[None] for shift in (-0.001, 0.001)]
        outcomes = {i: Outcome({}, {"answers/accuracy": t}) for i, t in enumerate(tables)}
        cells[f"depth {depth}"] = Seeds(outcomes)
    verdict = STUDY.part("depth").judges()["F7"](Results("paper", "as-run", cells), 0.95)
    assert verdict.effect == pytest.approx(worst)
    assert verdict.outcome == outcome


def test_the_course_table_tells_trained_pairs_from_held_out_ones() -> None:
    accuracy = {"accuracy/train": np.array([0.5, 1.0, 1.0]), "accuracy/test": np.full(3, 0.75)}
    cells = {"steps": Seeds({0: Outcome({}, accuracy)})}
    lines = course_table(Results("paper", "as-run", cells)).rows
    assert [line[:2] for line in lines] == [
        ("trained", 0.5),
        ("trained", 0.75),
        ("held out", 0.5),
        ("held out", 0.75),
    ]
    assert [line[-1].estimate for line in lines] == [1, 0, 0, 3]  # type: ignore[union-attr]


def test_equivalence_has_the_published_width_at_paper_scale() -> None:
    """And a rate that falls as the width grows: a lazy network's curvature is its width."""
    dense = requests(["kernel/dense"], scale="paper")[0].needs()
    quick = requests(["kernel/dense"])[0].needs()
    lazy, narrow = (needs["equivalence 1"].cell for needs in (dense, quick))
    assert lazy.model.widths == (10_000,) and narrow.model.widths == (1000,)  # type: ignore[attr-defined]
    assert lazy.recipe.optimizer.rate == narrow.recipe.optimizer.rate / 10  # type: ignore[attr-defined]
    depth = requests(["kernel/depth"], scale="paper")[0].needs()
    assert depth["steps"].cell.model.widths == (10_000,)  # type: ignore[attr-defined]
    assert [len(depth[f"depth {n}"].cell.model.widths) for n in DEPTHS] == list(DEPTHS)  # type: ignore[attr-defined]
