"""Cells of `realization` that open trained networks: look inside, exchange parts, prune.

Each holds the trials by which its networks were trained and takes their weights from `trained`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from recombine.analyses.pruning import prune, strongest
from recombine.analyses.substitution import Parameters, component, put, substitute
from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue
from recombine.models.sequence import SequenceStack
from recombine.models.stack import Stack
from recombine.spec import Spec, later
from recombine.studies.realization_looking import CELLS, look, strengths
from recombine.studies.realization_trained import Chosen, trained
from recombine.training.loop import train
from recombine.training.recipe import Recipe
from recombine.training.trial import Trial


def fresh(trial: Trial, lanes: Sequence[Parameters]) -> Stack:
    """A stack of these networks."""
    task = trial.task
    seeds = range(len(lanes))
    stack = trial.model.stack(seeds, task.input_shape, len(task.outputs), task.classes)
    put(stack, lanes)
    return stack


@dataclass(frozen=True)
class Inside(Cell):
    """Every analysis of a trained network."""

    name: ClassVar[str] = "realization-inside"

    trial: Trial
    """How the network was trained."""
    weights: Chosen = "lowest-dev-loss"
    folds: int = 5
    """Of the honest probes."""

    @property
    def seeds_per_job(self) -> int:
        return 1

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        return {seed: self._one(seed, context) for seed in seeds}

    def _one(self, seed: int, context: Context) -> Outcome:
        parameters = trained(self.trial, seed, context, weights=self.weights)
        stack = fresh(self.trial, [parameters]).to(context.device)
        found = look(stack, self.trial.task, self.trial.model, folds=self.folds)
        scalars = {name: float(v[0]) for name, v in found.items() if v.ndim == 1}
        return Outcome(scalars, {name: v[0] for name, v in found.items() if v.ndim > 1})


@dataclass(frozen=True)
class Graft(Spec):
    """A component by the names of its parameters."""

    kind: ClassVar[str] = "cells"
    name: ClassVar[str] = "realization-graft"

    label: str = "encoder"
    """What a row of results is called."""
    parameters: tuple[str, ...] = ("encoder.*",)
    """With wildcards; none: nothing is exchanged and nothing frozen."""


@dataclass(frozen=True)
class Surgery(Cell):
    """Exchange a component of a trained network, freeze it, and train the rest on."""

    name: ClassVar[str] = "realization-surgery"

    host: Trial
    donor: Recipe
    """How the other network was trained; task and model are the host's."""
    grafts: tuple[Graft, ...]
    """Each makes a network of its own; they are trained side by side."""
    retrain: Recipe
    weights: Chosen = "lowest-dev-loss"
    """Which weights of both networks are taken."""
    apart: int = later(0)
    """How far the donor's seed is from the host's; 0: both started from the same weights."""

    @property
    def seeds_per_job(self) -> int:
        return 1

    def validate(self) -> None:
        if self.apart < 0:
            raise BadValue("cells/realization-surgery.apart", self.apart, "0 or more")
        labels = [graft.label for graft in self.grafts]
        if not labels or len(set(labels)) < len(labels):
            raise BadValue(
                "cells/realization-surgery.grafts", labels, "one or more, all named differently"
            )

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        return {seed: self._one(seed, context) for seed in seeds}

    def _one(self, seed: int, context: Context) -> Outcome:
        host = trained(self.host, seed, context, weights=self.weights)
        other = replace(self.host, recipe=self.donor)
        donor = trained(other, seed + self.apart, context, weights=self.weights)
        lanes = [substitute(host, donor, graft.parameters) for graft in self.grafts]
        taken = [set(component(host, graft.parameters)) for graft in self.grafts]
        frozen = {
            name: torch.tensor([name in names for names in taken])
            for name in host
            if any(name in names for names in taken)
        }
        _, curves = train(
            self.host.task,
            self.host.model,
            self.retrain,
            seeds=[seed] * len(lanes),
            stack=fresh(self.host, lanes),
            frozen=frozen,
            context=context,
        )
        scalars: dict[str, float] = {}
        arrays: dict[str, np.ndarray] = {}
        for lane, graft in enumerate(self.grafts):
            curve = {name: [v[lane] for v in by.values()] for name, by in curves.items()}
            scalars |= {f"{graft.label}/{n}": v for n, v in selected(curve).items()}
            for name in ("accuracy/train", "accuracy/new_compositions"):
                arrays[f"{graft.label}/{name}"] = np.array(curve[name])
        return Outcome(scalars, arrays)


def selected(curve: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Accuracies right after the operation, and after the epochs that rules choose."""
    after = min(1, len(curve["loss/validation"]) - 1)
    at = {
        "first": 0,
        "last": -1,
        "lowest-dev-loss": after + int(np.argmin(curve["loss/validation"][after:])),
        "best-dev-accuracy": after + int(np.argmax(curve["accuracy/validation"][after:])),
    }
    splits = [name.removeprefix("accuracy/") for name in curve if name.startswith("accuracy/")]
    return {
        f"{rule}/{split}": float(curve[f"accuracy/{split}"][epoch])
        for rule, epoch in at.items()
        for split in splits
    }


@dataclass(frozen=True)
class Pruning(Cell):
    """Keep the strongest units of encoder and decoder, and train the rest on."""

    name: ClassVar[str] = "realization-pruning"

    host: Trial
    retrain: Recipe
    keep: float = 0.05
    """Share of the units that is kept."""
    weights: Chosen = "lowest-dev-loss"

    @property
    def seeds_per_job(self) -> int:
        return 1

    def validate(self) -> None:
        if not 0 <= self.keep <= 1:
            raise BadValue("cells/realization-pruning.keep", self.keep, "a number from 0 to 1")

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        return {seed: self._one(seed, context) for seed in seeds}

    def _one(self, seed: int, context: Context) -> Outcome:
        whole = fresh(self.host, [trained(self.host, seed, context, weights=self.weights)])
        assert isinstance(whole, SequenceStack)
        none = replace(self.retrain, steps=0, keep=())
        _, before = train(self.host.task, self.host.model, none, seeds=[seed], stack=whole)
        kept = {part: strongest(strengths(whole, part)[0], keep=self.keep)[None] for part in CELLS}
        masks = {f"{part}.*.state": mask for part, mask in kept.items()}
        masks["decoder.start"] = kept["decoder"]
        _, curves = train(
            self.host.task,
            self.host.model,
            self.retrain,
            seeds=[seed],
            stack=prune(whole, masks),
            context=context,
        )
        curve = {name: [v[0] for v in by.values()] for name, by in curves.items()}
        scalars = selected(curve)
        scalars |= {f"whole/{n.removeprefix('accuracy/')}": float(by[0][0])
                    for n, by in before.items() if n.startswith("accuracy/")}  # fmt: skip
        scalars["units"] = float(sum(mask.sum() for mask in kept.values()) / len(kept))
        arrays = {n: np.array(curve[n]) for n in ("accuracy/train", "accuracy/new_compositions")}
        return Outcome(scalars, arrays)
