"""Cells of the study `kernel`: closed forms at random parameters, wide random nets, images by
seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue
from recombine.seeds import stream
from recombine.tasks.addition import Addition
from recombine.tasks.items import ItemTask
from recombine.tasks.pictures import Images
from recombine.theory import relations, shortcut
from recombine.theory.additivity import additivity
from recombine.theory.conjunctions import accumulate, kernel_matrix
from recombine.theory.kernel_fit import Fit, hard_margin, least_norm, ridge
from recombine.theory.leak import leak
from recombine.theory.network_kernels import ACTIVATIONS, network_salience
from recombine.theory.salience import complete, kernel_of, kernel_of_subsets, measured_salience
from recombine.training.trial import Trial

METHODS: tuple[tuple[shortcut.Method, Callable[..., Fit]], ...] = (
    ("regression", least_norm),
    ("svm", hard_margin),
)


@dataclass(frozen=True)
class Forms(Cell):
    """Every closed form against an exact fit on all combinations; a seed draws the parameters."""

    name: ClassVar[str] = "kernel-forms"

    @property
    def seeds_per_job(self) -> int:
        return 50

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        found = {}
        for done, seed in enumerate(seeds):
            rng = stream(seed, "forms")
            scalars = {**theorem(rng), **leak_gap(rng), **shortcut_gap(rng), **relation_gaps(rng)}
            found[seed] = Outcome(scalars)
            context.progress(done + 1, len(seeds))
        return found


def theorem(rng: np.random.Generator) -> dict[str, float]:
    """K1: a random task of three factors, 40% trained, a random kernel, three fits."""
    z = np.indices((4, 4, 4)).reshape(3, -1).T
    train = rng.random(len(z)) < 0.4
    kernel = kernel_matrix(accumulate(rng.random(8)), z, z[train])
    inner, y = kernel[train], rng.standard_normal(int(train.sum()))
    fits = ridge(inner, y, penalty=0.1), least_norm(inner, y), hard_margin(inner, np.sign(y))
    worst = max(additivity(fit.predict(kernel), z, train).residual_test for fit in fits)
    return {"theorem": worst}


def leak_gap(rng: np.random.Generator) -> dict[str, float]:
    """K2: two factors of unequal size, any trained items, unequal saliences, a ridge penalty."""
    sizes = tuple(int(n) for n in rng.integers(5, 10, 2))
    values = rng.standard_normal(sizes[0]), rng.standard_normal(sizes[1])
    trained = tuple(rng.permutation(n)[: rng.integers(1, 5)].tolist() for n in sizes)
    first, second, joint = rng.dirichlet(np.ones(3))
    penalty = float(rng.random() * rng.integers(2))
    z = np.indices(sizes).reshape(2, -1).T
    train = np.isin(z[:, 0], trained[0]) | np.isin(z[:, 1], trained[1])
    y = values[0][z[:, 0]] + values[1][z[:, 1]]
    kappa = kernel_of_subsets(np.array([0.0, first, second, joint]))
    kernel = kernel_matrix(kappa, z, z[train])
    answers = ridge(kernel[train], y[train], penalty=penalty).predict(kernel)[~train]
    form = leak(values, (trained[0], trained[1]), (float(first), float(second)), penalty=penalty)
    said = form.slopes[0] * values[0][z[:, 0]] + form.slopes[1] * values[1][z[:, 1]] + form.offset
    return {"leak": float(np.abs(answers - said[~train]).max())}


def shortcut_gap(rng: np.random.Generator) -> dict[str, float]:
    """K3: CD-3, CD-2 and CD-1 at random saliences, regression and largest margin."""
    parts = rng.dirichlet(np.ones(3))
    s1, s2 = float(parts[0] / 3), float(parts[1] / 3)
    found = {"shortcut/regression": 0.0, "shortcut/svm": 0.0, "shortcut/spread": 0.0}
    for left_out in (3, 2, 1):
        z, y, train = shortcut.task(3, left_out)
        kernel = kernel_matrix(kernel_of(complete(s1, s2)), z, z[train])
        for method, fit in METHODS:
            model = fit(kernel[train], y[train].astype(float), intercept=True)
            margins = (y * model.predict(kernel))[~train]
            if left_out == 3:
                form = shortcut.margin(s1, s2, method=method)
            else:
                form = shortcut.held_out_margin(s1, s2, left_out=left_out, method=method)
            gap = float(np.abs(margins - form).max())
            found[f"shortcut/{method}"] = max(found[f"shortcut/{method}"], gap)
            found["shortcut/spread"] = max(found["shortcut/spread"], float(np.ptp(margins)))
    return found


def relation_gaps(rng: np.random.Generator) -> dict[str, float]:
    """K5: ordering and equivalence at a random salience."""
    s, items = float(rng.uniform(0.02, 0.49)), int(rng.integers(4, 9))
    z = np.indices((items, items)).reshape(2, -1).T
    z = z[z[:, 0] != z[:, 1]]
    y = np.where(z[:, 0] < z[:, 1], 1.0, -1.0)
    train = np.abs(z[:, 0] - z[:, 1]) == 1
    kappa = kernel_of(complete(s))
    kernel = kernel_matrix(kappa, z, z[train])
    f = least_norm(kernel[train], y[train]).predict(kernel)[~train]
    form = relations.ordering_table(s, items=items)[z[~train, 0], z[~train, 1]]
    size, linking = int(rng.integers(2, 5)), 1
    pairs = np.indices((2 * size, 2 * size)).reshape(2, -1).T
    same = np.where(pairs[:, 0] // size == pairs[:, 1] // size, 1.0, -1.0)
    linked = (pairs % size < linking).any(axis=1)
    kernel = kernel_matrix(kappa, pairs, pairs[linked])
    g = least_norm(kernel[linked], same[linked]).predict(kernel)[~linked]
    said = relations.equivalence_output(s, items=size, linking=linking)
    return {
        "ordering": float(np.abs(f - form).max()),
        "ordering/accuracy": float((f * y[~train] > 0).mean()),
        "equivalence": float(np.abs(g - said).max()),
        "equivalence/output": float(np.abs(g).max()),
    }


@dataclass(frozen=True)
class WideNets(Cell):
    """Salience of one wide random layer of each activation, against theory (K4)."""

    name: ClassVar[str] = "kernel-wide"

    width: int = 20_000

    def validate(self) -> None:
        if self.width < 1:
            raise BadValue("cells/kernel-wide.width", self.width, "at least 1")

    @property
    def seeds_per_job(self) -> int:
        return 20

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        found = {}
        for done, seed in enumerate(seeds):
            arrays = {}
            for factors in (2, 3):
                z = np.indices((3,) * factors).reshape(factors, -1).T
                x = np.concatenate([np.eye(3)[z[:, c]] for c in range(factors)], axis=1)
                weights = stream(seed, "init", factors).standard_normal((x.shape[1], self.width))
                u = x @ weights / np.sqrt(factors)
                for name, phi in ACTIVATIONS.items():
                    h = phi.unit(u)
                    gap = measured_salience(h @ h.T, z) - network_salience(factors, activation=name)
                    arrays[f"{name}/{factors}"] = gap
            gaps = [np.abs(arrays[f"relu/{factors}"]).max() for factors in (2, 3)]
            found[seed] = Outcome({"relu": float(max(gaps))}, arrays)
            context.progress(done + 1, len(seeds))
        return found


@dataclass(frozen=True)
class Dispersed(Cell):
    """Addition with two random partners an item: error over salience; a seed draws the partners."""

    name: ClassVar[str] = "kernel-dispersed"

    saliences: tuple[float, ...] = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
    """S(1;2)."""

    @property
    def seeds_per_job(self) -> int:
        return 50

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        return {seed: self._one(seed) for seed in seeds}

    def _one(self, seed: int) -> Outcome:
        task = Addition(dispersed=seed)
        train, test = (task.combinations(split) for split in ("train", "test"))
        y, wanted = (task.values[z].sum(axis=1) for z in (train, test))
        errors, slopes = [], []
        for s in self.saliences:
            kappa = kernel_of(complete(s))
            fit = least_norm(kernel_matrix(kappa, train, train), y)
            f = fit.predict(kernel_matrix(kappa, test, train))
            errors.append(float(((f - wanted) ** 2).mean()))
            slopes.append(float(f @ wanted / (wanted @ wanted)))
        return Outcome({}, {"error": np.array(errors), "slope": np.array(slopes)})


@dataclass(frozen=True)
class Assigned(Cell):
    """A trial on images in which each seed has its own assignment of classes and images to
    items."""

    name: ClassVar[str] = "kernel-images"

    trial: Trial

    def validate(self) -> None:
        task = self.trial.task
        if not isinstance(task, ItemTask) or not isinstance(task.inputs, Images):
            raise BadValue("cells/kernel-images.trial", task, "a task that shows items as images")

    @property
    def seeds_per_job(self) -> int:
        return 1

    def ready(self) -> None:
        self.trial.ready()

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        task = self.trial.task
        assert isinstance(task, ItemTask) and isinstance(task.inputs, Images)
        found: dict[int, Outcome] = {}
        for seed in seeds:
            own = replace(task, inputs=replace(task.inputs, assignment=seed))
            alone = replace(context, checkpoint=context.checkpoint if len(seeds) == 1 else None)
            found |= replace(self.trial, task=own).run([seed], alone)
        return found
