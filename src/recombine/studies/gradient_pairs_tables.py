"""Tables of `gradient/pairs`: accuracy and gap, how fast it rises, the dependence, three digits."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.studies.results import Results, Seeds
from recombine.studies.table import Table, Value
from recombine.tasks.digit_pairs import DigitPairs
from recombine.training.trial import Trial

ESTIMATORS = {
    "flip": "share of predictions that flip when Y2 is moved",
    "variation": "total variation between the output distributions",
    "gradient": "mean norm of ∂p/∂(second image)",
    "information": "I(Ŷ1; Y2 | Y1) in bits, a lower bound",
}
IMAGES = {"mnist-5k": "5,000 images of MNIST", "mnist": "all of MNIST"}
SPLITS = {
    "train": "training combinations, training images",
    "seen": "training combinations, test images",
    "test": "test combinations, test images",
}


def gap(cell: Seeds) -> Float[np.ndarray, "seed step"]:
    """Training accuracy less test accuracy, at each step."""
    return np.asarray(cell.array("accuracy/train") - cell.array("accuracy/test"))


def redundant(cell: Seeds, estimator: str) -> Float[np.ndarray, "seed step"]:
    """How much the prediction of the first digit leans on the second, at each step."""
    return np.asarray(cell.array(f"dependence/{estimator}")[:, :, 0, 1], dtype=float)


def evaluated_on(results: Results) -> str:
    """In words, what an accuracy rests on."""
    cell = ran(results)
    assert isinstance(cell.task, DigitPairs), cell.task
    images = IMAGES.get(cell.task.images, cell.task.images)
    pairs = f"{cell.recipe.evaluation_examples:,} pairs a split"
    original = ", as the original did" if cell.recipe.evaluation_examples == 100 else ""
    return f"{images}, evaluated on {pairs}{original}"


def ran(results: Results) -> Trial:
    """What setting A was, with whatever `--set` changed in it."""
    cell = results.specs["A"]
    assert isinstance(cell, Trial), cell
    return cell


def accuracy(results: Results) -> Table:
    """Accuracy on every split at the end, and the gap."""
    rows: list[tuple[Value, ...]] = []
    for split, words in SPLITS.items():
        each = [stats.mean(results[s].scalar(f"accuracy/{split}")) for s in "AB"]
        rows.append((words, None, *each))
    gaps = [gap(results[s])[:, -1] for s in "AB"]
    rows.append(("gap: training less test", None, *(stats.mean(values) for values in gaps)))
    return Table(
        id="accuracy",
        title="Accuracy at the end of training",
        columns=("split", "published", "setting A", "setting B"),
        rows=tuple(rows),
        where="Experiment 1, Figures 3a and 3b",
        note=(
            f"{results['A'].n} seeds; {evaluated_on(results)}. The paper prints curves and no "
            "numbers. From the first row to the second, images are new; from the second to the "
            "third, combinations are."
        ),
    )


def rise(results: Results) -> Table:
    """Training accuracy at the evaluated steps, side by side."""
    a, b = (results[s].array("accuracy/train") for s in "AB")
    rows: list[tuple[Value, ...]] = []
    for at, step in enumerate(results["A"].steps("accuracy/train").tolist()):
        difference = stats.mean(a[:, at] - b[:, at])
        rows.append((step, stats.mean(a[:, at]), stats.mean(b[:, at]), difference))
    return Table(
        id="rise",
        title="Training accuracy along training",
        columns=("step", "setting A", "setting B", "A less B, paired by seed"),
        rows=tuple(rows),
        where="Experiment 1, Figure 3a",
    )


def dependence(results: Results) -> Table:
    """How much the first digit's prediction leans on the second: at its height and at the end."""
    a, b = results["A"], results["B"]
    rows: list[tuple[Value, ...]] = []
    for name, words in ESTIMATORS.items():
        in_a, in_b = redundant(a, name), redundant(b, name)
        steps = a.steps(f"dependence/{name}").tolist()
        # An untrained network flips with anything: the height is sought after the first updates.
        top = max(range(len(steps)), key=lambda at: (steps[at] > 0, in_a[:, at].mean()))
        step = steps[top]
        rows.append((
            words, step, stats.mean(in_a[:, top]), stats.mean(in_a[:, -1]), stats.mean(in_b[:, -1])
        ))  # fmt: skip
    return Table(
        id="dependence",
        title="Dependence of the prediction of Y1 on the redundant Y2",
        columns=("estimator", "step of the height", "height in A", "A at the end", "B at the end"),
        rows=tuple(rows),
        where="goes beyond the paper",
        note="A prediction that composes has 0 throughout. Measured on test images, with labels "
        "drawn independently of each other.",
    )


def three(results: Results) -> Table:
    """The dependence matrix of three digits, all of which are named."""
    rows: list[tuple[Value, ...]] = []
    for setting in "AB":
        cell = results[f"three-{setting}"]
        matrix = cell.array("dependence/flip")[:, -1].astype(float)
        for i in range(matrix.shape[1]):
            moved = [stats.mean(matrix[:, i, j]) for j in range(matrix.shape[2])]
            rows.append((f"{setting}: Y{i + 1} named", *moved))
        rows.append((
            f"{setting}: accuracy on test combinations",
            stats.mean(cell.scalar("accuracy/test")), None, None,
        ))  # fmt: skip
    return Table(
        id="three",
        title="Three digits, all to be named: share of predictions that flip",
        columns=("output", "Y1 moved", "Y2 moved", "Y3 moved"),
        rows=tuple(rows),
        where="goes beyond the paper",
        note="A model that composes has a diagonal matrix. Test combinations are those in which "
        "both others have shifts that A never shows; all three digits must be right.",
    )
