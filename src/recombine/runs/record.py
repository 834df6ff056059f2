"""What is kept of one run: the record, and the files that lie beside it, before they touch a disk.

A run is one seed of one cell. Its identity is the pair, printed `<cell_key>/<seed>`; everything
else in the record says what came out, what it cost and what made it. The record names the hash of
each file of the run, and carries a digest of itself, so that any later edit shows.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from recombine import spec
from recombine.cell import Arrays, Outcome
from recombine.errors import BadValue, StoreError
from recombine.runs.tensors import pack

RECORD_VERSION = 1
"""The format of record.json, its field `record`."""

ARRAYS = "arrays.safetensors"
WEIGHTS = "weights.safetensors"

Status = Literal["done", "failed"]

_KEY = re.compile(r"[0-9a-z]{1,64}")
_SEED = re.compile(r"0|[1-9][0-9]{0,17}")  # what SQLite can hold

_TYPES: Mapping[str, Any] = {
    "cell_key": str,
    "seed": int,
    "cell": dict,
    "status": str,
    "scalars": dict,
    "environment": dict,
    "source": str,
    "seconds": float,
    "created": str,
    "error": str | None,
    "files": dict,
}
"""The fields of record.json beside its version and digest: a stranger's file may hold anything."""


@dataclass(frozen=True)
class Record:
    """One run, as record.json holds it."""

    cell_key: str
    seed: int
    cell: dict[str, Any]
    """The JSON of the cell (`spec.encode`), enough to make it again."""
    status: Status
    scalars: dict[str, float]
    """Final numbers by name, NaN where undefined; empty if the run failed."""
    environment: dict[str, Any]
    """Where it ran: versions, threads, device, commit, machine."""
    source: str
    """Digest of the source that made it: the same key with another source is *stale?*."""
    seconds: float
    """What this seed cost."""
    created: str
    """When it was finished, ISO 8601, UTC."""
    error: str | None
    """The traceback, if the run failed."""
    files: dict[str, str]
    """SHA-256 of each file beside the record, by file name."""
    digest: str = ""
    """Fingerprint of everything above."""

    def __post_init__(self) -> None:
        check_identity(self.cell_key, self.seed)

    def __str__(self) -> str:
        return f"{self.cell_key}/{self.seed}"


@dataclass(frozen=True)
class Run:
    """A record and the bytes of its files: what the store puts in place as a whole."""

    record: Record
    contents: dict[str, bytes]


def is_key(text: str) -> bool:
    """Whether a directory name can be the key of a cell."""
    return _KEY.fullmatch(text) is not None


def is_seed(text: str) -> bool:
    """Whether a directory name can be a seed."""
    return _SEED.fullmatch(text) is not None


def check_identity(cell_key: str, seed: int) -> None:
    """Refuse what cannot be a run: keys and seeds become directory names, some from strangers."""
    if not isinstance(cell_key, str) or not is_key(cell_key):
        raise BadValue("cell_key", cell_key, "lower-case letters and digits")
    if not isinstance(seed, int) or isinstance(seed, bool) or not is_seed(str(seed)):
        raise BadValue("seed", seed, "a whole number from 0 to 10^18 - 1")


def finished(
    cell: spec.Spec,
    seed: int,
    outcome: Outcome,
    *,
    environment: Mapping[str, Any],
    source: str,
    seconds: float,
    created: str | None = None,
) -> Run:
    """The run of a seed that gave an outcome."""
    held: dict[str, Arrays] = {ARRAYS: outcome.arrays, WEIGHTS: outcome.weights}
    contents = {name: pack(arrays) for name, arrays in held.items() if arrays}
    unsealed = Record(
        cell_key=spec.key_of(cell),
        seed=seed,
        cell=spec.encode(cell),
        status="done",
        scalars={name: _one_nan(float(value)) for name, value in outcome.scalars.items()},
        environment=dict(environment),
        source=source,
        seconds=float(seconds),
        created=created or now(),
        error=None,
        files={name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
    )
    return Run(seal(unsealed), contents)


def failed(
    cell: spec.Spec,
    seed: int,
    error: str,
    *,
    environment: Mapping[str, Any],
    source: str,
    seconds: float,
    created: str | None = None,
) -> Run:
    """The run of a seed that ended in a traceback."""
    unsealed = Record(
        cell_key=spec.key_of(cell),
        seed=seed,
        cell=spec.encode(cell),
        status="failed",
        scalars={},
        environment=dict(environment),
        source=source,
        seconds=float(seconds),
        created=created or now(),
        # a traceback may quote a file name that is no legal unicode
        error=error.encode(errors="backslashreplace").decode(),
        files={},
    )
    return Run(seal(unsealed), {})


def without_weights(record: Record) -> Record:
    """The record as it travels: weights stay on the machine that made them."""
    files = {name: digest for name, digest in record.files.items() if name != WEIGHTS}
    return record if files == record.files else seal(replace(record, files=files))


def seal(record: Record) -> Record:
    """The record with its digest."""
    return replace(record, digest=spec.digest(_body(record)))


def to_json(record: Record) -> dict[str, Any]:
    """The JSON object of a record; NaN is null, infinities are texts: JSON has neither."""
    return _body(record) | {"digest": record.digest}


def from_json(data: Any) -> Record:
    """The record a JSON object holds; ValueError says in a few words what is wrong with it."""
    if not isinstance(data, dict):
        raise ValueError("the record is not a JSON object")
    body = dict(data)
    # the digest comes first: only a record nobody touched can be believed about its version
    if body.pop("digest", None) != spec.digest(body):
        raise ValueError("the record does not match its digest")
    version = body.pop("record", None)
    if isinstance(version, int) and version > RECORD_VERSION:
        raise StoreError(
            f"run {body.get('cell_key')}/{body.get('seed')} has record format {version}, this "
            f"recombine reads up to {RECORD_VERSION}: upgrade recombine"
        )
    if version != RECORD_VERSION or set(body) != set(_TYPES):
        raise ValueError("the record has not the fields of a record")
    if wrong := [name for name, kind in _TYPES.items() if not isinstance(body[name], kind)]:
        raise ValueError(f"the record has an illegal {wrong[0]}")
    if body["status"] not in ("done", "failed") or not set(body["files"]) <= {ARRAYS, WEIGHTS}:
        raise ValueError("the record has a status or a file that no run has")
    try:
        scalars = {name: _decode(value) for name, value in body["scalars"].items()}
        return Record(**body | {"scalars": scalars}, digest=data["digest"])
    except (BadValue, TypeError, OverflowError) as error:
        raise ValueError(f"the record has an illegal value ({error})") from error


def write(record: Record) -> bytes:
    """The bytes of record.json."""
    return spec.canonical(to_json(record)).encode() + b"\n"


def read(content: bytes) -> Record:
    """The record that record.json holds; ValueError if it was truncated or edited."""
    try:
        data = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError("the record is not JSON") from error
    return from_json(data)


def now() -> str:
    """This moment as records write it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _body(record: Record) -> dict[str, Any]:
    body = vars(record) | {"record": RECORD_VERSION}
    body["scalars"] = {name: _encode(value) for name, value in record.scalars.items()}
    del body["digest"]
    return body


def _one_nan(value: float) -> float:
    """Every NaN as the same object, so that equal records compare equal."""
    return math.nan if math.isnan(value) else value


def _encode(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _decode(value: Any) -> float:
    if value is None:
        return math.nan
    if value in ("inf", "-inf") or (isinstance(value, int | float) and not isinstance(value, bool)):
        return float(value)
    raise TypeError(f"{value!r} is not a number")
