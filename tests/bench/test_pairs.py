"""`bench pairs` counts what the network computes, and runs."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from recombine.bench import pairs


def test_the_operations_are_those_that_torch_counts() -> None:
    network = pairs._network(0)
    x = torch.zeros(pairs.BATCH, *pairs.SHAPE)
    with FlopCounterMode(display=False) as counter:
        torch.autograd.backward(network(x).sum())
    assert pairs.operations() == pytest.approx(counter.get_total_flops(), rel=1e-6)


def test_it_measures_both_sides() -> None:
    measured = pairs.measure(1, (1,))
    assert len(measured.rows) == 1 and len(measured.rows[0]) == len(measured.columns)
    assert "GFLOP/s" in measured.title and len(measured.aims) == 1
