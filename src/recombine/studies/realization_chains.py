"""Cell of `realization`: how a trained network does on longer chains than it was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue
from recombine.models.seq2seq import StackedSeq2Seq
from recombine.seeds import stream
from recombine.studies.realization_cells import SELECTIONS, network
from recombine.tasks.lookup import LookupTables
from recombine.tasks.task import IGNORE
from recombine.training.trial import Trial


@dataclass(frozen=True)
class Chains(Cell):
    """Accuracy on chains of three tables and more, of a network trained on one and two."""

    name: ClassVar[str] = "realization-chains"

    trained: Trial
    """How the network was trained."""
    selection: str = SELECTIONS[0]
    """Which of its epochs."""
    longest: int = 6
    """Tables in the longest chain."""

    def validate(self) -> None:
        if not isinstance(self.trained.task, LookupTables):
            raise BadValue("cells/realization-chains.trained.task", self.trained.task.name,
                           "lookup-tables")  # fmt: skip
        if self.selection not in SELECTIONS:
            legal = "one of " + ", ".join(SELECTIONS)
            raise BadValue("cells/realization-chains.selection", self.selection, legal)
        if self.longest < 3:
            raise BadValue("cells/realization-chains.longest", self.longest, "at least 3")

    @property
    def seeds_per_job(self) -> int:
        return self.trained.seeds_per_job

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        found = {}
        for seed in seeds:
            weights = context.recall(self.trained, seed).weights
            found[seed] = Outcome(self.measure(network(self.trained, weights, self.selection)))
        return found

    def measure(self, stack: StackedSeq2Seq) -> dict[str, float]:
        """Accuracy of the whole answer, and of its first three words, on each longer split."""
        assert isinstance(self.trained.task, LookupTables)
        task = replace(self.trained.task, longest=self.longest)
        known, scores = set(self.trained.task.splits()), {}
        for split in task.splits():
            if split in known:
                continue
            z = task.combinations(split)
            inputs = torch.from_numpy(task.render(z, task.draw_noise(len(z), stream(0, split))))
            targets = torch.from_numpy(task.targets(z))
            with torch.no_grad():
                answers = stack.unroll(inputs.unsqueeze(0), steps=self.longest + 1)[0].argmax(-1)
            right = (answers == targets) | (targets == IGNORE)
            scores[f"accuracy/{split}"] = float(right.all(-1).double().mean())
            scores[f"beginning/{split}"] = float(right[:, :3].all(-1).double().mean())
        return scores
