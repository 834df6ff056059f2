"""Finished runs ⇄ one JSON Lines file, to carry results from one store to another.

The first line is `{"count": n, "recombine-runs": 1}`; each other line is one run, by key and seed:

    {"arrays": "<base64 of arrays.safetensors>", "record": {…}}

Weights do not travel. A record that names weights is written without them and with a new digest,
so that every line can be checked for itself. The same runs give the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import gzip
import hashlib
import itertools
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from recombine import spec
from recombine.errors import StoreError, UsageError
from recombine.runs import record as records
from recombine.runs.disk import writing
from recombine.runs.record import ARRAYS, Record, Run
from recombine.runs.store import Store
from recombine.runs.tensors import unpack

FORMAT = "recombine-runs"
FORMAT_VERSION = 1
BATCH = 256


class Transfer(NamedTuple):
    """What became of the lines of a file."""

    added: int
    already_there: int
    refused: list[tuple[int, str]]
    """Line number, counted from 1, and what is wrong."""


def export(store: Store, path: str | os.PathLike[str], keys: Iterable[str] | None = None) -> int:
    """Write the finished runs of these cells, or of all, to a file; how many there were."""
    target = Path(path)
    check_target(target)
    wanted = None if keys is None else set(keys)
    runs = [
        (row.cell_key, row.seed)
        for row in store.index.rows()
        if row.status == "done" and (wanted is None or row.cell_key in wanted)
    ]
    if not runs:  # an older export must not give way to an empty one
        raise UsageError(
            f"nothing to export to {target}: {store.path} has no finished run of what was asked; "
            "`recombine status` says what it has"
        )
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    with writing("an export", target):
        try:
            with open(temporary, "wb") as raw, _compressed(raw, target) as file:
                file.write(_line({FORMAT: FORMAT_VERSION, "count": len(runs)}))
                for cell_key, seed in runs:
                    file.write(_line(_carried(store.run(cell_key, seed))))
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    return len(runs)


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a name that is not one of an export, or a folder that is not there."""
    target = Path(path)
    if not target.name.endswith((".jsonl", ".jsonl.gz")):
        raise UsageError(f"cannot export to {target}: the name must end in .jsonl or .jsonl.gz")
    if not target.parent.is_dir():
        raise UsageError(f"cannot export to {target}: there is no folder {target.parent}")


def load(store: Store, path: str | os.PathLike[str]) -> Transfer:
    """Put the runs of a file into the store; a bad line is refused and the others are not."""
    source = Path(path)
    _check_file(source)
    added = already = 0
    refused: list[tuple[int, str]] = []
    lines = _lines(source)
    # in batches: one entry in the index for many runs, and never all arrays in memory
    while batch := list(itertools.islice(lines, BATCH)):
        refused += [(number, found) for number, found in batch if isinstance(found, str)]
        runs = [found for _, found in batch if isinstance(found, Run)]
        new = [run for run in runs if not _is_done(store, run.record)]
        kept = sum(store.put_many(new))
        added, already = added + kept, already + len(runs) - kept
    return Transfer(added, already, refused)


def _is_done(store: Store, record: Record) -> bool:
    return store.index.status(record.cell_key, record.seed) == "done"


def _line(data: Any) -> bytes:
    return spec.canonical(data).encode() + b"\n"


def _carried(run: Run) -> dict[str, Any]:
    """The JSON of one run as it travels."""
    carried: dict[str, Any] = {"record": records.to_json(records.without_weights(run.record))}
    if ARRAYS in run.contents:
        carried["arrays"] = base64.b64encode(run.contents[ARRAYS]).decode()
    return carried


@contextlib.contextmanager
def _compressed(raw: IO[bytes], target: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if target.name.endswith(".gz"):
        # no time and no name in the header: the same runs, the same bytes
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
            yield file
    else:
        yield raw


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=raw, mode="rb") as file:
                yield file
        else:
            yield raw


def _check_file(path: Path) -> None:
    """Read the file to its end before anything is added: refuse what is not ours or cut short."""
    try:
        with _opened(path) as file:
            header = _parsed(file.readline())
            while file.read(1 << 20):
                pass
    except (OSError, EOFError, zlib.error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"cannot read {path}: {why}; export it again") from error
    version = header.get(FORMAT) if isinstance(header, dict) else None
    if not isinstance(version, int) or not isinstance(header.get("count"), int):
        raise UsageError(f"{path} is not a file of runs: `recombine runs export` writes one")
    if version > FORMAT_VERSION:
        raise UsageError(
            f"{path} has format {version}, this recombine reads up to {FORMAT_VERSION}: "
            "upgrade recombine"
        )


def _lines(path: Path) -> Iterator[tuple[int, Run | str]]:
    """Each line's number with the run on it, or with what is wrong."""
    with _opened(path) as file:
        count = _parsed(file.readline())["count"]
        number = 1
        for number, line in enumerate(file, start=2):
            try:
                yield number, _run(_parsed(line))
            except (ValueError, StoreError) as error:
                yield number, str(error)
        if number - 1 < count:
            yield number + 1, f"the file ends after {number - 1} of {count} runs"


def _parsed(line: bytes) -> Any:
    """The JSON on a line; None if there is none."""
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError):
        return None


def _run(data: Any) -> Run:
    """The run on a line, checked; ValueError says what is wrong with it."""
    if not isinstance(data, dict):
        raise ValueError("the line is not a JSON object")
    record = records.from_json(data.get("record"))
    if record.status != "done":
        raise ValueError(f"run {record} is not finished")
    if record.cell_key != spec.digest({"key": spec.KEY_VERSION, "cell": record.cell}):
        raise ValueError(f"run {record} is stored under a key that is not its cell's")
    return Run(record, _contents(record, data.get("arrays")))


def _contents(record: Record, text: Any) -> dict[str, bytes]:
    try:
        contents = {} if text is None else {ARRAYS: base64.b64decode(text, validate=True)}
    except (TypeError, binascii.Error) as error:
        raise ValueError(f"the arrays of run {record} are not base64") from error
    if record.files != {name: hashlib.sha256(c).hexdigest() for name, c in contents.items()}:
        raise ValueError(f"the arrays of run {record} do not match their hash")
    for content in contents.values():
        unpack(content)
    return contents
