"""A cell that costs nothing and does as told, and a study made of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from recombine import stats
from recombine.cell import Cell, Context, Outcome
from recombine.engine.pools import Flag
from recombine.spec import later
from recombine.stats import Verdict
from recombine.studies import Figure, Need, Part, Results, Study, Table
from recombine.studies.study import Claim, Judge


@dataclass(frozen=True)
class Toy(Cell):
    """Doubles its seed, notes in a file that it ran, and fails if told to."""

    name: ClassVar[str] = "toy"

    log: str = ""
    """A file that gets a line for every seed run; empty: none."""
    fails_from: int | None = None
    """Seeds from here on fail."""
    gives: str = "numbers"
    """`numbers`, or `texts`, which no record can hold, or `nothing`."""
    together: int = 10
    """Seeds a job."""
    keeps: bool = later(False)
    """Leave weights in the store."""

    @property
    def seeds_per_job(self) -> int:
        return self.together

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        if self.log:
            with open(self.log, "a") as log:
                log.writelines(f"{seed}\n" for seed in seeds)
        context.progress(len(seeds), len(seeds))
        if self.fails_from is not None and max(seeds) >= self.fails_from:
            raise ArithmeticError(f"seed {max(seeds)} [/does not] compose")
        if self.gives == "nothing":
            return {}
        values = {seed: np.array(["a" if self.gives == "texts" else 2 * seed]) for seed in seeds}
        weights = {"w": np.zeros(1)} if self.keeps else {}
        return {
            seed: Outcome({"twice": 2.0 * seed}, {"twice": values[seed]}, weights) for seed in seeds
        }


@dataclass(frozen=True)
class Side(Toy):
    """One more field than the main cell has."""

    name: ClassVar[str] = "side"

    extra: int = 0


def ran(log: Path) -> list[int]:
    """The seeds that were run, in order."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def look(flag: Flag, seen: Any) -> None:
    """Wait in a process of its own until a flag is raised, and say so."""
    while not flag.is_set():
        time.sleep(0.01)
    seen.set()


def grows(results: Results, level: float) -> Verdict:
    """A1: seeds are not negative on average."""
    return stats.above(stats.mean(results["main"].scalar("twice"), level=level), -1.0)


@dataclass(frozen=True)
class ToyPart(Part):
    """As many seeds as asked for of one cell, at most two of another; the same at both scales."""

    profiles: ClassVar[tuple[str, ...]] = ("plain", "fancy")
    seeds: ClassVar[Mapping[str, int]] = {"quick": 4, "paper": 8}

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        together = {"plain": 10, "fancy": 3}[profile]
        main = Toy(together=together, gives=f"numbers of {self.name}")
        side = Side(together=together, gives=f"numbers of {self.name}")
        return {"main": Need(main, range(seeds)), "side": Need(side, range(min(seeds, 2)))}

    def judges(self) -> Mapping[str, Judge]:
        return {"A1": grows}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return (Table("t", "Twice", ("n",), ((results["main"].n,),)),)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return ()


class One(ToyPart):
    name: ClassVar[str] = "one"
    title: ClassVar[str] = "The first part"


class Two(ToyPart):
    name: ClassVar[str] = "two"
    title: ClassVar[str] = "The second part"


CLAIMS = tuple(
    Claim("A1", part, "Seeds grow.", "nowhere", "not published", "mean above -1")
    for part in ("one", "two")
)
STUDY = Study("toy", "Toys", "Nobody", 2025, "Do seeds grow?", CLAIMS, (One(), Two()))
