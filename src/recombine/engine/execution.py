"""Execution: hand jobs to a pool and pass on what is said, until all are done or the user stops."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from recombine.engine.events import Ended, Event
from recombine.engine.jobs import Job
from recombine.engine.pools import Pool, deaf, inline, processes, work
from recombine.errors import Interrupted, RecombineError

PATIENCE = 20.0
"""Seconds that running jobs get to leave a checkpoint after Ctrl-C."""


def execute(
    jobs: Sequence[Job],
    store: Path,
    *,
    workers: int,
    device: str = "cpu",
    executor: Executor | None = None,
) -> Iterator[Event]:
    """Run the jobs and say what happens; failures of cells are events, not exceptions."""
    if not jobs:
        return
    pool = _pool(executor, min(workers, len(jobs)))
    futures: list[Future[Ended]] = []
    try:
        with deaf():
            futures += [pool.executor.submit(work, job, store, device) for job in jobs]
        yield from _watch(futures, pool)
    except KeyboardInterrupt:
        pool.stop.set()
        wait([future for future in futures if not future.cancel()], timeout=PATIENCE)
        raise Interrupted("stopped: what was finished is in the store") from None
    except BrokenProcessPool as error:
        raise RecombineError(
            "a worker process died (out of memory, or killed): what was finished is in the "
            "store; run the same command again, perhaps with --workers 1"
        ) from error
    finally:
        pool.stop.set()
        if executor is None:
            pool.executor.shutdown(wait=True, cancel_futures=True)


def _pool(executor: Executor | None, workers: int) -> Pool:
    if executor is not None:
        own = inline()
        own.executor.shutdown()
        return Pool(executor, own.said, own.stop)
    return inline() if workers <= 1 else processes(workers)


def _watch(futures: list[Future[Ended]], pool: Pool) -> Iterator[Event]:
    """Pass on what is said, and each job's end when it comes."""
    waiting = set(futures)
    while waiting:
        over = {future for future in waiting if future.done()}
        yield from _heard(pool)  # and so what a job said comes before its end
        waiting -= over
        for future in over:
            yield future.result()


def _heard(pool: Pool) -> Iterator[Event]:
    try:
        yield pool.said.get(timeout=0.1)
        while True:
            yield pool.said.get_nowait()
    except queue.Empty:
        return
