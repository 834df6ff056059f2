"""Pools: which `concurrent.futures.Executor` runs the jobs, and how a job talks while it runs.

- `inline`: one thread of this process;
- `processes`: one process a worker, each with one thread, started afresh (`spawn`);
- any other executor the caller brings (a Dask client's, say): jobs then only speak at their end.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any, Protocol, final, runtime_checkable

from recombine.engine.events import Advanced, Ended, Event, Started
from recombine.engine.jobs import Job, perform
from recombine.errors import Interrupted

SILENCE = 0.2
"""Seconds between two words of a job: cells report every step, listeners need far less."""


@runtime_checkable
class Flag(Protocol):
    """What is raised once and looked at often: an event of threading, or a SharedFlag."""

    def is_set(self) -> bool: ...

    def set(self) -> None: ...


@final
class SharedFlag:
    """A flag between processes that needs no lock.

    An event of multiprocessing has one, and a worker killed while it looks takes it along: whoever
    looks or raises the flag after that waits for ever.
    """

    def __init__(self, context: SpawnContext) -> None:
        self._raised = context.RawValue("b", 0)

    def is_set(self) -> bool:
        """Whether it was raised."""
        return bool(self._raised.value)

    def set(self) -> None:
        """Raise it."""
        self._raised.value = 1


@dataclass(frozen=True)
class Pool:
    """An executor, the channel its jobs speak into, and the flag that asks them to stop."""

    executor: Executor
    said: Any
    """A queue of events, of threading or of multiprocessing."""
    stop: Flag


def inline() -> Pool:
    """Jobs one after another in a thread of this process."""
    said: queue.Queue[Event] = queue.Queue()
    stop = threading.Event()
    return Pool(ThreadPoolExecutor(1, initializer=_listen, initargs=(said, stop)), said, stop)


def processes(workers: int) -> Pool:
    """Jobs in so many processes of their own."""
    context = multiprocessing.get_context("spawn")
    said: Any = context.Queue()
    stop = SharedFlag(context)
    executor = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_enter_worker, initargs=(said, stop)
    )
    return Pool(executor, said, stop)


_here = threading.local()
"""The channel and the flag of the worker this thread is; unset under a stranger's executor."""


def _listen(said: Any, stop: Flag) -> None:
    _here.said, _here.stop = said, stop


@contextlib.contextmanager
def deaf() -> Iterator[None]:
    """Hold Ctrl-C back: what is started meanwhile never hears it, we hear it afterwards.

    A terminal sends Ctrl-C to workers too, and one that is still importing would die of it aloud.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _enter_worker(said: Any, stop: Flag) -> None:
    """A worker leaves Ctrl-C to its parent, and does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _listen(said, stop)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def work(job: Job, store: Path, device: str) -> Ended:
    """What a worker does with a job."""
    said, stop = getattr(_here, "said", None), getattr(_here, "stop", None)

    spoken = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal spoken
        if stop is not None and stop.is_set():
            raise Interrupted("stopped")
        if said is not None and time.monotonic() - spoken > SILENCE:
            said.put(Advanced(job.name, done, total))
            spoken = time.monotonic()

    if said is not None:
        said.put(Started(job.name, len(job.seeds)))
    return perform(job, store, device, tell)
