"""The split itself, audited: what training shows, what it leaves out, and what a shortcut gains."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import polars as pl

from recombine.auditing import audit
from recombine.auditing.audit import Audit
from recombine.auditing.finding import Finding
from recombine.auditing.shown import coverage, factors, orders, prediction, shortcuts
from recombine.diagnosis.reading import Reading
from recombine.studies.table import Table
from recombine.tasks.sequence import SequenceTask
from recombine.tasks.task import Task

ABOUT_FACTORS = ("leak", "unseen", "constant")
"""The findings that mean something where answers are sentences, which are no classes."""


@functools.lru_cache(maxsize=8)
def audited(task: Task) -> Audit:
    """The audit of a task's split; of sentences, only what it says about factors."""
    held_out = Reading(task).held_out
    if not isinstance(task, SequenceTask):
        return audit(task, test=held_out)
    return audit(
        _commands(task, held_out), label="answer", split="split", train=("train",), test=held_out,
        order=0, predictions=False,
    )  # fmt: skip


def _commands(task: SequenceTask, held_out: tuple[str, ...]) -> pl.DataFrame:
    """Every combination of training and of the new ones, with one label for all."""
    parts = []
    for split in ("train", *held_out):
        z = np.unique(task.combinations(split), axis=0)
        columns = {
            factor.name: np.asarray(factor.values)[z[:, j]] for j, factor in enumerate(task.factors)
        }
        parts.append(pl.DataFrame({**columns, "answer": ["any"] * len(z), "split": split}))
    return pl.concat(parts)


def findings(task: Task) -> tuple[Finding, ...]:
    """What stands out, the gravest first."""
    every = audited(task).findings
    if not isinstance(task, SequenceTask):
        return every
    return tuple(each for each in every if each.kind in ABOUT_FACTORS)


def tables(task: Task) -> tuple[Table, ...]:
    """What stands out, coverage by order, shortcuts, and what can be learned at each order."""
    found = audited(task)
    said = tuple((each.weight, each.text, each.advice) for each in findings(task))
    columns = ("how grave", "what the audit found", "what to do")
    made = [Table("audit", "What stands out", columns, said), factors(found), coverage(found)]
    if not isinstance(task, SequenceTask):
        made.append(shortcuts(found))
        if found.orders and found.leakage.held_out:
            made.append(orders(found))
        if found.prediction is not None:
            made.append(prediction(found))
    return tuple(
        replace(
            each, id=f"split-{each.id}", title=f"The split: {each.title[0].lower()}{each.title[1:]}"
        )
        for each in made
        if each.rows
    )
