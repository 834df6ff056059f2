"""Products of stacked matrices whose bits do not depend on how many lanes there are.

How MKL rounds a product depends on where its operands and its result begin in memory, modulo 32
bytes. Lanes of a stack all begin at such a place if the numbers of a lane are a multiple of eight;
otherwise every lane is multiplied from a copy of its own, which does. So is a product by a single
row or column, which MKL treats as one by a vector, in yet another way.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

EVEN = 8
"""Numbers (of four bytes) in 32 bytes."""


def lane_product(
    a: Float[Tensor, "seed row inner"], b: Float[Tensor, "seed inner column"]
) -> Float[Tensor, "seed row column"]:
    """The product of each lane."""
    rows, inner, columns = (*a.shape[1:], b.shape[2])
    sizes = (rows * inner, inner * columns, rows * columns)
    if min(rows, columns) > 1 and all(size % EVEN == 0 for size in sizes):
        return torch.bmm(a, b)
    return torch.stack([x.clone() @ y.clone() for x, y in zip(a, b, strict=True)])
