"""The cell of `reuse/images`: two classes of a set of images learned with, after or without eight.

A seed draws which two of ten classes are the main task; the other eight are the auxiliary one. The
network is a small residual one (`models/residual.py`). Methods: alone (STL), both at once (MTL, a
batch of each an update), and pretraining, then finetuning with *all* pretrained weights multiplied
by c. Each training ends at a small loss, or after so many updates. Features of the main test images
before and after finetuning tell how many directions are used and kept (`theory/dimensionality.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from recombine import data
from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue, NoData
from recombine.models.residual import (
    Weights,
    draw,
    features,
    fresh_head,
    logits,
    rescaled,
    trained,
)
from recombine.seeds import stream
from recombine.tasks.digits import digits
from recombine.theory.dimensionality import participation_ratio, shared_dimensions
from recombine.training.optimizers import SGD

Images = tuple[Tensor, Tensor]
"""Inputs and classes."""
HEADS = {"main": 2, "aux": 8}
LOOK_EVERY, AT_ONCE = 20, 500
"""Updates between two signs of life, and test images read at once."""


@dataclass(frozen=True)
class ImageReuse(Cell):
    """STL, MTL and PT+FT with rescaling on images."""

    name: ClassVar[str] = "reuse-images"

    source: Literal["small", "cifar10"] = "small"
    widths: tuple[int, ...] = (8, 16)
    aux_samples: int = 1000
    samples: tuple[int, ...] = (10, 40)
    rescalings: tuple[float, ...] = (1.0, 0.25)
    optimizer: SGD = SGD(rate=0.05, momentum=0.9)
    batch: int = 64
    pretrain_steps: int = 300
    steps: int = 200
    """The most updates of each training after pretraining."""
    tolerance: float = 1e-2
    """Training stops when the mean loss of the last epoch is below this."""

    def validate(self) -> None:
        if not self.widths or min(self.widths) < 1:
            raise BadValue("cells/reuse-images.widths", list(self.widths), "positive numbers")
        if min(self.samples, default=0) < 2 or self.aux_samples < 8 or self.batch < 2:
            raise BadValue("cells/reuse-images.samples", list(self.samples), "two images or more")
        if 1.0 not in self.rescalings or min(self.rescalings) <= 0:
            raise BadValue("cells/reuse-images.rescalings", list(self.rescalings), "1 among them")

    def ready(self) -> None:
        if self.source != "small" and (state := data.state(data.find(self.source))) != "ready":
            raise NoData(
                f"the data set {self.source} is {state} in {data.directory()}: "
                f"'recombine data get {self.source}' fetches it"
            )

    @property
    def seeds_per_job(self) -> int:
        return 1

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        return {seed: _Run(self, seed, context).outcome() for seed in seeds}


def load(source: str, seed: int) -> tuple[Images, Images, Images]:
    """Main and auxiliary training images and main test images of a seed, in its own order."""
    if source == "small":
        x, y = digits("small")
        pixels, labels = x.reshape(-1, 1, 8, 8), y
        order = stream(seed, "data").permutation(len(y))
        train, test = order[:1400], order[1400:]
    else:
        (first, a), (second, b) = data.images(source, "train"), data.images(source, "test")
        pixels = np.concatenate([first, second]).transpose(0, 3, 1, 2)
        labels = np.concatenate([a, b])
        train = stream(seed, "data").permutation(len(a))
        test = np.arange(len(a), len(labels))
    chosen = np.sort(stream(seed, "classes").permutation(10)[:2])
    others = np.setdiff1d(np.arange(10), chosen)

    def part(rows: np.ndarray, classes: np.ndarray) -> Images:
        rows = rows[np.isin(labels[rows], classes)]
        x = torch.from_numpy(np.ascontiguousarray(pixels[rows])).float()
        x = x if source == "small" else x / 127.5 - 1
        return x, torch.from_numpy(np.searchsorted(classes, labels[rows]))

    return part(train, chosen), part(train, others), part(test, chosen)


class _Run:
    """One seed: what was found so far, kept in the checkpoint from one training to the next."""

    def __init__(self, cell: ImageReuse, seed: int, context: Context) -> None:
        self.cell, self.seed, self.context = cell, seed, context
        self.main, aux, self.test = load(cell.source, seed)
        self.aux = aux[0][: cell.aux_samples], aux[1][: cell.aux_samples]
        held = context.checkpoint.load() if context.checkpoint else None
        self.found = {name: np.array(value) for name, value in (held or {}).items()}

    def outcome(self) -> Outcome:
        """Every method at every size; rescalings of finetuning in the order of the cell."""
        cell = self.cell
        for n in cell.samples:
            self._once(f"stl/{n}", partial(self._learn, None, n))
            self._once(f"mtl/{n}", partial(self._learn, None, n, together=True))
            for c in cell.rescalings:
                self._once(f"ptft-{c:g}/{n}", partial(self._finetune, n, c))
        methods = ["stl", "mtl", *(f"ptft-{c:g}" for c in cell.rescalings)]
        arrays = {
            f"{kind}/{method}": np.array([self.found[f"{kind}/{method}/{n}"] for n in cell.samples])
            for method in methods
            for kind in ("error", "loss", "pr", "ensd")
        }
        before = participation_ratio(self._features(self._pretrained()))
        return Outcome({"pr/pretrained": before}, {**arrays, "samples": np.array(cell.samples)})

    def _once(self, stage: str, learn: Callable[[], tuple[Weights, float]]) -> None:
        """Train and measure, unless an earlier run has; then leave all that is known."""
        if f"error/{stage}" in self.found:
            return
        weights, loss = learn()
        after, pre = self._features(weights), self._features(self._pretrained())
        guess = logits(weights, "main", torch.from_numpy(after)).argmax(1)
        self.found |= {
            f"error/{stage}": np.array(float((guess != self.test[1]).float().mean())),
            f"loss/{stage}": np.array(loss),
            f"pr/{stage}": np.array(participation_ratio(after)),
            f"ensd/{stage}": np.array(shared_dimensions(pre, after)),
        }
        self._save()

    def _save(self) -> None:
        if self.context.checkpoint is not None:
            self.context.checkpoint.save(self.found)

    def _fresh(self) -> Weights:
        channels = self.main[0].shape[1]
        return draw(self.seed, channels=channels, widths=self.cell.widths, heads=HEADS)

    def _pretrained(self) -> Weights:
        """The network after the auxiliary task; trained once."""
        weights = self._fresh()
        if not any(name.startswith("weight/") for name in self.found):
            weights, _ = self._train(weights, {"aux": self.aux}, self.cell.pretrain_steps)
            self.found |= {f"weight/{name}": value.numpy() for name, value in weights.items()}
            self._save()
        return {name: torch.from_numpy(self.found[f"weight/{name}"].copy()) for name in weights}

    def _finetune(self, n: int, c: float) -> tuple[Weights, float]:
        weights = rescaled(self._pretrained(), c)
        weights |= fresh_head(self.seed, "main", self.cell.widths[-1], HEADS["main"])
        return self._learn(weights, n)

    def _learn(
        self, weights: Weights | None, n: int, *, together: bool = False
    ) -> tuple[Weights, float]:
        """Train on n images of the main task, fresh weights if none are given."""
        tasks = {"main": (self.main[0][:n], self.main[1][:n])}
        if together:
            tasks["aux"] = self.aux
        return self._train(weights or self._fresh(), tasks, self.cell.steps)

    def _train(
        self, weights: Weights, tasks: Mapping[str, Images], steps: int
    ) -> tuple[Weights, float]:
        """Weights after training, and the mean loss of the last epoch of the first task."""
        cell = self.cell
        names = [k for k in trained(weights) if not k.startswith(("head.", "shift."))]
        names += [f"{kind}.{head}" for head in tasks for kind in ("head", "shift")]
        values = [weights[name].requires_grad_() for name in names]
        slots = cell.optimizer.slots([v.detach() for v in values])
        count = len(next(iter(tasks.values()))[1])
        recent: deque[float] = deque(maxlen=max(1, count // cell.batch))
        for step in range(steps):
            losses = [self._loss(weights, head, task, step) for head, task in tasks.items()]
            gradients = torch.autograd.grad(torch.stack(losses).sum(), values)
            with torch.no_grad():
                cell.optimizer.update(values, gradients, slots, step=step, factor=1.0)
            recent.append(float(torch.stack(losses).detach().mean()))
            if len(recent) == recent.maxlen and sum(recent) / len(recent) < cell.tolerance:
                break
            if step % LOOK_EVERY == 0:
                self.context.progress(step, steps)
        last = sum(recent) / len(recent) if recent else float("nan")
        return {name: value.detach() for name, value in weights.items()}, last

    def _loss(self, weights: Weights, head: str, task: Images, step: int) -> Tensor:
        """Cross-entropy on the batch whose turn it is; every epoch has its own order."""
        x, y = task
        size = min(self.cell.batch, len(y))
        epoch, at = divmod(step, len(y) // size)
        order = stream(self.seed, "order", head, epoch).permutation(len(y))
        rows = torch.from_numpy(order[at * size : (at + 1) * size])
        read = features(weights, x[rows], training=True)
        return functional.cross_entropy(logits(weights, head, read), y[rows])

    def _features(self, weights: Weights) -> np.ndarray:
        """The features of the main test images."""
        x = self.test[0]
        with torch.no_grad():
            parts = [
                features(weights, x[at : at + AT_ONCE], training=False)
                for at in range(0, len(x), AT_ONCE)
            ]
        return np.asarray(torch.cat(parts).numpy())
