"""A data set of a few bytes, its archive, and clients that behave well or badly."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from recombine.data import idx, sets
from recombine.data.sets import DataSet, File
from recombine.data.sources import NpmPackage

IMAGE = (4, 3)
COUNTS = {"train": 6, "test": 2}


def arrays() -> dict[str, np.ndarray]:
    """The four arrays of the set, by file name."""
    rng = np.random.default_rng(0)
    found = {}
    for part, short in (("train", "train"), ("test", "t10k")):
        n = COUNTS[part]
        found[f"{short}-images-idx3-ubyte"] = rng.integers(256, size=(n, *IMAGE), dtype=np.uint8)
        found[f"{short}-labels-idx1-ubyte"] = rng.integers(10, size=n, dtype=np.uint8)
    return found


def contents() -> dict[str, bytes]:
    """The four files, byte by byte."""
    return {name: idx.header(a.shape) + a.tobytes() for name, a in arrays().items()}


def archive(files: dict[str, bytes]) -> bytes:
    """What npm would pack of these files, always with the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as opened:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"package/data/{name}")
            entry.size = len(content)
            opened.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def toy(packed: bytes | None = None) -> DataSet:
    """The set, whose one source has an archive with the hash of `packed`."""
    files = tuple(
        File(name, array.shape, hashlib.sha256(contents()[name]).hexdigest())
        for name, array in arrays().items()
    )
    pinned = hashlib.sha256(archive(contents()) if packed is None else packed).hexdigest()
    source = NpmPackage("toy-data", "1.0.0", pinned)
    return DataSet("toy", "a toy", tuple("0123456789"), IMAGE, COUNTS, "none", files, (source,))


def register(monkeypatch: pytest.MonkeyPatch, made: DataSet) -> None:
    """Put the set on the shelf for the time of a test."""
    monkeypatch.setitem(sets.SETS, made.name, made)  # type: ignore[arg-type]


def client(folder: Path, name: str, script: str) -> None:
    """A program of that name, written in shell."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def only(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No programs but those of a folder and what a shell script needs."""
    folder.mkdir(exist_ok=True)
    for needed in ("cp", "sleep", "head", "touch"):
        if not (folder / needed).exists():
            os.symlink(f"/bin/{needed}", folder / needed)
    monkeypatch.setenv("PATH", str(folder))
