"""Schedules are the formulas they name."""

import pytest
import torch

from recombine.errors import BadValue
from recombine.training import Constant, Exponential


def test_constant_is_one() -> None:
    assert {Constant().factor(step) for step in range(100)} == {1.0}


def test_exponential_is_torchs_when_every_step_decays() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.96)
    ours = Exponential(decay=0.96, every=1)
    for step in range(20):
        assert ours.factor(step) == pytest.approx(theirs.get_last_lr()[0])
        optimizer.step()
        theirs.step()


def test_stairs_hold_between_multiples() -> None:
    stairs = Exponential(decay=0.5, every=10, stairs=True)
    assert [stairs.factor(s) for s in (0, 9, 10, 19, 20)] == [1, 1, 0.5, 0.5, 0.25]


@pytest.mark.parametrize("fields", [{"decay": 0.0}, {"decay": 1.5}, {"every": 0}])
def test_impossible_settings_are_refused(fields: dict[str, float]) -> None:
    with pytest.raises(BadValue):
        Exponential(**fields)  # type: ignore[arg-type]
