"""Tables of `gradient/corners`: the unseen corner over seeds, the dependence, the propositions."""

from __future__ import annotations

import numpy as np

from recombine import stats
from recombine.studies.results import Results, Seeds
from recombine.studies.table import Table, Value

EPOCH = 18
"""Updates in one step of the playground: 180 examples in batches of 10."""
ESTIMATORS = {
    "flip": "share of predictions that flip when Y2 is moved",
    "variation": "total variation between the output distributions",
    "gradient": "mean norm of ∂p/∂X2",
    "information": "I(Ŷ1; Y2 | Y1) in bits",
}


def unseen_corner(results: Results) -> Table:
    """How well the unseen corner is answered, over seeds."""
    main, control = results["main"], results["control"]
    error, n = last(main, "boundary/error"), main.n
    accuracy, controlled = 1 - error, 1 - last(control, "boundary/error")
    rows: list[tuple[Value, ...]] = [
        ("accuracy on the unseen corner, mean", None, stats.mean(accuracy)),
        ("… median", None, stats.median(accuracy)),
        ("… interquartile mean", None, stats.iqm(accuracy)),
        (
            "accuracy on the three trained corners, mean",
            None,
            stats.mean(main.scalar("accuracy/train")),
        ),
        (
            "accuracy on that corner when it is trained on too (control)",
            None,
            stats.mean(controlled),
        ),
        (
            "angle of the boundary (90° composes), mean",
            None,
            stats.mean(last(main, "boundary/angle")),
        ),
    ]
    for line in (0.01, 0.05, 0.10, 0.20, 0.50):
        beyond = int((error > line).sum())
        rows.append(
            (f"share of seeds that err on more than {line:.0%}", None, stats.share(beyond, n))
        )
    enough = min(n, control.n) > 1
    needed = stats.seeds_to_separate(accuracy, controlled) if enough else None
    return Table(
        id="unseen-corner",
        title="The unseen corner, over seeds",
        columns=("quantity", "published", "ours"),
        rows=tuple(rows),
        where="Experiment 3, Figures 5 and 6",
        note=(
            f"{n} seeds; intervals are 95%, Wilson for shares. The paper "
            "prints pictures and no numbers. "
            + (f"{needed} seeds an arm would separate main and control." if needed else "")
        ),
    )


def last(cell: Seeds, name: str) -> np.ndarray:
    """A measurement of every seed at the last step."""
    return cell.array(name)[:, -1].astype(float)


def dependence(results: Results) -> Table:
    """How much Y1's prediction leans on Y2: at its height, and at the end."""
    main, control = results["main"], results["control"]
    unit = step_unit(results)
    rows: list[tuple[Value, ...]] = []
    for name, words in ESTIMATORS.items():
        curve = main.array(f"dependence/{name}")[:, :, 0, 1]
        at_end = control.array(f"dependence/{name}")[:, -1, 0, 1]
        top = int(curve.mean(0).argmax())
        step = int(main.steps(f"dependence/{name}")[top]) // unit
        rows.append((
            words, step, stats.mean(curve[:, top]), stats.mean(curve[:, -1]), stats.mean(at_end),
        ))  # fmt: skip
    return Table(
        id="dependence",
        title="Dependence of the prediction of Y1 on the redundant Y2",
        columns=("estimator", "step of the height", "height", "at the end", "control at the end"),
        rows=tuple(rows),
        where="goes beyond the paper",
        note=(
            "A prediction that composes has 0 throughout. Steps are the paper's "
            f"({unit} update{'s' if unit > 1 else ''} each). Control: trained on all four corners."
        ),
    )


def propositions(results: Results) -> Table:
    """Information and slope in X2 after the first updates, with and without redundancy."""
    rows: list[tuple[Value, ...]] = []
    for depth in ("linear", "deep"):
        for case in ("redundant", "independent"):
            cell = results[f"{depth}-{case}"]
            steps = cell.steps("redundancy/slope").tolist()
            for at, step in enumerate(steps):
                if step not in (0, 1, 8, 64):
                    continue
                rows.append((
                    depth, case, step,
                    stats.mean(cell.array("loss/train")[:, at]),
                    stats.mean(cell.array("redundancy/information")[:, at, 0, 1]),
                    stats.mean(cell.array("redundancy/slope")[:, at, 0, 1]),
                ))  # fmt: skip
    return Table(
        id="propositions",
        title="The first updates: does the output come to carry the redundant input?",
        columns=("network", "X2", "update", "loss", "I(Y2; score) in bits", "mean slope in X2"),
        rows=tuple(rows),
        where="Theory, Propositions 1-5",
        note=(
            "Networks start from an output of zero. Redundant: three corners; independent: all "
            "four, so that X2 tells nothing about Y1. A deep network mixes its inputs from the "
            "start, so its score carries Y2 at first in both cases; the slope tells them apart."
        ),
    )


def step_unit(results: Results) -> int:
    """Updates in one printed step."""
    return EPOCH if results.profile == "as-run" else 1
