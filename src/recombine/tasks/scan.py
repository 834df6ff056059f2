"""SCAN: commands such as `jump twice and turn left`, to be turned into sequences of actions.

Inputs are one-hot rows, one a word, zeros after the last; targets are actions and an end, −1 after
it. Factors and impossible combinations: `scan_grammar`; splits by rule: `scan_splits`; official
files: `scan_files`; the oracle is the interpreter in `scan_meaning`.

In setting B of *Gradient Descent Resists Compositionality* the acting words of a training line
(walk, look, run, jump) are each replaced by one of the four, uniformly at random, together with
their actions. The training split of B is that distribution written out: sixteen lines for each
line of A, every outcome as often as chance would have it. **B trains on the test commands**: it is
a control of what the network can learn when the word is independent of the frame, and no
generalisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.errors import BadValue
from recombine.spec import later
from recombine.tasks import scan_errors
from recombine.tasks import scan_grammar as grammar
from recombine.tasks.scan_files import file_split, fingerprint
from recombine.tasks.scan_grammar import SOURCE_WORDS, TARGET_WORDS, commands
from recombine.tasks.scan_meaning import interpret
from recombine.tasks.scan_splits import rule_split
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import EVERYTHING, IGNORE, Examples, Factor, Output, Task

ACTING = 4
"""walk, look, run and jump: the words that setting B replaces; `turn` has no action of its own."""


@dataclass(frozen=True)
class Scan(SequenceTask):
    """Translate commands into actions, some combinations of words held out."""

    name: ClassVar[str] = "scan"

    split: str = "addprim_jump"
    """simple, length, addprim_…, template_…, filler_num0…3; with a path, any its files give."""
    setting: Literal["A", "B"] = "A"
    """A: the split as it is. B: acting words of training lines replaced at random (a control)."""
    split_seed: int = 0
    """Which random fifth `simple` holds out, when no path is given."""
    longest: int = grammar.LONGEST_ANSWER
    """Leave out commands that ask for more actions than this; 48 is all of SCAN."""
    path: str | None = None
    """Folder or archive with the official files; none: splits are made by rule."""
    files: str = later("")
    """Digest of the split's files, which is filled in: a changed file makes another task."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        # Not setting B: the control trains on the test commands by design.
        return cls(), cls(split="simple"), cls(split="length"), cls(split="filler_num1", longest=8)

    def validate(self) -> None:
        if not self.split:
            raise BadValue("tasks/scan.split", self.split, "the name of a split")
        if not 1 <= self.longest <= grammar.LONGEST_ANSWER:
            legal = f"a whole number from 1 to {grammar.LONGEST_ANSWER}"
            raise BadValue("tasks/scan.longest", self.longest, legal)
        if self.path is None:
            object.__setattr__(self, "files", "")
            self.ready()
        else:  # what cannot be read now, `ready` tells: a stored task is readable without its files
            found = fingerprint(self.path, self.split)
            object.__setattr__(self, "files", found or self.files)

    def ready(self) -> None:
        """Refuse files that cannot be read, and splits of which `longest` leaves nothing."""
        for name, rows in self.lines().items():
            if not len(rows):
                legal = f"more: the split {self.split} has no {name} commands so short"
                raise BadValue("tasks/scan.longest", self.longest, legal)

    @property
    def factors(self) -> tuple[Factor, ...]:
        return tuple(Factor(name, values) for name, values in grammar.FACTORS)

    @property
    def source_words(self) -> tuple[str, ...]:
        return SOURCE_WORDS

    @property
    def target_words(self) -> tuple[str, ...]:
        return TARGET_WORDS

    @property
    def outputs(self) -> tuple[Output, ...]:
        every = tuple(range(len(grammar.FACTORS)))
        places = range(self.longest + 1)
        return tuple(Output(f"action {t}", len(TARGET_WORDS), every) for t in places)

    @property
    def longest_source(self) -> int:
        return grammar.LONGEST_COMMAND

    def splits(self) -> Mapping[str, Int[np.ndarray, "n factor"]]:
        parts = {name: commands().z[rows] for name, rows in self.lines().items()}
        if self.setting == "B":
            parts["train"] = replaced(parts["train"])
        return parts

    def lines(self) -> Mapping[str, Int[np.ndarray, " n"]]:
        """The lines of the split as rows of the table of commands, before setting B."""
        if self.path is not None:
            parts = file_split(self.path, self.split)
        else:
            train, test = rule_split(self.split, self.split_seed)
            parts = {"train": train, "test": test}
        return {name: shortened(rows, self.longest) for name, rows in parts.items()}

    def combinations(self, split: str) -> Int[np.ndarray, "n factor"]:
        """The combinations of a split; `all` are the commands, not the product."""
        if split != EVERYTHING:
            return super().combinations(split)
        return commands().z[commands().lengths <= self.longest + 1]

    def render(
        self, z: Int[np.ndarray, "n factor"], noise: Float[np.ndarray, "n factor 0"]
    ) -> Float[np.ndarray, "n time word"]:
        return self.one_hot(commands().words[commands().rows(z)])

    def targets(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        return np.asarray(commands().answers[commands().rows(z), : self.longest + 1])

    def oracle(self, inputs: Float[np.ndarray, "n time word"]) -> Int[np.ndarray, "n output"]:
        answers = np.full((len(inputs), self.longest + 1), IGNORE)
        for row, words in enumerate(inputs):
            actions = [*interpret(" ".join(self.sentence(words))), grammar.END]
            answers[row, : len(actions)] = [TARGET_WORDS.index(action) for action in actions]
        return answers

    @property
    def kinds(self) -> Mapping[str, str]:
        return scan_errors.MEANINGS

    def kinds_of(
        self, z: Int[np.ndarray, "n factor"], answers: Int[np.ndarray, "n output"]
    ) -> list[str]:
        trained = commands().rows(np.unique(self.combinations("train"), axis=0))
        found = scan_errors.kinds(commands().rows(z), answers.astype(np.int64), trained)
        return [scan_errors.KINDS[kind] for kind in found]

    def part(self, factor: int) -> Bool[np.ndarray, "time word"]:
        """All of it: where a factor's words stand depends on the words before them."""
        return np.ones(self.input_shape, dtype=bool)

    def movable(self, z: Int[np.ndarray, "n factor"], factor: int) -> Bool[np.ndarray, " n"]:
        """A command of one phrase has no other join and no other second phrase."""
        return np.asarray(self._others(z, factor).any(1))

    def resample(self, examples: Examples, factor: int, rng: np.random.Generator) -> Examples:
        """One factor moved to another value that makes a command with the rest.

        Examples that are not `movable` stay as they are.
        """
        legal, z = self._others(examples.z, factor), examples.z.copy()
        # The largest of uniform numbers among the legal values: each is chosen equally often.
        chosen = np.where(legal, rng.random(legal.shape), -1.0).argmax(1)
        z[:, factor] = np.where(legal.any(1), chosen, z[:, factor])
        return self.show(z, examples.noise)

    def _others(self, z: Int[np.ndarray, "n factor"], factor: int) -> Bool[np.ndarray, "n value"]:
        """Which other values of a factor make a command with the rest of each."""
        tried = np.repeat(z[:, None], grammar.SIZES[factor], axis=1)
        tried[..., factor] = np.arange(grammar.SIZES[factor])
        rows = commands().row[tuple(tried.reshape(-1, z.shape[1]).T)].reshape(tried.shape[:2])
        legal = (rows >= 0) & (commands().lengths[rows] <= self.longest + 1)
        legal[np.arange(len(z)), z[:, factor]] = False
        return np.asarray(legal)


def replaced(z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "many factor"]:
    """Setting B: sixteen lines for each, its acting words replaced in every way equally often."""
    every = np.repeat(z, ACTING**2, axis=0)
    first, second = (np.tile(v, len(z)) for v in np.divmod(np.arange(ACTING**2), ACTING))
    acting_1 = every[:, grammar.VERB_1] < ACTING
    acting_2 = (every[:, grammar.VERB_2] > 0) & (every[:, grammar.VERB_2] <= ACTING)
    every[acting_1, grammar.VERB_1] = first[acting_1]
    every[acting_2, grammar.VERB_2] = second[acting_2] + 1
    return every


def shortened(rows: Int[np.ndarray, " n"], longest: int) -> Int[np.ndarray, " kept"]:
    """The lines whose answers are short enough; those that stand there often are thinned alike.

    `jump` is to stay a tenth of the lines of `addprim_jump` when half of the others go.
    """
    if longest == grammar.LONGEST_ANSWER:
        return rows
    kept, counts = np.unique(rows, return_counts=True)
    short = commands().lengths[kept] <= longest + 1
    often = counts > 1
    share = short[~often].mean() if (~often).any() else 1.0
    counts = np.where(often, np.maximum(1, np.rint(counts * share)), counts).astype(np.int64)
    return np.asarray(np.repeat(kept[short], counts[short]))
