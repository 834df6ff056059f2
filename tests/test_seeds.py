"""Streams are named, independent of each other and of the order they are asked for in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.errors import BadValue
from recombine.seeds import stream, torch_seed

names = st.lists(st.text(max_size=8) | st.integers(0, 2**32 - 1), max_size=3).map(tuple)


def test_golden_numbers_never_change() -> None:
    """What a seed means must not move: every stored run rests on it."""
    assert stream(0, "init").integers(0, 2**32, 3).tolist() == [3836219169, 874132037, 2092565657]
    assert stream(7, "data", 3).integers(0, 2**32, 3).tolist() == [
        2628120195,
        1214043369,
        2758580908,
    ]
    assert torch_seed(1, "init") == 2767262481016920707


@given(st.integers(0, 2**63), names)
def test_a_stream_is_the_same_whoever_asks(seed: int, path: tuple[str | int, ...]) -> None:
    assert np.array_equal(stream(seed, *path).random(5), stream(seed, *path).random(5))


@given(st.integers(0, 2**63), st.integers(0, 2**63), names, names)
def test_different_addresses_give_different_streams(
    a: int, b: int, first: tuple[str | int, ...], second: tuple[str | int, ...]
) -> None:
    if (a, first) != (b, second):
        assert not np.array_equal(stream(a, *first).random(5), stream(b, *second).random(5))


def test_streams_of_neighbouring_seeds_are_uncorrelated() -> None:
    draws = np.stack([stream(seed, "data").standard_normal(4000) for seed in range(8)])
    off = np.corrcoef(draws)[~np.eye(8, dtype=bool)]
    assert np.abs(off).max() < 5 / np.sqrt(4000)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(BadValue, match="from 0 up"):
        stream(-1, "data")


def test_the_global_state_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    stream(0, "init").random(100)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
