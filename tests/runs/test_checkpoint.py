"""Checkpoints: the last whole state, or none."""

from __future__ import annotations

import numpy as np
import pytest

from recombine.cell import Checkpoint
from recombine.errors import BadValue


def test_a_state_is_found_again_and_replaced(store):
    checkpoint: Checkpoint = store.checkpoint("a-1")
    assert checkpoint.load() is None
    for step in range(3):
        checkpoint.save({"step": np.array(step), "weights": np.ones((2, 3)).T * step})
        state = store.checkpoint("a-1").load()
        assert state["step"] == step
        np.testing.assert_array_equal(state["weights"], np.full((3, 2), float(step)))
    assert not list((store.path / "aside").iterdir())


@pytest.mark.parametrize("keep", [0, 4, 0.5, 0.99])
def test_a_torn_state_is_no_state(store, keep):
    checkpoint = store.checkpoint("a")
    checkpoint.save({"w": np.arange(1000.0)})
    content = checkpoint.path.read_bytes()
    checkpoint.path.write_bytes(
        content[: keep if isinstance(keep, int) else int(keep * len(content))]
    )
    assert checkpoint.load() is None
    checkpoint.save({"w": np.ones(2)})
    assert checkpoint.load() is not None


def test_drop(store):
    checkpoint = store.checkpoint("a")
    checkpoint.save({"w": np.ones(2)})
    checkpoint.drop()
    checkpoint.drop()
    assert checkpoint.load() is None


@pytest.mark.parametrize("name", ["", "../a", "a/b", ".a", "a" * 300])
def test_a_name_is_a_file_name(store, name):
    with pytest.raises(BadValue):
        store.checkpoint(name)
    with pytest.raises(BadValue):
        store.claim(name)
