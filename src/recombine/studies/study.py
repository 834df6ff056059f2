"""A study: a published paper as parts, each with cells, tables, figures and claims.

The published side (statements, numbers, where they stand, caveats) is data in
`published/<study>.toml`; the measured side is code in `<study>.py`. A part joins them by the id of
each claim.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, ClassVar, Literal

from recombine.cell import Cell
from recombine.errors import UnknownName
from recombine.stats import Verdict
from recombine.studies.figure import Figure
from recombine.studies.results import Results
from recombine.studies.table import Table

SCALES = ("quick", "paper")
ERROR_RATE = 0.05
"""Chance that any verdict of a part rests on an interval that missed; shared among its claims."""

Runs = Literal["always", "with its study", "by name"]
Judge = Callable[[Results, float], Verdict]
"""From results and the level of the interval to a verdict."""


@dataclass(frozen=True)
class Need:
    """A cell and the seeds a part wants of it."""

    cell: Cell
    seeds: range


@dataclass(frozen=True)
class Claim:
    """A statement of the paper (or ours, if `where` says so), as published."""

    id: str
    part: str
    statement: str
    where: str
    published: str
    """What the paper reports for it, as printed."""
    rule: str
    """What counts as reproduced and as contradicted, in numbers."""
    caveat: str = ""


@dataclass(frozen=True)
class Part(ABC):
    """One experiment of a paper, complete in itself."""

    name: ClassVar[str]
    title: ClassVar[str]
    profiles: ClassVar[tuple[str, ...]]
    """The first is the default."""
    seeds: ClassVar[Mapping[str, int]]
    """Seeds of the main cell by scale."""
    runs: ClassVar[Runs] = "always"
    """When it is run: whenever anything is; when its study is named, because a first look at all
    studies should not wait for it; or only by its own name (`study/part`): it takes days."""
    smallest: ClassVar[tuple[str, ...]] = ()
    """Settings (`field=value`) that make its cells run in seconds: for checks, not for claims."""

    @abstractmethod
    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        """What must be run."""

    @abstractmethod
    def judges(self) -> Mapping[str, Judge]:
        """How each claim is judged, by id."""

    @abstractmethod
    def tables(self, results: Results) -> tuple[Table, ...]:
        """Numbers, published beside ours."""

    @abstractmethod
    def figures(self, results: Results) -> tuple[Figure, ...]:
        """Pictures, as data."""


@dataclass(frozen=True)
class Study:
    """A paper and the parts of it that are reproduced."""

    name: str
    title: str
    authors: str
    year: int
    question: str
    claims: tuple[Claim, ...]
    parts: tuple[Part, ...]

    def part(self, name: str) -> Part:
        """The part of that name."""
        for part in self.parts:
            if part.name == name:
                return part
        raise UnknownName("part", name, [p.name for p in self.parts], where=self.name)

    def claims_of(self, part: Part) -> tuple[Claim, ...]:
        """The claims that a part judges."""
        return tuple(claim for claim in self.claims if claim.part == part.name)


def judge(study: Study, part: Part, results: Results) -> dict[str, Verdict]:
    """The verdict on each claim of a part, from results alone.

    Intervals are made at 1 − ERROR_RATE / (number of claims), so that all of a part's verdicts
    together are wrong by chance at most at that rate.
    """
    claims = study.claims_of(part)
    judges = part.judges()
    level = 1 - ERROR_RATE / len(claims)
    return {claim.id: judges[claim.id](results, level) for claim in claims}


def published(name: str, *parts: Part) -> Study:
    """The study whose published side is in `published/<name>.toml`."""
    text = resources.files("recombine.studies.published").joinpath(f"{name}.toml").read_text()
    data: dict[str, Any] = tomllib.loads(text)
    claims = tuple(Claim(**claim) for claim in data.pop("claims"))
    return Study(name=name, claims=claims, parts=parts, **data)
