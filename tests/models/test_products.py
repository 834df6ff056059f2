"""Products of stacks: right, and with the same bits whatever else is in the stack."""

import pytest
import torch

from recombine.models.products import lane_product


@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [
        (10, 272, 9),  # operands of a multiple of eight numbers, a result that is none
        (48, 32, 1), (1, 32, 48),  # a vector
        (16, 24, 8), (5, 7, 3), (35, 8, 13), (700, 200, 40),
    ],
)  # fmt: skip
def test_a_lane_has_the_same_bits_in_any_stack(rows: int, inner: int, columns: int) -> None:
    rng = torch.Generator().manual_seed(0)
    a = torch.randn(12, rows, inner, generator=rng)
    b = torch.randn(12, inner, columns, generator=rng)
    every = lane_product(a, b)
    torch.testing.assert_close(every, torch.einsum("sri,sic->src", a, b), rtol=1e-4, atol=1e-4)
    for low in range(12):
        for high in (low + 1, 12):
            assert torch.equal(lane_product(a[low:high], b[low:high]), every[low:high])
