"""Products of stacks: right, and with the same bits whatever else is in the stack."""

import pytest
import torch

from recombine.models.products import product


@pytest.mark.parametrize("rows", [1, 2, 7, 10, 21, 48, 700])
@pytest.mark.parametrize(
    ("inner", "columns"),
    [
        (32, 1), (5, 15), (9, 5), (16, 5), (16, 48), (31, 33), (192, 576), (384, 192),
        (272, 9), (24, 8), (8, 13), (200, 40),
    ],
)  # fmt: skip
def test_products_round_the_same_beside_any_other_lanes(
    rows: int, inner: int, columns: int
) -> None:
    rng = torch.Generator().manual_seed(0)
    a = torch.randn(6, rows, inner, generator=rng)
    b = torch.randn(6, inner, columns, generator=rng)
    every = product(a, b)
    torch.testing.assert_close(every, torch.einsum("sri,sic->src", a, b), rtol=1e-4, atol=1e-4)
    for lanes in ([0], [3], [1, 4], [5, 0, 2]):
        x, y, z = a[lanes].clone(), b[lanes].clone(), every[lanes].clone()
        assert torch.equal(product(x, y), every[lanes])
        assert torch.equal(product(z, y.mT), product(every, b.mT)[lanes])
        assert torch.equal(product(x.mT, z), product(a.mT, every)[lanes])
    for low in range(6):  # views that begin anywhere
        assert torch.equal(product(a[low:], b[low:]), every[low:])
