"""Lookup tables (Liška et al. 2019): apply tables to a bit string one after another, say each step.

    010 t1 t6 .   →   010 101 000

A table is a bijection on the strings of so many bits, and a string is one word. The answer is a
copy of the input, every result on the way, and the last one: for word i of the answer one must
look at word i of the source, so the right attention is the diagonal.

A combination is (input, table 1, table 2, …). From the second table on a factor may be *none*:
the chain ends there. So a single table and a chain of several live in one product: with eight
tables and three bits 8 × 8 × 9 = 576 combinations, 64 of one table and 512 of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.errors import BadValue
from recombine.spec import later
from recombine.tasks.lookup_files import fingerprint, read
from recombine.tasks.lookup_sample import Sample, Setting, generate
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import IGNORE, Factor, Output, Task

STOP = "."
UNUSED = ("<unk>", "<pad>")
"""Words of the original vocabularies that never occur; their embeddings count as parameters."""
START = "<sos>"
NONE = "none"


@dataclass(frozen=True)
class LookupTables(SequenceTask):
    """Chains of table lookups, some chains held out."""

    name: ClassVar[str] = "lookup-tables"

    tables: int = 8
    bits: int = 3
    """Bits of a string."""
    held_tables: int = 2
    """Tables trained on only by themselves: the last ones."""
    held_compositions: int = 8
    """Pairs of the other tables never trained on."""
    held_inputs: int = 2
    """Inputs held out of each pair that is trained on."""
    validation: int = 16
    """How many of those held-out inputs make up the validation set."""
    longest: int = 2
    """Tables in the longest chain; from 3 on there are splits of longer chains."""
    longer: int = 64
    """Rows of each split of longer chains, if there are as many."""
    tables_seed: int = 0
    """Which tables and which split: the seed they are drawn with."""
    path: str = ""
    """A directory or tar file of the official format to read instead of drawing; then tables,
    bits and what is held out are as in the files."""
    files: str = later("")
    """Digest of the files at `path`, which is filled in: a changed file makes another task."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        small = cls(tables=4, bits=2, held_tables=1, held_compositions=2, held_inputs=1,
                    validation=3, longest=4, longer=20)  # fmt: skip
        return cls(), small

    def validate(self) -> None:
        where, known = "tasks/lookup-tables", self.tables - self.held_tables
        if self.tables < 1:
            raise BadValue(f"{where}.tables", self.tables, "at least 1")
        if not 1 <= self.bits <= 10:
            raise BadValue(f"{where}.bits", self.bits, "from 1 to 10")
        if not 0 <= self.held_tables < self.tables:
            legal = f"from 0 to {self.tables - 1}, fewer than there are tables"
            raise BadValue(f"{where}.held_tables", self.held_tables, legal)
        if not 0 <= self.held_compositions < known**2:
            legal = f"from 0 to {known**2 - 1}, fewer than there are pairs of trained tables"
            raise BadValue(f"{where}.held_compositions", self.held_compositions, legal)
        if not 0 <= self.held_inputs < 2**self.bits:
            legal = f"from 0 to {2**self.bits - 1}, fewer than there are inputs"
            raise BadValue(f"{where}.held_inputs", self.held_inputs, legal)
        most = (known**2 - self.held_compositions) * self.held_inputs
        if not 0 <= self.validation <= most:
            raise BadValue(f"{where}.validation", self.validation, f"from 0 to {most}")
        if self.longest < 2:
            raise BadValue(f"{where}.longest", self.longest, "at least 2")
        if self.longer < 1:
            raise BadValue(f"{where}.longer", self.longer, "at least 1")
        object.__setattr__(self, "files", fingerprint(self.path) if self.path else "")
        if self.path:
            trained = read(self.path, self.files).splits["train"]  # wrong files are told of here
            if (longest := int(self._length(trained).max())) > self.longest:
                legal = f"at least {longest}, as many tables as a row of train.tsv has"
                raise BadValue(f"{where}.longest", self.longest, legal)

    @property
    def content(self) -> Sample:
        """The tables and the splits, drawn or read."""
        if self.path:
            return read(self.path, self.files)
        return generate(
            Setting(
                tables=self.tables,
                bits=self.bits,
                held_tables=self.held_tables,
                held_compositions=self.held_compositions,
                held_inputs=self.held_inputs,
                validation=self.validation,
                longest=self.longest,
                longer=self.longer,
                seed=self.tables_seed,
            )
        )

    @property
    def strings(self) -> tuple[str, ...]:
        """The bit strings, in order."""
        bits = self.content.bits
        return tuple(f"{number:0{bits}b}" for number in range(2**bits))

    @property
    def factors(self) -> tuple[Factor, ...]:
        names = self.content.names
        first, ended = Factor("table 1", names), (*names, NONE)
        rest = (Factor(f"table {i}", ended) for i in range(2, self.longest + 1))
        return (Factor("input", self.strings), first, *rest)

    @property
    def outputs(self) -> tuple[Output, ...]:
        classes = len(self.target_words)
        return tuple(
            Output(f"word {i}", classes, tuple(range(i + 1))) for i in range(self.longest + 1)
        )

    @property
    def source_words(self) -> tuple[str, ...]:
        return (*self.strings, *self.content.names, STOP, *UNUSED)

    @property
    def target_words(self) -> tuple[str, ...]:
        return (*self.strings, *UNUSED, START)

    @property
    def longest_source(self) -> int:
        return self.longest + 2

    def splits(self) -> Mapping[str, Int[np.ndarray, "n factor"]]:
        none, found = len(self.content.names), {}
        for name, z in self.content.splits.items():
            width = self.longest + 1
            if (z[:, width:] == none).all():  # a split of longer chains than asked for is left out
                missing = max(0, width - z.shape[1])
                found[name] = np.pad(z[:, :width], ((0, 0), (0, missing)), constant_values=none)
        return found

    def render(
        self, z: Int[np.ndarray, "n factor"], noise: Float[np.ndarray, "n factor 0"]
    ) -> Float[np.ndarray, "n time word"]:
        strings, tables = len(self.strings), len(self.content.names)
        length = self._length(z)
        words = np.full((len(z), self.longest_source), IGNORE)
        words[:, 0] = z[:, 0]
        words[:, 1:-1] = np.where(_before(length, self.longest), strings + z[:, 1:], IGNORE)
        words[np.arange(len(z)), length + 1] = strings + tables
        return self.one_hot(words)

    def targets(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        maps, length = self.content.maps, self._length(z)
        answer = np.full((len(z), self.longest + 1), IGNORE)
        answer[:, 0] = value = z[:, 0]
        for i in range(1, self.longest + 1):
            goes_on = length >= i
            value = np.where(goes_on, maps[np.where(goes_on, z[:, i], 0), value], value)
            answer[goes_on, i] = value[goes_on]
        return answer

    def attention(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        """The diagonal: word i of the answer is made at word i of the source."""
        position = np.arange(self.longest + 1)
        return np.where(position <= self._length(z)[:, None], position, IGNORE)

    def oracle(self, inputs: Float[np.ndarray, "n time word"]) -> Int[np.ndarray, "n output"]:
        words, strings = self.words_of(inputs), len(self.strings)
        stop = strings + len(self.content.names)
        answers = np.full((len(words), self.longest + 1), IGNORE)
        for row, sentence in enumerate(words):
            value = answers[row, 0] = sentence[0]
            for i, word in enumerate(sentence[1:], start=1):
                if word == stop:
                    break
                value = answers[row, i] = self.content.maps[word - strings, value]
        return answers

    def part(self, factor: int) -> Bool[np.ndarray, "time word"]:
        """The input's own position; a table's and all after it, which end earlier if it is none."""
        time = np.arange(self.longest_source)
        mine = time == factor if factor < 2 else time >= factor
        return np.broadcast_to(mine[:, None], self.input_shape)

    def _length(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, " n"]:
        """Tables up to the first none."""
        there = z[:, 1:] < len(self.content.names)
        return np.asarray(np.cumprod(there, axis=1).sum(1))


def _before(length: Int[np.ndarray, " n"], width: int) -> Bool[np.ndarray, "n table"]:
    return np.asarray(np.arange(width) < length[:, None])
