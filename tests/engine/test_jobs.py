"""Jobs: idempotent, one at a time, and recorded with what made them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch

from recombine.cell import Cell, Context, Outcome
from recombine.engine import Job, plan, source_of
from recombine.engine.jobs import perform, told
from recombine.engine.provenance import environment
from recombine.errors import Interrupted, StoreFull
from recombine.runs import Store
from recombine.spec import encode
from toys import Toy, ran


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def job(tmp_path: Path, store: Store) -> Job:
    (job,) = plan({"toy": (Toy(str(tmp_path / "log")), range(4))}, store).jobs
    return job


def unheard(done: int, total: int) -> None:
    """Progress nobody watches."""


def test_a_job_leaves_a_record_of_each_seed(job: Job, store: Store) -> None:
    ended = perform(job, store.path, "cpu", unheard)
    assert (ended.job, ended.seeds, ended.error) == ("toy [0–3]", 4, None)
    record, arrays = store.get(job.key, 3)
    assert record.scalars == {"twice": 6.0} and arrays["twice"].tolist() == [6]
    assert record.cell == encode(job.cell)
    assert record.source == source_of(job.cell)
    assert record.environment == environment("cpu")


def test_a_job_done_already_is_not_run_again(job: Job, store: Store, tmp_path: Path) -> None:
    for _ in range(2):
        perform(job, store.path, "cpu", unheard)
    assert ran(tmp_path / "log") == [0, 1, 2, 3]


def test_only_what_is_missing_of_a_job_is_run(job: Job, store: Store, tmp_path: Path) -> None:
    perform(Job("toy", job.cell, job.key, 0, (1, 2)), store.path, "cpu", unheard)
    assert perform(job, store.path, "cpu", unheard).seeds == 2
    assert ran(tmp_path / "log") == [1, 2, 0, 3]


def test_a_job_asked_for_by_several_at_once_is_run_by_one(
    job: Job, store: Store, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(4) as pool:
        ends = [pool.submit(perform, job, store.path, "cpu", unheard) for _ in range(4)]
        assert all(end.result().error is None for end in ends)
    assert ran(tmp_path / "log") == [0, 1, 2, 3]


def test_a_job_that_waits_for_another_process_can_be_stopped(job: Job, store: Store) -> None:
    def stop(done: int, total: int) -> None:
        raise Interrupted("stopped")

    with ThreadPoolExecutor(1) as pool, store.claim(job.claim):
        waiting = pool.submit(perform, job, store.path, "cpu", stop)
        with pytest.raises(Interrupted):
            waiting.result(timeout=30)
    assert store.has(job.key) == {}
    assert os.listdir(store.path / "locks") == []


def test_a_job_uses_one_thread(job: Job, store: Store) -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        perform(job, store.path, "cpu", unheard)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("error", [Interrupted("stopped"), StoreFull("no room")])
def test_what_is_no_fault_of_the_cell_leaves_no_record(
    job: Job, store: Store, error: Exception
) -> None:
    def refuse(done: int, total: int) -> None:
        raise error

    with pytest.raises(type(error)):
        perform(job, store.path, "cpu", refuse)
    assert store.has(job.key) == {}
    assert os.listdir(store.path / "locks") == []


def test_the_state_of_a_failed_cell_is_dropped(tmp_path: Path, store: Store) -> None:
    cell = Toy(str(tmp_path / "log"), fails_from=0)
    (job,) = plan({"bad": (cell, range(2))}, store).jobs
    store.checkpoint(job.claim).save({"step": np.array(3)})
    assert perform(job, store.path, "cpu", unheard).error is not None
    assert os.listdir(store.path / "checkpoints") == []


@dataclass(frozen=True)
class Reader(Cell):
    """Doubles once more what another cell gave."""

    name: ClassVar[str] = "reader"

    read: Toy

    @property
    def seeds_per_job(self) -> int:
        return 2

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        found = {seed: context.recall(self.read, seed).scalars["twice"] for seed in seeds}
        return {seed: Outcome({"four times": 2 * value}) for seed, value in found.items()}


def test_a_cell_recalls_what_another_gave_and_leaves_it_in_the_store(
    store: Store, tmp_path: Path
) -> None:
    toy = Toy(str(tmp_path / "log"), keeps=True, together=1)
    (first,) = plan({"toy": (toy, [1])}, store).jobs
    perform(first, store.path, "cpu", unheard)
    (job,) = plan({"reader": (Reader(toy), [0, 1])}, store).jobs
    assert perform(job, store.path, "cpu", unheard).error is None
    assert store.get(job.key, 1)[0].scalars == {"four times": 4.0}
    assert ran(tmp_path / "log") == [1, 0], "seed 1 was there, seed 0 was made and kept"
    assert store.has(first.key) == {0: "done", 1: "done"}


def test_what_a_failed_cell_gave_cannot_be_recalled(store: Store) -> None:
    (job,) = plan({"reader": (Reader(Toy(fails_from=0)), [0])}, store).jobs
    error = perform(job, store.path, "cpu", unheard).error
    assert error is not None and "which this rests on, failed: ArithmeticError" in error


def test_without_a_store_what_is_recalled_is_run() -> None:
    assert Reader(Toy()).run([3], Context())[3].scalars == {"four times": 12.0}


def test_memory_that_runs_out_is_told_with_what_to_do() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(10**13)
    said = told(raised.value)
    assert said.startswith("out of memory") and "--seeds" in said and "\n" not in said
    assert told(KeyError("x")) == "KeyError: 'x'"
