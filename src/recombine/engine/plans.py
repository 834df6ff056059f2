"""The plan: the seeds that are wanted, minus what the store has, cut into jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from recombine.cell import Cell
from recombine.engine.jobs import Job
from recombine.runs import Store
from recombine.spec import key_of


@dataclass(frozen=True)
class Plan:
    """What is to be done, and what is done already."""

    jobs: tuple[Job, ...]
    done: int
    """Seeds that the store has."""
    retried: int
    """Seeds that failed before and are tried again."""

    @property
    def missing(self) -> int:
        """Seeds that the jobs will run."""
        return sum(len(job.seeds) for job in self.jobs)


def plan(wanted: Mapping[str, tuple[Cell, Iterable[int]]], store: Store) -> Plan:
    """Jobs for every wanted seed that is not done, by name of cell.

    A block of seeds is cut at multiples of the cell's job size whatever is missing, so that the
    same command cuts the same blocks again and finds their checkpoints.
    """
    jobs: list[Job] = []
    done = retried = 0
    for name, (cell, seeds) in wanted.items():
        key = key_of(cell)
        status = store.has(key)
        missing = sorted(seed for seed in seeds if status.get(seed) != "done")
        store.refuse_damaged(key, (seed for seed in missing if seed not in status))
        done += sum(status.get(seed) == "done" for seed in seeds)
        retried += sum(status.get(seed) == "failed" for seed in seeds)
        size = cell.seeds_per_job
        for block, members in groupby(missing, key=lambda seed: seed // size):
            jobs.append(Job(name, cell, key, block, tuple(members)))
    return Plan(tuple(jobs), done, retried)
