"""One seed → named, independent random streams; nothing in recombine touches the global state.

A stream is addressed, never advanced by someone else: `stream(7, "data", 3)` is block 3 of the
data of seed 7, whoever asks, in whatever order. That is what lets a lane be trained beside any
others, or continued after a kill, and end with the same bits.
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np

from recombine.errors import BadValue


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The random stream of a seed under these names (`init`, `data`, `order`, `noise`, …)."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, names)))


def torch_seed(seed: int, *names: str | int) -> int:
    """A 63-bit seed for a `torch.Generator`, where a module of the user's insists on one."""
    return int(_sequence(seed, names).generate_state(1, np.uint64)[0] >> 1)


def _sequence(seed: int, names: tuple[str | int, ...]) -> np.random.SeedSequence:
    if seed < 0:
        raise BadValue("seed", seed, "a whole number from 0 up")
    return np.random.SeedSequence(entropy=seed, spawn_key=tuple(_word(name) for name in names))


@functools.cache
def _word(name: str | int) -> int:
    """A name as a number: itself if it is one, else 32 bits of its SHA-256 above all small ones."""
    if isinstance(name, int):
        return name
    return 2**32 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
