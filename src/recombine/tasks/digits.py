"""Real images of handwritten digits as rows of pixels, scaled to [−1, 1].

`small`: the 1,797 images of 8 × 8 in scikit-learn. `mnist`: the 5,000 images of 28 × 28 of the data
set `mnist-5k`. `mnist-60k`: all of MNIST's training images.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from recombine import data
from recombine.errors import NoData, UsageError

Source = Literal["small", "mnist", "mnist-60k"]
SETS: Mapping[str, tuple[str, str]] = {
    "mnist": ("mnist-5k", "all"),
    "mnist-60k": ("mnist", "train"),
}
"""What the data room calls them, and the part of the set."""


def digits(
    source: Source, rows: Int[np.ndarray, " m"] | None = None
) -> tuple[Float[np.ndarray, "m pixel"], Int[np.ndarray, " m"]]:
    """Images as rows, and which digit each shows; only some of them if rows are given."""
    images, labels, white = _raw(source)
    pick = slice(None) if rows is None else rows
    x = np.asarray(images[pick], dtype=float) * (2 / white) - 1
    return x, np.asarray(labels[pick], dtype=np.int64)


def count(source: Source) -> int:
    """How many images there are."""
    return len(_raw(source)[1])


def ready(source: Source) -> None:
    """Raise NoData if the images are not there."""
    if source == "small":
        _raw(source)
        return
    name = SETS[source][0]
    state = data.state(data.find(name))
    if state != "ready":
        raise NoData(
            f"the data set {name} is {state} in {data.directory()}: "
            f"'recombine data get {name}' fetches it"
        )


@functools.cache
def _raw(source: Source) -> tuple[np.ndarray, np.ndarray, float]:
    """Images as stored, a row each, their digits, and the value of white."""
    if source == "small":
        images, labels, white = (*_small(), 16.0)
    else:
        images, labels, white = (*data.images(*SETS[source]), 255.0)
    return images.reshape(len(images), -1), labels, white


def _small() -> tuple[np.ndarray, np.ndarray]:
    try:
        from sklearn.datasets import (  # type: ignore[import-untyped, unused-ignore]
            load_digits,
        )
    except ImportError:
        raise UsageError(
            "the small digits come with scikit-learn, which is not installed: "
            "pip install scikit-learn"
        ) from None
    images, labels = load_digits(return_X_y=True)
    return images, labels
