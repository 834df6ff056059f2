"""The format idx of MNIST's files: four bytes that say type and rank, the shape, then the bytes.

The first two bytes are 0, the third is 8 (unsigned bytes), the fourth the number of dimensions;
each dimension follows as four bytes, the highest first. Every set here is kept in this format,
whatever it came in, so that there is one loader and one hash a file.
"""

from __future__ import annotations

import math
import os
import struct

import numpy as np
from jaxtyping import UInt8

UNSIGNED_BYTES = 8


def header(shape: tuple[int, ...]) -> bytes:
    """What stands before the bytes of an array of this shape."""
    return struct.pack(f">HBB{len(shape)}I", 0, UNSIGNED_BYTES, len(shape), *shape)


def length(shape: tuple[int, ...]) -> int:
    """How many bytes the file of an array of this shape has."""
    return len(header(shape)) + math.prod(shape)


def write(path: str | os.PathLike[str], array: UInt8[np.ndarray, "*shape"]) -> None:
    """Write an array of bytes."""
    with open(path, "wb") as file:
        file.write(header(array.shape))
        file.write(np.ascontiguousarray(array).tobytes())


def parse(content: bytes) -> UInt8[np.ndarray, "*shape"]:
    """The array that a file holds; ValueError if it is not such a file."""
    if len(content) < 4 or content[:3] != bytes((0, 0, UNSIGNED_BYTES)):
        raise ValueError("not an idx file of unsigned bytes")
    rank = content[3]
    begin = 4 + 4 * rank
    if len(content) < begin:
        raise ValueError("cut off in its header")
    shape = struct.unpack(f">{rank}I", content[4:begin])
    if len(content) != begin + math.prod(shape):
        raise ValueError(f"{len(content)} bytes, where {begin + math.prod(shape)} are announced")
    return np.frombuffer(content, dtype=np.uint8, offset=begin).reshape(shape)
