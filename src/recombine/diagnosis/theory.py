"""The kernel theory beside the network: salience, what it predicts, and how far answers add up.

Training a network whose representation hardly moves is fitting a kernel. For a kernel that counts
agreeing factors everything follows from the salience of conjunctions (`theory/salience.py`), and
that can be measured in the network's last hidden layer. So three things are put side by side: what
the network answers; what a kernel model with the salience of the *untrained* network would answer
after the same training; and the same with the salience that the layer has *after* training. Where
the network follows the first, its failure was laid down in its architecture; where it follows only
the second, training has changed what the layer is about.

Additivity is asked of tasks whose answer is a number or one of two classes: the share of the
variance of answers on new combinations that is a sum over conjunctions seen in training. A kernel
model has 1, whatever its kernel.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.analyses.additivity import Additivity
from recombine.analyses.salience import Salience
from recombine.diagnosis.marks import COLOURS, SHOWN, bars
from recombine.diagnosis.reading import Reading
from recombine.diagnosis.view import Cells, Looked, View
from recombine.errors import BadValue
from recombine.studies.figure import Axis, Colour, Figure, Mark, Panel
from recombine.studies.results import Seeds
from recombine.studies.table import Table, Value
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import Task
from recombine.theory.conjunctions import kernel_matrix
from recombine.theory.kernel_fit import least_norm
from recombine.theory.salience import kernel_of
from recombine.training import Probe

MOST = 1000
"""Combinations up to which the product of all factors is looked at."""
EXAMPLES = 2000
"""Examples of all combinations together from which mean answers are taken."""
TIE = 1e-9
BEFORE, AFTER = "theory, untrained layer", "theory, trained layer"


class KernelTheory(View):
    """Salience of the last hidden layer, and the kernel model that has it."""

    def probes(self, looked: Looked) -> tuple[Probe, ...]:
        hidden = [site for site in looked.stack.sites if site != "output"]
        if isinstance(looked.task, SequenceTask) or not hidden or not _small(looked.task):
            return ()
        return (Probe(Salience(), (0, looked.steps[-1])),)

    def tables(self, reading: Reading, cells: Cells) -> tuple[Table, ...]:
        rows: list[tuple[Value, ...]] = []
        for name, cell in cells.items():
            for split in reading.held_out:
                found = _accuracies(reading, cell, split)
                rows.append((name, split, *(_mean(v, "no kernel seen") for v in found.values())))
        return (
            Table(
                id="theory",
                title="Why: what the kernel theory predicts",
                columns=("model", "split", "network", BEFORE, AFTER),
                rows=tuple(rows),
                note="Accuracy of the first output on new combinations: the network, and kernel "
                "models with the salience measured in its last hidden layer, fitted by least "
                "squares to the combinations of training.",
            ),
        )

    def figures(self, reading: Reading, cells: Cells) -> tuple[Figure, ...]:
        orders = range(1, len(reading.task.factors) + 1)
        names = tuple("one factor" if k == 1 else f"{k} together" for k in orders)
        made, beside = [], []
        for name, cell in cells.items():
            marks: list[Mark] = []
            when: tuple[tuple[Colour, int, str], ...] = (
                ("first", 0, "untrained"), ("second", -1, "trained"),
            )  # fmt: skip
            for colour, at, label in when[-_parts(cell).shape[1] :]:
                each = _parts(cell)[:, at]
                known = each[np.isfinite(each).all(1)]  # a layer that tells nothing apart has none
                if len(known):
                    values = {n: known[:, k] for k, n in enumerate(names)}
                    marks.append(bars(values, label, colour, share=False))
            up = Axis("share of the layer")
            made.append(Panel(Axis("conjunctions of"), up, tuple(marks), name))
            marks = []
            found = {split: _accuracies(reading, cell, split) for split in reading.held_out}
            for colour, who in zip(COLOURS, ("network", BEFORE, AFTER), strict=False):
                values = {s: each[who] for s, each in found.items() if len(each[who])}
                if values:
                    marks.append(bars(values, who, colour))
            up = Axis("accuracy", limits=(0, 1))
            beside.append(Panel(Axis("new combinations"), up, tuple(marks), name))
        return (
            Figure(
                id="theory",
                title="The theory's prediction beside the network",
                caption="Accuracy on new combinations. A kernel model with the salience of the "
                "network's last hidden layer needs no training: its answers are worked out.",
                panels=tuple(beside[:SHOWN]),
                columns=2,
            ),
            Figure(
                id="salience",
                title="What the last hidden layer is about",
                caption="Salience: the share of the layer that tells single factors apart, pairs, "
                "and so on. A layer that is about single factors generalizes additive rules; one "
                "that is about whole combinations is a lookup table.",
                panels=tuple(made[:SHOWN]),
                columns=2,
            ),
        )


class Additive(View):
    """How far answers on new combinations are sums over what was seen."""

    def probes(self, looked: Looked) -> tuple[Probe, ...]:
        task = looked.task
        number = task.classes == 2 or task.class_values is not None
        if isinstance(task, SequenceTask) or not number or not _small(task):
            return ()
        return (Probe(Additivity(_examples(task))),)

    def tables(self, reading: Reading, cells: Cells) -> tuple[Table, ...]:
        rows: list[tuple[Value, ...]] = []
        for name, cell in cells.items():
            shares = (cell.scalar(f"additivity/{part}") for part in ("train", "test"))
            said = (_mean(each[np.isfinite(each)], "answers do not vary") for each in shares)
            rows.append((name, *said, 1.0))
        return (
            Table(
                id="additivity",
                title="Why: do its answers add up?",
                columns=("model", "R² in training", "R² on new ones", "theory"),
                rows=tuple(rows),
                note="Mean answers by combination, regressed on the conjunctions of factors that "
                "occur in training. Theory: the answers of any kernel model have that form.",
            ),
        )

    def figures(self, reading: Reading, cells: Cells) -> tuple[Figure, ...]:
        return ()


def _mean(values: Float[np.ndarray, " seed"], none: str) -> Value:
    """The mean over the seeds that have a value, or a word if none has."""
    return stats.mean(values) if len(values) else none


def _small(task: Task) -> bool:
    return len(task.factors) > 1 and math.prod(task.sizes) <= MOST


def _examples(task: Task) -> int:
    return max(1, EXAMPLES // math.prod(task.sizes))


def _parts(cell: Seeds) -> Float[np.ndarray, "seed time order"]:
    """The share of the layer that each order has: as many conjunctions as there are, times S."""
    each = cell.array("salience")
    orders = each.shape[-1]
    return np.asarray(each * [math.comb(orders, k) for k in range(1, orders + 1)])


def _accuracies(reading: Reading, cell: Seeds, split: str) -> dict[str, Float[np.ndarray, " seed"]]:
    """Of the first output: the network's, and the two kernel models'; empty if there is none."""
    targets = reading.items(split).targets[:, 0]
    right = reading.answers(cell, split)[..., 0] == targets
    looks = np.moveaxis(cell.array("salience"), 1, 0)
    # a network that is not trained here is looked at once, as it is
    before, after = (
        [predicted(reading.task, each, split) for seeds in look for each in seeds]
        for look in (looks[:-1], looks[-1:])
    )
    return {"network": right.mean(1), BEFORE: _known(before), AFTER: _known(after)}


def _known(values: list[float | None]) -> Float[np.ndarray, " seed"]:
    return np.array([value for value in values if value is not None])


def predicted(task: Task, salience: Float[np.ndarray, " order"], split: str) -> float | None:
    """The accuracy of the kernel model with this salience; None where it is no kernel.

    One score a class, least squares against 1 for the class and −1 for the others; a combination
    on which two classes tie is not right.
    """
    train = np.unique(task.combinations("train"), axis=0)
    held = np.unique(task.combinations(split), axis=0)
    y, truth = task.targets(train)[:, 0], task.targets(held)[:, 0]
    if not np.isfinite(salience).all():
        return None
    kappa = kernel_of(salience)
    inner, outer = kernel_matrix(kappa, train, train), kernel_matrix(kappa, held, train)
    try:
        fits = [
            least_norm(inner, np.where(y == c, 1.0, -1.0), intercept=True)
            for c in range(task.classes)
        ]
    except BadValue:  # a measured salience may be of no kernel at all
        return None
    scores = np.stack([fit.predict(outer) for fit in fits])
    tied = (scores > scores.max(0) - TIE).sum(0) > 1
    return float(((scores.argmax(0) == truth) & ~tied).mean())
