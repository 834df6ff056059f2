"""Real images of handwritten digits as rows of pixels, from packages that carry them.

`small`: the 1,797 images of 8 × 8 in scikit-learn. `mnist`: the 5,000 images of 28 × 28 of the data
set `mnist-5k`. Pixels are scaled to [−1, 1].
"""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from recombine import data
from recombine.errors import UsageError

Source = Literal["small", "mnist"]


@functools.cache
def digits(source: Source) -> tuple[Float[np.ndarray, "n pixel"], Int[np.ndarray, " n"]]:
    """Images as rows, and which digit each shows."""
    if source == "small":
        images, labels, white = (*_small(), 16.0)
    else:
        images, labels, white = (*data.images("mnist-5k", "all"), 255.0)
    x = np.asarray(images, dtype=float).reshape(len(images), -1) * (2 / white) - 1
    y = np.asarray(labels, dtype=np.int64)
    x.setflags(write=False)
    y.setflags(write=False)
    return x, y


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
