"""What the tables, figures and claims of `kernel` read off a table of answers by combination."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from recombine.analyses.additivity import rows
from recombine.studies.results import Seeds
from recombine.tasks.addition import Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.task import Task
from recombine.theory.additivity import additivity, magnitudes
from recombine.theory.leak import Leak, leak
from recombine.theory.network_kernels import biased_input, network_kernel, network_salience
from recombine.theory.shortcut import Method, held_out_margin


def answers(cell: Seeds) -> Float[np.ndarray, "seed combination"]:
    """The answer to each combination at the end of training."""
    return np.asarray(cell.array("answers/mean")[:, -1])


def last(cell: Seeds, name: str) -> Float[np.ndarray, " seed"]:
    """A measurement at the end of training."""
    return np.asarray(cell.array(name)[:, -1], dtype=float)


def shrinkage(cell: Seeds, task: Addition) -> tuple[Float[np.ndarray, " seed"], np.ndarray]:
    """Slope (mean of both factors) and constant of the answers on held-out pairs, by regression."""
    z, train = rows(task)
    design = np.column_stack([task.values[z[~train]], np.ones((~train).sum())])
    solved = np.linalg.lstsq(design, answers(cell)[:, ~train].T, rcond=None)[0]
    return np.asarray(solved[:2].mean(axis=0)), np.asarray(solved[2])


def inferred_values(
    table: Float[np.ndarray, "seed combination"], task: Addition
) -> Float[np.ndarray, "seed item"]:
    """The value of each item from answers to pairs with it: mean over both positions, centred.

    Of an item that is held out, its held-out pairs count; of a trained one, all.
    """
    z, train = rows(task)
    found = np.zeros((len(table), task.items))
    for item in range(task.items):
        for factor in (0, 1):
            chosen = (z[:, factor] == item) & (train == (item in task.trained_items))
            found[:, item] += table[:, chosen].mean(axis=1) / 2
    return np.asarray(found - found.mean(axis=1, keepdims=True))


def outermost_slope(
    table: Float[np.ndarray, "seed combination"], task: Addition
) -> Float[np.ndarray, " seed"]:
    """Slope of the inferred values between the largest and the smallest item held out."""
    held = [item for item in range(task.items) if item not in task.trained_items]
    low, high = held[0], held[-1]
    values = inferred_values(table, task)
    return np.asarray((values[:, high] - values[:, low]) / (task.values[high] - task.values[low]))


def by_split(cell: Seeds, task: Task, name: str, *, trained: bool) -> Float[np.ndarray, " seed"]:
    """The mean of a measurement over trained or held-out combinations, on unseen examples."""
    _, train = rows(task)
    return np.asarray(cell.array(name)[:, -1][:, train if trained else ~train].mean(axis=1))


def relative_margin(cell: Seeds, task: Task) -> Float[np.ndarray, " seed"]:
    """Mean margin on held-out combinations over mean margin on trained ones."""
    z, train = rows(task)
    signed = answers(cell) * (2 * task.targets(z)[:, 0] - 1)
    return np.asarray(signed[:, ~train].mean(axis=1) / signed[:, train].mean(axis=1))


def lazy_leak(task: Addition) -> Leak:
    """The leak of one wide hidden ReLU layer with the authors' weights and biases."""
    start = biased_input(2, 2 * task.items)
    salience, kappa = float(network_salience(start)[0]), network_kernel(start)
    base = float(kappa[0] / (kappa[-1] - kappa[0]))
    trained = task.trained_items
    return leak((task.values, task.values), (trained, trained), (salience, salience), base=base)


def lazy_margin(left_out: int, loss: str) -> float:
    """The relative margin of a wide lazy layer on held-out cells of context dependence.

    By regression for a squared loss, by the largest-margin machine for cross-entropy.
    """
    task = ContextDependence(left_out=left_out)
    start = biased_input(len(task.factors), task.input_shape[0])
    first, second, _ = (float(s) for s in network_salience(start))
    method: Method = "regression" if loss == "squared" else "svm"
    return held_out_margin(first, second, left_out=left_out, method=method, relative=True)


def conjunction_shares(cell: Seeds, task: Task) -> dict[str, Float[np.ndarray, " seed"]]:
    """Relative magnitudes of the kinds of conjunctions in answers to context dependence.

    Right: the context with the feature that counts in it; wrong: with the other; sensory: features
    without the context; context alone; memorization: all three.
    """
    z, train = rows(task)
    found: dict[str, list[float]] = {}
    for table in answers(cell):
        fitted = additivity(table, z, train)
        kinds = np.array([kind_of(c.components, c.values) for c in fitted.conjunctions])
        names = ("right", "wrong", "sensory", "context", "memorization")
        groups: list[tuple[str, Bool[np.ndarray, " n"]]] = [(n, kinds == n) for n in names]
        for name, share in magnitudes(fitted, groups).items():
            found.setdefault(name, []).append(share)
    return {name: np.array(shares) for name, shares in found.items()}


def kind_of(components: tuple[int, ...], values: tuple[int, ...]) -> str:
    """Which kind of conjunction this is in context dependence."""
    if components == (0,):
        return "context"
    if len(components) == 3:
        return "memorization"
    if 0 not in components:
        return "sensory"
    return "right" if components[1] == 1 + values[0] else "wrong"
