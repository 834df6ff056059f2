"""Two small cells that hold gradient descent against penalties: finetuning, and several tasks.

`PenaltyForms` finetunes a pretrained diagonal net and asks which form of the penalty predicts
where it ends: the exact one, the small-γ one, the printed one, the script's. `GroupNorms` trains
two tasks at once and asks how near the l₁,₂ norm comes to the least possible, with and without
weight decay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue
from recombine.models.diagonal import Diagonal
from recombine.seeds import stream
from recombine.theory import finetuning
from recombine.theory.interpolation import interpolate
from recombine.theory.mirror import Mirror
from recombine.theory.multitask import group_norm, least_group_norm
from recombine.training.diagonal import Descent, Task, descend

FORMS = ("exact", "small", "printed", "script")


@dataclass(frozen=True)
class SmallCell(Cell):
    """What both are told."""

    dimension: int = 40
    samples: int = 15
    steps: int = 15_000
    """The most updates."""
    rate: float = 0.1

    def validate(self) -> None:
        if self.dimension < 1 or self.samples < 1:
            raise BadValue(f"cells/{self.name}.samples", self.samples, "a positive number")
        if self.steps < 1 or self.rate <= 0:
            raise BadValue(f"cells/{self.name}.steps or rate", self.steps, "positive numbers")

    @property
    def seeds_per_job(self) -> int:
        return 50

    def examples(self, seed: int, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Teacher, inputs and targets of one task: all dense and normal."""
        teacher = stream(seed, "teacher", name).standard_normal(self.dimension) / 2
        inputs = stream(seed, "data", name).standard_normal((self.samples, self.dimension))
        return teacher, inputs, inputs @ teacher


@dataclass(frozen=True)
class PenaltyForms(SmallCell):
    """Which form of the penalty predicts finetuning."""

    name: ClassVar[str] = "reuse-forms"

    steps: int = 100_000
    rate: float = 0.005
    """Small: descent strays from the flow in proportion to it."""
    gamma: float = 0.01
    """Initial weights, and the readout of finetuning."""

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        aux = [self.examples(seed, "aux")[0] for seed in seeds]
        main = [self.examples(seed, "main") for seed in seeds]
        weights = [finetuning.pretrained_weights(beta, self.gamma) for beta in aux]
        plus, minus = (
            torch.from_numpy(np.stack([pair[i] for pair in weights])[:, None]) for i in (0, 1)
        )
        v = torch.full_like(plus, self.gamma)
        task = _task([x for _, x, _ in main], [y for _, _, y in main], runs=1)
        how = Descent(self.steps, self.rate, tolerance=1e-20)
        end = descend(Diagonal((plus, minus), ((v, v.clone()),)), [task], how, context=context)
        trained = end.net.betas()[0][:, 0].numpy()
        return {
            seed: self._compare(trained[lane], aux[lane], *main[lane][1:])
            for lane, seed in enumerate(seeds)
        }

    def _compare(
        self, trained: np.ndarray, aux: np.ndarray, inputs: np.ndarray, targets: np.ndarray
    ) -> Outcome:
        gamma = self.gamma
        mirrors = {
            "exact": finetuning.exact_mirror(aux, gamma=gamma),
            "small": Mirror.of_scale(np.abs(aux) + 2 * gamma**2),
            "printed": Mirror.of_scale(finetuning.printed_scale(aux, gamma=gamma)),
            "script": Mirror.of_scale(finetuning.script_scale(aux, gamma=gamma)),
        }
        betas = {name: interpolate(inputs, targets, m).beta for name, m in mirrors.items()}
        gaps = {f"gap/{n}": float(np.abs(beta - trained).max()) for n, beta in betas.items()}
        arrays = {f"beta/{name}": beta for name, beta in betas.items()}
        return Outcome(
            {**gaps, "largest": float(np.abs(trained).max())}, {**arrays, "beta/trained": trained}
        )


@dataclass(frozen=True)
class GroupNorms(SmallCell):
    """How near training on two tasks comes to the least l₁,₂ norm."""

    name: ClassVar[str] = "reuse-groups"

    scales: tuple[float, ...] = (0.1, 0.01, 0.001, 0.0001)
    """Initial weights of plain gradient descent, one run each."""
    decay: float = 0.01
    """λ of the run with weight decay."""

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        drawn = [[self.examples(seed, name)[1:] for name in ("main", "aux")] for seed in seeds]
        runs = len(self.scales)
        tasks = [_task([d[t][0] for d in drawn], [d[t][1] for d in drawn], runs) for t in (0, 1)]
        once = [_task([d[t][0] for d in drawn], [d[t][1] for d in drawn], 1) for t in (0, 1)]
        scale = torch.tensor(self.scales, dtype=torch.float64)[None, :, None]
        start = Diagonal.at(scale.expand(len(seeds), -1, self.dimension), tasks=2)
        plain = descend(
            start, tasks, Descent(self.steps, self.rate, 1e-16), context=context, stage="plain"
        )
        one = Diagonal.at(torch.full((len(seeds), 1, self.dimension), 0.1).double(), tasks=2)
        decayed = descend(
            one,
            once,
            Descent(self.steps, self.rate, decay=self.decay),
            context=context,
            stage="decay",
        )
        return {
            seed: self._compare(
                drawn[lane],
                torch.stack([beta[lane] for beta in plain.net.betas()], 1).numpy(),
                torch.stack([beta[lane, 0] for beta in decayed.net.betas()]).numpy(),
            )
            for lane, seed in enumerate(seeds)
        }

    def _compare(
        self,
        problems: Sequence[tuple[np.ndarray, np.ndarray]],
        plain: np.ndarray,
        decayed: np.ndarray,
    ) -> Outcome:
        least = float(group_norm(least_group_norm(problems)))
        least_decayed = float(group_norm(least_group_norm(problems, decay=self.decay)))
        return Outcome(
            {
                "least": least,
                "least/decayed": least_decayed,
                "excess/decayed": float(group_norm(decayed)) / least_decayed - 1,
            },
            {"excess/plain": group_norm(plain) / least - 1},
        )


def _task(inputs: Sequence[np.ndarray], targets: Sequence[np.ndarray], runs: int) -> Task:
    x, y = (torch.from_numpy(np.stack(list(values))) for values in (inputs, targets))
    return Task.prefixes(x, y, [x.shape[1]] * runs)
