"""A SQLite index of the runs in a store, so that counting them does not mean reading them.

It is only a cache of the directory: on open it is reconciled with what lies there, and rebuilt if
it was deleted or damaged. Where it cannot be written (a full or read-only disk) it is kept in
memory. A row remembers the inode of its run's directory, which a directory listing gives for
nothing: a run that was replaced behind the index's back shows without opening a file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, final

from recombine.errors import StoreError
from recombine.runs import record as records
from recombine.runs.disk import full
from recombine.runs.lock import locked
from recombine.runs.record import Record

SCHEMA_VERSION = 1
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (
    cell_key TEXT NOT NULL, seed INTEGER NOT NULL, status TEXT NOT NULL, task TEXT, model TEXT,
    source TEXT NOT NULL, seconds REAL NOT NULL, created TEXT NOT NULL, inode INTEGER NOT NULL,
    PRIMARY KEY (cell_key, seed)
) WITHOUT ROWID;
PRAGMA user_version = {SCHEMA_VERSION};
"""
_INSERT = "INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Row(NamedTuple):
    """One run, as the index knows it."""

    cell_key: str
    seed: int
    status: str
    task: str | None
    model: str | None
    source: str
    seconds: float
    created: str
    inode: int


@final
class Index:
    """The rows of every run of a store; safe to share between threads, not across a fork."""

    def __init__(self, path: Path, *, lock: Path) -> None:
        self.path = path
        self._turn = threading.Lock()
        self._connection = _connect(path, lock)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def add(self, rows: Iterable[Row]) -> None:
        """Enter runs that were just put in place."""
        with self._transaction() as connection:
            connection.executemany(f"INSERT OR REPLACE {_INSERT}", rows)

    def drop(self, rows: Iterable[tuple[str, int]]) -> None:
        """Forget runs that were just taken away."""
        with self._transaction() as connection:
            connection.executemany("DELETE FROM runs WHERE cell_key = ? AND seed = ?", rows)

    def rows(self, cell_key: str | None = None) -> list[Row]:
        """Every run, or those of a cell, by key and seed."""
        where = "" if cell_key is None else "WHERE cell_key = ?"
        values = () if cell_key is None else (cell_key,)
        found = self._ask(f"SELECT * FROM runs {where} ORDER BY cell_key, seed", *values)
        return [Row(*row) for row in found]

    def status(self, cell_key: str, seed: int) -> str | None:
        """The status of one run; None if there is none."""
        query = "SELECT status FROM runs WHERE cell_key = ? AND seed = ?"
        found = self._ask(query, cell_key, seed)
        return found[0][0] if found else None

    def statuses(self, cell_key: str) -> dict[int, str]:
        """The status of each seed of a cell."""
        query = "SELECT seed, status FROM runs WHERE cell_key = ? ORDER BY seed"
        return dict(self._ask(query, cell_key))

    def counts(self) -> dict[str, dict[str, int]]:
        """How many runs of each status each cell has."""
        return self._tally("status")

    def sources(self) -> dict[str, dict[str, int]]:
        """How many finished runs of each cell each source made."""
        return self._tally("source", "WHERE status = 'done'")

    def reconcile(self, runs: Path) -> None:
        """Bring the rows in line with the directories.

        The rows are read before the directory: another process indexes a run only after it is in
        place, so a row without a directory is one whose directory is gone.
        """
        rows = self._ask("SELECT cell_key, seed, inode FROM runs")
        known = {(key, seed): inode for key, seed, inode in rows}
        there = listing(runs)
        stale = [(*run, inode) for run, inode in known.items() if there.get(run) != inode]
        missing = [run for run, inode in there.items() if known.get(run) != inode]
        if not stale and not missing:
            return
        found = [row for row in (_read_row(runs, *run, there[run]) for run in missing) if row]
        with self._transaction() as connection:
            # only what was seen to be stale: another process may have entered the run since
            connection.executemany(
                "DELETE FROM runs WHERE cell_key = ? AND seed = ? AND inode = ?", stale
            )
            connection.executemany(f"INSERT OR IGNORE {_INSERT}", found)

    def _tally(self, column: str, where: str = "") -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        query = f"SELECT cell_key, {column}, count(*) FROM runs {where} GROUP BY 1, 2 ORDER BY 1, 2"
        for key, value, count in self._ask(query):
            found.setdefault(key, {})[value] = count
        return found

    def _ask(self, query: str, *values: str | int) -> list[Any]:
        with self._turn, _plainly(self.path):
            return self._connection.execute(query, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, _plainly(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise


def row_of(record: Record, inode: int) -> Row:
    """The row of a record whose directory has this inode."""
    return Row(
        record.cell_key,
        record.seed,
        record.status,
        _name(record, "task"),
        _name(record, "model"),
        record.source,
        record.seconds,
        record.created,
        signed(inode),
    )


def signed(inode: int) -> int:
    """An inode as SQLite can hold it, in 63 bits."""
    return inode & (2**63 - 1)


def listing(runs: Path) -> dict[tuple[str, int], int]:
    """Every run directory there is, by key and seed, with its inode."""
    found = {}
    with os.scandir(runs) as cells:
        for cell in cells:
            if cell.is_dir() and records.is_key(cell.name):
                with os.scandir(cell.path) as entries:
                    for entry in entries:
                        if records.is_seed(entry.name):
                            found[cell.name, int(entry.name)] = signed(entry.inode())
    return found


def _name(record: Record, part: str) -> str | None:
    """`corners` from a cell whose `task` is `tasks/corners@1`."""
    inner = record.cell.get(part)
    identity = inner.get("is") if isinstance(inner, dict) else None
    return identity.partition("/")[2].partition("@")[0] if isinstance(identity, str) else None


def _read_row(runs: Path, cell_key: str, seed: int, inode: int) -> Row | None:
    """The row of a run found on disk; None if it is damaged, which `verify` is there to tell."""
    try:
        record = records.read((runs / cell_key / str(seed) / "record.json").read_bytes())
    except (OSError, ValueError):
        return None
    return row_of(record, inode) if str(record) == f"{cell_key}/{seed}" else None


class _Unusable(Exception):
    """The index file is no index of ours; it can only be made anew."""


def _connect(path: Path, lock: Path) -> sqlite3.Connection:
    try:
        # opening takes turns: only one process may rebuild, or switch a new file to WAL
        with locked(lock):
            try:
                return _open(str(path))
            except _Unusable:
                for suffix in ("", "-wal", "-shm"):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
                return _open(str(path))
    except (sqlite3.OperationalError, StoreError, OSError):
        return _open(":memory:")


def _open(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # what a power cut takes from a cache, the next open finds again
        connection.execute("PRAGMA synchronous = OFF")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise _Unusable("damaged")
        if version not in (0, SCHEMA_VERSION):
            raise _Unusable("another format")
        if version == 0:
            connection.executescript(_SCHEMA)
        columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(runs)"))
        if columns != Row._fields:
            raise _Unusable("other columns")
    except sqlite3.DatabaseError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF in _CORRUPT:
            raise _Unusable(str(error)) from error
        raise
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _plainly(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line for the user."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) in _FULL:
            raise full("the index", path, str(error)) from error
        raise StoreError(
            f"the index {path} cannot be used ({error}): run the same command again, it is "
            "rebuilt from the runs when damaged"
        ) from error
