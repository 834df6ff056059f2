"""The job: some seeds of one cell, run where a worker is free, written to the store as records.

A job is idempotent: whoever runs it first writes the records, whoever comes later finds them.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from recombine.cell import Arrays, Cell, Checkpoint, Context, Outcome
from recombine.engine.events import Ended
from recombine.engine.memory import keep_memory
from recombine.engine.provenance import environment, source_of
from recombine.errors import Interrupted, NoData, StoreError
from recombine.runs import Run, Store, failed, finished
from recombine.spec import key_of


@dataclass(frozen=True)
class Job:
    """Some seeds of one cell."""

    cell_name: str
    """What the study calls the cell."""
    cell: Cell
    key: str
    block: int
    """Which block of the cell's seeds this is."""
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """As progress shows it."""
        first, last = self.seeds[0], self.seeds[-1]
        return (
            f"{self.cell_name} [{first}]" if first == last else f"{self.cell_name} [{first}–{last}]"
        )

    @property
    def claim(self) -> str:
        """What two processes must not do at once; also the name of its checkpoint."""
        return f"{self.key}-{self.block}"


def perform(job: Job, store_path: Path, device: str, tell: Callable[[int, int], None]) -> Ended:
    """Run what is still missing of a job and store it; a failure of the cell is stored too."""
    import torch  # here, so that what only looks at the store need not wait for it

    torch.set_num_threads(1)  # a lane's bits must not depend on how many cores there are
    keep_memory()
    start = time.monotonic()
    # another process may hold the claim for hours; telling hears a stop meanwhile
    waiting = partial(tell, 0, 1)
    with Store.open(store_path) as store, store.claim(job.claim, waiting):
        status = store.has(job.key)
        seeds = [seed for seed in job.seeds if status.get(seed) != "done"]
        if not seeds:
            return Ended(job.name, len(job.seeds), time.monotonic() - start)
        source = source_of(job.cell)
        checkpoint = store.checkpoint(job.claim)
        recall = partial(_recall, store_path, device, tell)
        context = Context(device, tell, _Bound(checkpoint, seeds, source), recall=recall)
        runs, error = _run(job.cell, seeds, context, source)
        store.put_many(runs)
        checkpoint.drop()
    return Ended(job.name, len(seeds), time.monotonic() - start, error)


def _run(
    cell: Cell, seeds: list[int], context: Context, source: str
) -> tuple[list[Run], str | None]:
    """The records of these seeds, and the last line of the traceback if the cell failed."""
    start = time.monotonic()
    where = environment(context.device)
    try:
        outcomes = cell.run(seeds, context)
        each = (time.monotonic() - start) / len(seeds)
        # an outcome that is missing, or that no record can hold, is a failure of the cell as well
        return [
            finished(cell, seed, outcomes[seed], environment=where, source=source, seconds=each)
            for seed in seeds
        ], None
    except (Interrupted, StoreError, NoData):
        raise
    except Exception as error:  # whatever a cell raises is a result: it must not stop the others
        text, each = traceback.format_exc(), (time.monotonic() - start) / len(seeds)
        runs = [
            failed(cell, seed, text, environment=where, source=source, seconds=each)
            for seed in seeds
        ]
        return runs, told(error)


def told(error: Exception) -> str:
    """An error of a cell in a line or two; memory that ran out, with what to do about it."""
    text = "".join(traceback.format_exception_only(error)).strip()
    if isinstance(error, MemoryError) or "out of memory" in text or "allocate" in text:
        return (
            f"out of memory with {text.splitlines()[-1]}; take fewer --seeds, --workers 1, or a "
            "smaller batch or model (--set recipe.batch=…)"
        )
    return text


def _recall(
    store_path: Path, device: str, tell: Callable[[int, int], None], cell: Cell, seed: int
) -> Outcome:
    """A seed of another cell: from the store, waited for if somebody is at it, or made now."""
    key = key_of(cell)
    job = Job(cell.name, cell, key, seed // cell.seeds_per_job, (seed,))
    error = perform(job, store_path, device, tell).error
    if error is not None:
        raise RuntimeError(f"{cell.name} of seed {seed}, which this rests on, failed: {error}")
    with Store.open(store_path) as store:
        record, found = store.get(key, seed, weights=True)
    prefix = "weights/"
    weights = {n.removeprefix(prefix): v for n, v in found.items() if n.startswith(prefix)}
    if not weights:  # a record from another machine comes without
        return cell.run([seed], Context(device, tell))[seed]
    arrays = {name: value for name, value in found.items() if not name.startswith(prefix)}
    return Outcome(record.scalars, arrays, weights)


class _Bound:
    """A checkpoint that is only found by the same seeds run by the same source."""

    def __init__(self, inner: Checkpoint, seeds: list[int], source: str) -> None:
        self._inner = inner
        owner = json.dumps({"seeds": seeds, "source": source}).encode()
        self._owner = np.frombuffer(owner, dtype=np.uint8).copy()

    def load(self) -> Arrays | None:
        """What these seeds left, if anything."""
        found = dict(self._inner.load() or {})
        owner = found.pop("owner", None)
        return found if owner is not None and np.array_equal(owner, self._owner) else None

    def save(self, arrays: Arrays) -> None:
        """Leave it, with the owner's name on it."""
        self._inner.save({**arrays, "owner": self._owner})
