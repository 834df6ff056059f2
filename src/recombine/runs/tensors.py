"""Named arrays ⇄ the bytes of a safetensors file."""

from __future__ import annotations

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from recombine.cell import Arrays
from recombine.errors import BadValue


def pack(arrays: Arrays) -> bytes:
    """The bytes of a safetensors file with these arrays; the same arrays give the same bytes."""
    # safetensors 0.8 writes the buffer as it lies: of a slice or a transpose, the wrong numbers
    rows = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    for name, array in rows.items():
        if array.dtype.kind not in "biuf":
            raise BadValue(f"array '{name}'", array.dtype, "an array of numbers or truth values")
    return safetensors.numpy.save(rows)


def unpack(content: bytes) -> dict[str, np.ndarray]:
    """The arrays in the bytes of a safetensors file; ValueError if they are not one."""
    try:
        return safetensors.numpy.load(content)
    except SafetensorError as error:
        raise ValueError(f"not a whole safetensors file ({error})") from error
