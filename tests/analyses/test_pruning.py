"""Masks that do not fit what they are to silence are refused."""

import numpy as np
import pytest
import torch

from recombine.analyses.pruning import prune
from recombine.errors import BadValue
from recombine.models.mlp import MLP

STACK = MLP(widths=(6,)).stack([0, 1], (2,), 1, 2)
INPUTS = torch.zeros(1, 3, 2)


def test_a_mask_of_another_width_is_refused() -> None:
    with pytest.raises(BadValue, match=r"mask of hidden.0 = 5 is not legal: expected 6, one for"):
        prune(STACK, {"hidden.*": np.ones((2, 5), bool)})(INPUTS)


def test_a_mask_for_another_number_of_lanes_is_refused() -> None:
    with pytest.raises(BadValue, match=r"mask of hidden.0 = 3 is not legal: expected 2, one for"):
        prune(STACK, {"hidden.0": np.ones((3, 6), bool)})


def test_one_row_serves_all_lanes() -> None:
    row = np.arange(6)[None] % 2 == 0
    one, each = (prune(STACK, {"hidden.0": mask}) for mask in (row, row.repeat(2, axis=0)))
    assert torch.equal(one(INPUTS), each(INPUTS))
