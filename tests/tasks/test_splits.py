"""Split rules: disjoint, complete, and as their names say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.errors import BadValue
from recombine.tasks import splits

sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def rows(z: np.ndarray) -> set[tuple[int, ...]]:
    return set(map(tuple, z.tolist()))


def assert_partition(shape: tuple[int, ...], train: np.ndarray, test: np.ndarray) -> None:
    assert not rows(train) & rows(test)
    assert rows(train) | rows(test) == set(np.ndindex(*shape))
    assert len(train) + len(test) == np.prod(shape)


@given(sizes)
def test_product_is_every_combination_in_order(shape: tuple[int, ...]) -> None:
    assert [tuple(z) for z in splits.product(shape)] == list(np.ndindex(*shape))


@given(sizes, st.data())
def test_listed_holds_out_exactly_those(shape: tuple[int, ...], data: st.DataObject) -> None:
    every = list(np.ndindex(*shape))
    held = data.draw(st.lists(st.sampled_from(every), unique=True))
    train, test = splits.listed(shape, held)
    assert_partition(shape, train, test)
    assert rows(test) == set(held)


def test_listed_refuses_values_out_of_range() -> None:
    with pytest.raises(BadValue, match="values below"):
        splits.listed((2, 2), [(1, 2)])


@given(st.integers(2, 8), st.sets(st.integers(-10, 10), min_size=1))
def test_band_trains_on_the_differences(size: int, differences: set[int]) -> None:
    train, test = splits.band(size, differences)
    assert_partition((size, size), train, test)
    wanted = {d % size for d in differences}
    assert all((b - a) % size in wanted for a, b in train.tolist())
    assert all((b - a) % size not in wanted for a, b in test.tolist())


@given(st.lists(st.integers(2, 5), min_size=2, max_size=4).map(tuple), st.data())
def test_primitive_shows_the_value_in_one_context(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    factor = data.draw(st.integers(0, len(shape) - 1))
    value = data.draw(st.integers(0, shape[factor] - 1))
    context = [data.draw(st.integers(0, size - 1)) for size in shape]
    train, test = splits.primitive(shape, factor, value, context)
    assert_partition(shape, train, test)
    context[factor] = value
    assert [tuple(z) for z in train.tolist() if z[factor] == value] == [tuple(context)]
    assert (test[:, factor] == value).all()


@given(st.lists(st.integers(2, 5), min_size=2, max_size=3).map(tuple), st.integers(0, 99))
def test_share_keeps_every_value_in_training(shape: tuple[int, ...], seed: int) -> None:
    train, test = splits.share(shape, 0.25, np.random.default_rng(seed))
    assert_partition(shape, train, test)
    assert len(test) == round(0.25 * np.prod(shape))
    for factor, size in enumerate(shape):
        assert set(train[:, factor].tolist()) == set(range(size))


def test_share_says_how_far_it_can_go() -> None:
    with pytest.raises(BadValue, match=r"at most 0\.500"):
        splits.share((2, 2), 0.75, np.random.default_rng(0))
    with pytest.raises(BadValue, match="not including, 1"):
        splits.share((2, 2), 1.0, np.random.default_rng(0))
