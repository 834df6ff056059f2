"""Arrays come back from bytes as they were, however they lay in memory."""

from __future__ import annotations

import numpy as np
import pytest

from recombine.errors import BadValue
from recombine.runs.tensors import pack, unpack

BASE = np.arange(24.0).reshape(4, 6)
ARRAYS = {
    "plain": BASE,
    "transposed": BASE.T,
    "sliced": BASE[::2, 1::2],
    "reversed": BASE[::-1],
    "broadcast": np.broadcast_to(np.float32(3), (3, 2)),
    "single": np.array(2.5),
    "scalar": np.float32(2.5),
    "empty": np.zeros((0, 3)),
    "other end first": np.arange(3, dtype=">i4"),
    "half": np.ones(3, np.float16),
    "truth": np.array([True, False]),
    "unsigned": np.array([2**64 - 1], np.uint64),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_round_trip(name):
    (again,) = unpack(pack({name: ARRAYS[name]})).values()
    np.testing.assert_array_equal(again, ARRAYS[name], strict=name != "other end first")


def test_the_same_arrays_give_the_same_bytes():
    assert pack(ARRAYS) == pack(dict(reversed(ARRAYS.items())))


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([None]), np.ones(2, complex)])
def test_other_things_are_refused_by_name(array):
    with pytest.raises(BadValue, match="array 'odd'"):
        pack({"odd": array})


@pytest.mark.parametrize("cut", [0, 5, 50, -1])
def test_truncated_bytes_are_a_value_error(cut):
    with pytest.raises(ValueError, match="safetensors"):
        unpack(pack({"a": BASE})[:cut])
