"""A part of a set as two arrays: images of bytes, and labels; read once a process, and verified."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from recombine.data import idx, packaged
from recombine.data.places import directory as place
from recombine.data.sets import DataSet, File, find
from recombine.data.verifying import path_of, problem_of
from recombine.errors import BadValue, NoData

PARTS = ("train", "test", "all")


def images(
    name: str, part: str = "train", directory: str | os.PathLike[str] | None = None
) -> tuple[UInt8[np.ndarray, "n h w *rgb"], Int[np.ndarray, " n"]]:
    """Images and labels of a part of a set; `all` is the training part and then the test part.

    Of `mnist-5k`, `all` keeps the order of its file. Every file is verified by its hash when it is
    first read; the arrays are kept, and cannot be written to.
    """
    if part not in PARTS:
        raise BadValue("part", part, f"one of {', '.join(PARTS)}")
    return _images(find(name).name, part, place(directory))


@functools.lru_cache(maxsize=8)
def _images(
    name: str, part: str, where: Path
) -> tuple[UInt8[np.ndarray, "n h w *rgb"], Int[np.ndarray, " n"]]:
    wanted = find(name)
    if not wanted.files:
        pictures, labels = packaged.load()
        if part != "all":
            rows = packaged.rows_of(part)
            pictures, labels = pictures[rows], labels[rows]
    elif part == "all":
        parts = [_images(name, each, where) for each in ("train", "test")]
        pictures, labels = (np.concatenate(both) for both in zip(*parts, strict=True))
    else:
        pictures, labels = (_read(wanted, file, where) for file in wanted.pair(part))
        labels = labels.astype(np.int64)
    pictures.setflags(write=False)
    labels.setflags(write=False)
    return pictures, labels


def _read(wanted: DataSet, file: File, where: Path) -> UInt8[np.ndarray, "*shape"]:
    path = path_of(wanted, file, where)
    how = f"'recombine data get {wanted.name}' fetches it"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise NoData(f"the data set {wanted.name} is not in {where}: {how}") from None
    except OSError as error:
        raise NoData(f"{path} cannot be read ({error.strerror}): {how} anew") from error
    problem = problem_of(content, file)
    if problem:
        raise NoData(f"{path} is damaged ({problem}): {how} anew")
    return idx.parse(content)
