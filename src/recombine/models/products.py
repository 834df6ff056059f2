"""Products of stacked matrices whose bits do not depend on how many lanes there are.

How BLAS rounds a product depends on how its operands and its result lie in memory. Every tensor
that PyTorch makes begins at a multiple of 64 bytes, so a lane alone does; a lane of a stack does if
the numbers of each fill such lines. Where they do not, lanes are multiplied one by one, from memory
that begins there.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

LINE = 16
"""Numbers (of four bytes) in 64 bytes."""


def product(
    a: Float[Tensor, "seed row inner"], b: Float[Tensor, "seed inner column"]
) -> Float[Tensor, "seed row column"]:
    """The product of each lane.

    One by a single column is taken lane by lane as well: BLAS treats it as one by a vector.
    """
    rows, inner, columns = (*a.shape[1:], b.shape[2])
    sizes = (rows * inner, inner * columns, rows * columns)
    if columns > 1 and not any(size % LINE for size in sizes):
        return torch.bmm(_aligned(a), _aligned(b))
    if a.shape[0] == 1:
        return torch.mm(_aligned(a[0]), _aligned(b[0])).unsqueeze(0)
    pairs = zip(a, b, strict=True)
    return torch.stack([torch.mm(_aligned(x), _aligned(y)) for x, y in pairs])


def _aligned(tensor: Tensor) -> Tensor:
    """The same numbers without gaps (transposed or not), from the beginning of a line on."""
    dense = tensor.is_contiguous() or tensor.mT.is_contiguous()
    return tensor if dense and tensor.data_ptr() % (4 * LINE) == 0 else tensor.clone()
