"""The directory a store lives in: recognise it, or make it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from recombine.errors import StoreError, UsageError
from recombine.runs.disk import write_file, writing

STORE_VERSION = 1
"""The format of the directory, the number in store.json."""


def is_store(root: Path) -> bool:
    """Whether a store is there; False if nothing is; an error if it is something else."""
    # listed before looked for: another process may be making the store this very moment
    names = {entry for entry in _names(root) if not entry.startswith(".store.json-")}
    if "store.json" not in names:
        if names:
            raise UsageError(f"{root} is not a store and not empty: choose another --store")
        return False
    version = _version(root / "store.json")
    if version > STORE_VERSION:
        raise StoreError(
            f"{root} is a store of format {version}, this recombine reads up to {STORE_VERSION}: "
            "upgrade recombine"
        )
    return True


def _names(root: Path) -> list[str]:
    try:
        return os.listdir(root)
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise UsageError(
            f"{root} is a file, or in one, not a store: choose another --store"
        ) from None
    except OSError as error:
        raise UsageError(
            f"cannot read {root} ({error.strerror}): choose another --store"
        ) from error


def _version(path: Path) -> int:
    damaged = f"{path} was edited or damaged: it must read {{'store': {STORE_VERSION}}}"
    try:
        data: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise StoreError(
            f"cannot read {path} ({error.strerror}): choose another --store"
        ) from error
    except ValueError as error:
        raise StoreError(damaged) from error
    version = data.get("store") if isinstance(data, dict) else None
    if not isinstance(version, int):
        raise StoreError(damaged)
    return version


def make(root: Path) -> None:
    """Make a store where nothing is; another process may do so at the same time."""
    with writing("a store", root):
        root.mkdir(parents=True, exist_ok=True)
        temporary = root / f".store.json-{os.getpid()}"
        write_file(temporary, json.dumps({"store": STORE_VERSION}).encode() + b"\n", sync=True)
        os.replace(temporary, root / "store.json")
