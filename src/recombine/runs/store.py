"""The store: a directory of whole runs, each there or not there, never half.

    store.json                          {"store": 1}
    runs/<cell_key>/<seed>/record.json  and arrays.safetensors, weights.safetensors where not empty
    aside/                              writes not finished; what dead processes left is swept
    checkpoints/<name>.safetensors      states of long cells
    locks/                              who is busy with what
    damaged/                            runs set aside, never deleted
    asked/                              what was asked for, a small file a request
    index.sqlite                        a cache of runs/

A run is written in aside/ and renamed into place, which the file system does as one step. Several
processes may write at once: the first to finish a run is kept.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, final

import numpy as np

from recombine.errors import StoreError, UsageError
from recombine.runs import directory, root
from recombine.runs import record as records
from recombine.runs.checkpoint import StoredCheckpoint
from recombine.runs.disk import check_name, discard, fresh, sweep, writing
from recombine.runs.index import Index, Row, listing, row_of
from recombine.runs.lock import locked
from recombine.runs.record import ARRAYS, WEIGHTS, Record, Run
from recombine.runs.tensors import unpack

FILES = (ARRAYS, WEIGHTS)
PLACES = ("runs", "aside", "checkpoints", "locks", "damaged")

Loaded = tuple[Record, dict[str, np.ndarray]]


@final
class Store:
    """Runs in a directory. Each process opens its own; threads of one may share it."""

    def __init__(self, path: Path) -> None:
        """Use `Store.open`, which looks before it touches."""
        self.path = path
        self._runs = path / "runs"
        self._aside = path / "aside"
        self.index = Index(path / "index.sqlite", lock=path / "locks" / ".index")

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool = True) -> Self:
        """The store in that directory, made there if nothing is there yet."""
        home = Path(path)
        if not root.is_store(home):
            if not create:
                raise UsageError(
                    f"there is no store in {home}: name another --store; `recombine reproduce` "
                    "and `recombine runs import` make one"
                )
            root.make(home)
        for place in PLACES:
            with writing(f"{place}/", home):
                (home / place).mkdir(exist_ok=True)
        sweep(home / "aside")
        store = cls(home)
        try:
            store.refresh()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    @contextmanager
    def look(cls, path: str | os.PathLike[str]) -> Iterator[Self]:
        """The store in that directory; where nothing is, an empty one that leaves nothing there."""
        if root.is_store(Path(path)):
            with cls.open(path) as store:
                yield store
        else:
            with tempfile.TemporaryDirectory() as nothing, cls.open(nothing) as store:
                yield store

    def refresh(self) -> None:
        """See what other processes put in place; needed where each has an index of its own."""
        self.index.reconcile(self._runs)

    def close(self) -> None:
        """Let go of the index; runs need no closing."""
        self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def put(self, run: Run) -> bool:
        """Put a run in place; False if a finished one was there already, which stays."""
        return self.put_many([run])[0]

    def put_many(self, runs: Iterable[Run]) -> list[bool]:
        """Put runs in place one by one, indexed together; whether each is the one now there."""
        rows: list[Row] = []
        kept: list[bool] = []
        try:
            for run in runs:
                row, ours = self._place(run)
                rows.append(row)
                kept.append(ours)
        finally:  # a full disk stops at one run; those before it are in place
            if rows:
                self.index.add(rows)
        return kept

    def get(self, cell_key: str, seed: int, *, weights: bool = False) -> Loaded:
        """A run, checked against its hashes; weights are added as `weights/<name>` if wanted."""
        run = self.run(cell_key, seed, weights=weights)
        arrays = unpack(run.contents[ARRAYS]) if ARRAYS in run.contents else {}
        if WEIGHTS in run.contents:
            trained = unpack(run.contents[WEIGHTS])
            arrays |= {f"weights/{name}": array for name, array in trained.items()}
        return run.record, arrays

    def run(self, cell_key: str, seed: int, *, weights: bool = False) -> Run:
        """A run as the bytes it was put in as, checked against its hashes."""
        place = self._present(cell_key, seed)
        return directory.read(place, FILES if weights else (ARRAYS,))

    def get_many(self, cell_key: str, seeds: Iterable[int]) -> dict[int, Loaded]:
        """Runs of one cell by seed."""
        return {seed: self.get(cell_key, seed) for seed in seeds}

    def refuse_damaged(self, cell_key: str, seeds: Iterable[int]) -> None:
        """DamagedRun if a directory stands where one of these seeds belongs and is no whole run.

        An index made anew cannot enter such a run, and it would pass for one never made.
        """
        for seed in seeds:
            if self._directory(cell_key, seed).exists():
                self.run(cell_key, seed)

    def has(self, cell_key: str) -> dict[int, str]:
        """The status, `done` or `failed`, of each seed of a cell."""
        return self.index.statuses(cell_key)

    def verify(self, progress: Callable[[int, int], None] | None = None) -> list[tuple[Path, str]]:
        """Read every byte of every run; the directories that are damaged, and how."""
        found = []
        everything = sorted(listing(self._runs))
        for done, (cell_key, seed) in enumerate(everything, start=1):
            place = self._directory(cell_key, seed)
            try:
                directory.check(place, FILES)
            except ValueError as error:
                found.append((place, str(error)))
            if progress is not None:
                progress(done, len(everything))
        return found

    def set_aside(self, cell_key: str, seed: int) -> Path:
        """Move a run to damaged/, where it is kept for whoever wants to look; where it is now."""
        place = self._present(cell_key, seed)
        with self._replacing(), writing(f"run {cell_key}/{seed}", self.path / "damaged"):
            moved = self._move_to_damaged(place)
        self.index.drop([(cell_key, seed)])
        return moved

    def remove_failed(self, cell_key: str | None = None) -> int:
        """Delete the records of failed runs, of a cell or of all; how many there were."""
        gone = []
        for row in self.index.rows(cell_key):
            if row.status == "failed":
                with self._replacing(), writing("a removal", self._aside):
                    if self._take_away(self._directory(row.cell_key, row.seed)):
                        gone.append((row.cell_key, row.seed))
        self.index.drop(gone)
        return len(gone)

    def checkpoint(self, name: str) -> StoredCheckpoint:
        """The checkpoint of that name, saved or not yet."""
        check_name("checkpoint", name)
        return StoredCheckpoint(self.path / "checkpoints" / f"{name}.safetensors", self._aside)

    def begun(self, cell_key: str) -> int:
        """How many jobs of a cell have left a checkpoint and not ended."""
        return len(list((self.path / "checkpoints").glob(f"{cell_key}-*.safetensors")))

    def claim(
        self, name: str, waiting: Callable[[], None] | None = None
    ) -> AbstractContextManager[None]:
        """Wait until nobody else holds this name, and hold it; a dead process holds nothing.

        While another holds it, `waiting` is called again and again; it may raise to give up.
        """
        check_name("claim", name)
        return locked(self.path / "locks" / name, waiting)

    def _replacing(self) -> AbstractContextManager[None]:
        """Take turns at replacing runs: two who replace a failed one might else lose a done one."""
        # the dot keeps it apart from every name a caller can claim
        return locked(self.path / "locks" / ".replace")

    def _directory(self, cell_key: str, seed: int) -> Path:
        records.check_identity(cell_key, seed)
        return self._runs / cell_key / str(seed)

    def _present(self, cell_key: str, seed: int) -> Path:
        place = self._directory(cell_key, seed)
        if not place.is_dir():
            raise StoreError(
                f"there is no run {cell_key}/{seed} in {self.path}: the reproduce command of its "
                "study makes it"
            )
        return place

    def _place(self, run: Run) -> tuple[Row, bool]:
        """Write a run aside and rename it in; the row of what is there now, and if that is ours."""
        target = self._directory(run.record.cell_key, run.record.seed)
        aside = fresh(self._aside)
        with writing(f"run {run.record}", self.path):
            try:
                directory.write(run, aside)
                row = row_of(run.record, aside.stat().st_ino)
                target.parent.mkdir(exist_ok=True)
                if not directory.rename_in(aside, target):
                    with self._replacing():
                        while not directory.rename_in(aside, target):
                            if not self._take_away(target):
                                kept = directory.read(target, ()).record
                                return row_of(kept, target.stat().st_ino), False
                return row, True
            finally:
                discard(aside)

    def _take_away(self, place: Path) -> bool:
        """Make room for a newer run: a failed one is deleted, a damaged one set aside.

        False if a finished run is there, which stays. To be called while `_replacing`.
        """
        if not place.exists():
            return True
        try:
            record = directory.check(place, FILES).record
        except ValueError:
            self._move_to_damaged(place)
            return True
        if record.status == "done":
            return False
        old = fresh(self._aside)
        os.rename(place, old)
        discard(old)
        return True

    def _move_to_damaged(self, place: Path) -> Path:
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        target = self.path / "damaged" / f"{place.parent.name}-{place.name}-{moment}"
        os.rename(place, target)
        return target
