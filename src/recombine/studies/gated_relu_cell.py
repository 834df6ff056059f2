"""The cell of `gated/relu`: a ReLU network, machines that know of its gates, and frozen gates.

Machines: on the hidden layer; with the trained gates ("learned contexts"); with the gates of the
first weights ("random contexts"); and one that sees nothing but which trained gates are open. The
last is least squares on that pattern, since no hyperplane need separate it.

Frozen networks start from the same first weights and are trained in the same way, but their gates
stay put: at the first weights, or where the ReLU network's training left them. The theory speaks
of these exactly, so each is set against its own machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from recombine.cell import Cell, Checkpoint, Context, Outcome
from recombine.errors import BadValue
from recombine.models.gated import Gated
from recombine.spec import later
from recombine.studies.gated_cells import against, apart, labels
from recombine.studies.gated_data import Sample, images, lanes, predictors
from recombine.tasks.digits import Source, ready
from recombine.theory import gated
from recombine.training.normalised import Descent

Weights = Float[np.ndarray, "unit dim"]


@dataclass(frozen=True)
class GatedReLU(Cell):
    """A ReLU network on images, and machines that know more or less of its gates."""

    name: ClassVar[str] = "gated-relu"

    source: Source = "small"
    n: int = 200
    model: Gated = Gated(gates="relu")
    training: Descent = Descent()
    together: int = 5
    """Seeds a job."""
    frozen: bool = later(False)
    """Whether networks with frozen gates are trained too."""

    def validate(self) -> None:
        if self.n < 1:
            raise BadValue("cells/gated-relu.n", self.n, "at least 1")
        if len(self.model.widths) != 1 or self.model.gates != "relu":
            raise BadValue("cells/gated-relu.model", self.model.gates, "one hidden ReLU layer")

    def ready(self) -> None:
        ready(self.source)

    @property
    def seeds_per_job(self) -> int:
        return self.together

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        pairs = [
            images(seed, source=self.source, n=self.n, model=self.model, cut="random")
            for seed in seeds
        ]
        stack, points = lanes(self.model, seeds, [train for train, _ in pairs], torch.float32)
        before = stack.layers[0].detach().double().numpy()[:, :, 0].copy()
        self.training.train(stack, points, seeds, _stage(context, 0))
        after = stack.layers[0].detach().double().numpy()[:, :, 0]
        readout = stack.layers[1].detach().double().numpy()[:, 0]
        places = {"learned": after, "random": before}
        frozen: dict[str, list[np.ndarray]] = {}
        for i, (name, gates) in enumerate(places.items() if self.frozen else ()):
            samples = [train for train, _ in pairs]
            frozen[name] = self._frozen(seeds, samples, gates, _stage(context, i + 1))
        found = {}
        for lane, seed in enumerate(seeds):
            gates = {name: where[lane] for name, where in places.items()}
            train, test = pairs[lane]
            machines = {
                name: gated.svm_gln(train.x, train.y, open_at(train.x, weights))
                for name, weights in gates.items()
            }
            scalars = compare(gates, machines, readout[lane], train, test)
            for name, zetas in frozen.items():
                scalars |= _held(name, zetas[lane], machines[name], gates[name], train, test)
            found[seed] = Outcome(scalars)
            context.progress(lane + 1, len(seeds))
        return found

    def _frozen(
        self, seeds: Sequence[int], samples: Sequence[Sample], gates: np.ndarray, context: Context
    ) -> list[np.ndarray]:
        """The predictors of networks whose gates stay at these weights."""
        model = replace(self.model, gates="frozen-relu")
        held = [
            replace(sample, on=(open_at(sample.x, weights),))
            for sample, weights in zip(samples, gates, strict=True)
        ]
        stack, points = lanes(model, seeds, held, torch.float32)
        self.training.train(stack, points, seeds, context)
        return [predictors(stack, lane) for lane in range(len(seeds))]


def compare(
    gates: Mapping[str, Weights],
    machines: Mapping[str, gated.Solution],
    readout: Float[np.ndarray, " unit"],
    train: Sample,
    test: Sample,
) -> dict[str, float]:
    """The ReLU network and every machine, as scalars of an outcome."""
    after = gates["learned"]

    def hidden(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(x @ after.T, 0))

    guess = labels(hidden(test.x) @ readout)
    error = apart(guess, test.y)
    fitted = apart(labels(hidden(train.x) @ readout), train.y)
    scalars = {"error/gd": error, "train/gd": fitted, "independence": 2 * error * (1 - error)}
    machine = gated.machine(hidden(train.x), train.y)
    answer = labels(hidden(test.x) @ machine.predictors[0, 0])
    scalars |= against("hidden", machine, answer, guess, test.y)
    for name, weights in gates.items():
        silent = machines[name]
        answer = labels(gated.respond(silent.predictors, test.x, open_at(test.x, weights)))
        scalars |= against(name, silent, answer, guess, test.y)
    pattern, seen = (
        np.column_stack([open_at(s.x, after)[:, :, 0], np.ones(len(s.x))]) for s in (train, test)
    )
    by_gate, *_ = np.linalg.lstsq(pattern, train.y, rcond=None)
    answer = labels(seen @ by_gate)
    scalars |= {"error/gates": apart(answer, test.y), "inconsistency/gates": apart(answer, guess)}
    moved = (open_at(train.x, gates["random"]) != open_at(train.x, after)).mean()
    return scalars | {"gates moved": float(moved)}


def _held(
    name: str,
    zeta: Float[np.ndarray, "unit 1 dim"],
    machine: gated.Solution,
    weights: Weights,
    train: Sample,
    test: Sample,
) -> dict[str, float]:
    """The error of a network with frozen gates, and how often its own machine differs from it."""
    there = open_at(test.x, weights)
    guess = labels(gated.respond(zeta, test.x, there))
    answer = labels(gated.respond(machine.predictors, test.x, there))
    fitted = labels(gated.respond(zeta, train.x, open_at(train.x, weights)))
    return {
        f"error/frozen-{name}": apart(guess, test.y),
        f"train/frozen-{name}": apart(fitted, train.y),
        f"inconsistency/frozen-{name}": apart(answer, guess),
    }


def open_at(x: Float[np.ndarray, "n dim"], weights: Weights) -> np.ndarray:
    """1 where a ReLU with these weights is on: its one context."""
    return np.asarray((x @ weights.T > 0)[:, :, None], dtype=float)


@dataclass(frozen=True)
class _Staged:
    """A checkpoint of one of several trainings: another one's is not found."""

    inner: Checkpoint
    stage: int

    def load(self) -> Mapping[str, np.ndarray] | None:
        found = dict(self.inner.load() or {})
        return found if int(found.pop("stage", np.asarray(-1))) == self.stage else None

    def save(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.inner.save({**arrays, "stage": np.asarray(self.stage)})


def _stage(context: Context, stage: int) -> Context:
    if context.checkpoint is None:
        return context
    return replace(context, checkpoint=_Staged(context.checkpoint, stage))
