"""From what a source gave to the files of a set: unpacked, decoded, rewritten as idx.

Known forms, found by name anywhere below a folder:

- MNIST's and Fashion-MNIST's idx files, as they are or packed with gzip;
- CIFAR-10 as pictures of 1,024 × 10,000, one image a row, with labels as JSON;
- CIFAR-10's official binary version: records of a label and 3 × 32 × 32 bytes, also in its archive.
"""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import UInt8

from recombine.data import idx
from recombine.data.sets import DataSet, File
from recombine.data.sources import NoAnswer
from recombine.data.unpacking import unpack

BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")
RECORD = 1 + 3 * 32 * 32
"""Bytes of one image in CIFAR-10's binary version."""


def prepare(wanted: DataSet, folder: Path, into: Path) -> None:
    """Make every file of a set from the material in a folder; NoAnswer if it does not suffice."""
    try:
        if all(_copied(folder, file, into) for file in wanted.files):
            return
        if wanted.name == "cifar10" and (
            _from_pictures(folder, into) or _from_binary(folder, into)
        ):
            return
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError, SyntaxError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the material
        raise NoAnswer(f"what it gave is damaged ({error or type(error).__name__})") from error
    raise NoAnswer("not all of the set's files are there")


def _copied(folder: Path, file: File, into: Path) -> bool:
    """Copy an idx file; false if the folder has it neither plain nor packed."""
    dotted = file.name.replace("-idx", ".idx")  # as some unpackers name it
    for name in (file.name, dotted, f"{file.name}.gz"):
        for path in _found(folder, name):
            source: IO[bytes] = gzip.open(path) if name.endswith(".gz") else open(path, "rb")  # type: ignore[assignment]  # noqa: SIM115
            with source, open(into / file.name, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
                return True
    return False


def _from_pictures(folder: Path, into: Path) -> bool:
    for part, short, names in (("train", "train", BATCHES), ("test", "t10k", ("test_batch",))):
        pictures = [next(_found(folder, f"{name}.png"), None) for name in names]
        labels = next(_found(folder, f"{part}_lables.json"), None)
        found = [each for each in pictures if each is not None]
        if labels is None or len(found) < len(pictures):
            return False
        rows = np.concatenate([_picture(path) for path in found])
        _write(into, short, rows.reshape(-1, 32, 32, 3), json.loads(labels.read_bytes()))
    return True


def _picture(path: Path) -> UInt8[np.ndarray, "row pixel 3"]:
    from PIL import Image

    with Image.open(path) as picture:
        return np.array(picture.convert("RGB"))


def _from_binary(folder: Path, into: Path) -> bool:
    archive = next(_found(folder, "cifar-10-binary.tar.gz"), None)
    if archive is not None:
        unpack(archive, into)
        try:
            return _from_binary(into / "cifar-10-batches-bin", into)
        finally:
            shutil.rmtree(into / "cifar-10-batches-bin", ignore_errors=True)
    for short, names in (("train", BATCHES), ("t10k", ("test_batch",))):
        batches = [next(_found(folder, f"{name}.bin"), None) for name in names]
        found = [each for each in batches if each is not None]
        if len(found) < len(batches):
            return False
        records = np.concatenate([np.fromfile(path, dtype=np.uint8) for path in found])
        records = records.reshape(-1, RECORD)
        planes = records[:, 1:].reshape(-1, 3, 32, 32)
        _write(into, short, planes.transpose(0, 2, 3, 1), records[:, 0])
    return True


def _write(
    into: Path,
    short: str,
    images: UInt8[np.ndarray, "n 32 32 3"],
    labels: object,
) -> None:
    idx.write(into / f"{short}-images-idx4-ubyte", images)
    idx.write(into / f"{short}-labels-idx1-ubyte", np.asarray(labels, dtype=np.uint8))


def _found(folder: Path, name: str) -> Iterator[Path]:
    """Files of that name, in the folder itself first and then below it."""
    for path in [folder / name, *sorted(folder.rglob(name))]:
        if path.is_file():
            yield path
