"""How the outcomes of a diagnosis are read: accuracies, gaps, items, errors and leanings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.analyses.breakdown import Breakdown, items
from recombine.studies.results import Seeds
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import Examples, Task

REFERENCES = ("in-distribution", "in_distribution", "train")
"""Splits of trained combinations, the best one first: fresh examples, then the training's own."""
IGNORED = -1


@dataclass(frozen=True)
class Reading:
    """What the names of a task's splits, factors and outputs mean in a diagnosis."""

    task: Task

    @property
    def splits(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self.task.splits())

    @property
    def reference(self) -> str:
        """The split of trained combinations."""
        return next(name for name in REFERENCES if name in self.splits)

    @property
    def held_out(self) -> tuple[str, ...]:
        """The splits of new combinations."""
        trained = {tuple(z) for z in self.task.combinations("train").tolist()}
        return tuple(
            split
            for split in self.splits
            if split not in REFERENCES
            and not all(tuple(z) in trained for z in self.task.combinations(split).tolist())
        )

    def accuracy(self, cell: Seeds, split: str) -> Float[np.ndarray, " seed"]:
        """Share of examples with every output right, at the end of training."""
        return np.asarray(cell.scalar(f"accuracy/{split}"))

    def gap(self, cell: Seeds, split: str) -> Float[np.ndarray, " seed"]:
        """How much less right than on trained combinations."""
        gap = self.accuracy(cell, self.reference) - self.accuracy(cell, split)
        return np.asarray(gap)

    def best_step(self, cell: Seeds) -> Int[np.ndarray, " seed"]:
        """Where each seed was most accurate in distribution, the first such evaluation."""
        return np.asarray(cell.array(f"accuracy/{self.reference}").argmax(1))

    def items(self, split: str) -> Examples:
        """The items that every seed answered."""
        return items(self.task, split, Breakdown().items)

    def answers(self, cell: Seeds, split: str) -> Int[np.ndarray, "seed n output"]:
        """What each seed answered to them."""
        return np.asarray(cell.array(f"answers/{split}")[:, -1])

    def right(self, cell: Seeds, split: str) -> Bool[np.ndarray, "seed n"]:
        """Which items each seed got right."""
        targets = self.items(split).targets
        return np.asarray(((self.answers(cell, split) == targets) | (targets == IGNORED)).all(-1))

    def errors(self, cell: Seeds, split: str) -> dict[str, Float[np.ndarray, " seed"]]:
        """Of each kind of error, its share among the wrong answers of each seed."""
        task, z = self.task, self.items(split).z
        assert isinstance(task, SequenceTask)
        told = [task.kinds_of(z, given) for given in self.answers(cell, split)]
        wrong = [max(sum(kind in task.kinds for kind in seed), 1) for seed in told]
        counts = {kind: [seed.count(kind) for seed in told] for kind in task.kinds}
        return {kind: np.array(each) / np.array(wrong) for kind, each in counts.items()}

    def by_value(
        self, cell: Seeds, split: str, factor: int
    ) -> dict[str, Float[np.ndarray, " seed"]]:
        """Accuracy among the items with each value of a factor, of values that occur."""
        z, right = self.items(split).z[:, factor], self.right(cell, split)
        values = self.task.factors[factor].values
        return {values[v]: right[:, z == v].mean(1) for v in np.unique(z)}

    def by_combination(
        self, cell: Seeds, split: str
    ) -> tuple[Int[np.ndarray, "combination factor"], Float[np.ndarray, "seed combination"]]:
        """Every combination of a split, and each seed's accuracy on it."""
        z, right = self.items(split).z, self.right(cell, split)
        found, where = np.unique(z, axis=0, return_inverse=True)
        counts = np.bincount(where.ravel())
        rows = [np.bincount(where.ravel(), weights=seed) / counts for seed in right]
        return found, np.stack(rows)

    def describe(self, z: Int[np.ndarray, " factor"]) -> str:
        """A combination in words: the sentence it is, or its factors with their values."""
        if isinstance(self.task, SequenceTask):
            shown = self.task.render(z[None], np.zeros((1, len(z), 0), dtype=np.float32))
            return " ".join(self.task.sentence(shown[0]))
        named = zip(self.task.factors, z.tolist(), strict=True)
        return ", ".join(f"{factor.name} {factor.values[v]}" for factor, v in named)

    def leaning(self, cell: Seeds) -> Float[np.ndarray, " seed"]:
        """The largest flip rate of an output by a factor that should not matter to it."""
        flips = cell.array("dependence/flip")[:, -1]
        wrong = [flips[:, i, j] for i, j in self.redundant()]
        return np.asarray(np.max(wrong, axis=0))

    def redundant(self) -> list[tuple[int, int]]:
        """Pairs of an output and a factor that it should not depend on."""
        factors = range(len(self.task.factors))
        return [
            (i, j)
            for i, output in enumerate(self.task.outputs)
            for j in factors
            if j not in output.factors
        ]
