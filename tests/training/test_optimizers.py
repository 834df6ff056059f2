"""Optimizers move parameters exactly as torch.optim does."""

import pytest
import torch

from recombine.errors import BadValue
from recombine.training import SGD, Adam
from recombine.training.optimizers import Optimizer


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SGD(rate=0.1), lambda p: torch.optim.SGD(p, lr=0.1)),
        (SGD(rate=0.05, momentum=0.9), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
        (Adam(rate=0.01), lambda p: torch.optim.Adam(p, lr=0.01)),
        (
            Adam(rate=0.3, betas=(0.5, 0.7), epsilon=1e-3),
            lambda p: torch.optim.Adam(p, lr=0.3, betas=(0.5, 0.7), eps=1e-3),
        ),
    ],
)
def test_thirty_updates_equal_torch(ours: Optimizer, theirs) -> None:  # type: ignore[no-untyped-def]
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(3, 4, generator=generator), torch.randn(5, generator=generator)]
    mine = [p.clone() for p in start]
    reference = [torch.nn.Parameter(p.clone()) for p in start]
    optimizer, slots = theirs(reference), ours.slots(mine)
    for step in range(30):
        factor = 0.97**step
        gradients = [torch.randn(p.shape, generator=generator) for p in start]
        ours.update(mine, gradients, slots, step=step, factor=factor)
        for parameter, gradient in zip(reference, gradients, strict=True):
            parameter.grad = gradient
        rate = optimizer.defaults["lr"] * factor
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    for a, b in zip(mine, reference, strict=True):
        torch.testing.assert_close(a, b.detach())


@pytest.mark.parametrize("shape", [(4, 8), (48,), (11,), (3, 5)])
def test_a_fused_update_of_a_stack_has_the_bits_of_each_lane_alone(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(1)
    start = torch.randn(5, *shape, generator=generator)
    gradients = [torch.randn(start.shape, generator=generator) for _ in range(20)]

    def moved(rule: Adam, lanes: slice) -> torch.Tensor:
        values = [start[lanes].clone()]
        slots = rule.slots(values)
        for step, gradient in enumerate(gradients):
            rule.update(values, [gradient[lanes].clone()], slots, step=step, factor=1.0)
        return values[0]

    together = moved(Adam(0.01, fused=True), slice(None))
    for lane in range(5):
        assert torch.equal(together[lane], moved(Adam(0.01, fused=True), slice(lane, lane + 1))[0])
    torch.testing.assert_close(together, moved(Adam(0.01), slice(None)))


@pytest.mark.parametrize(
    "build",
    [
        lambda: SGD(rate=0),
        lambda: SGD(momentum=1),
        lambda: Adam(rate=-1),
        lambda: Adam(betas=(1, 0)),
    ],
)
def test_impossible_settings_are_refused(build) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BadValue):
        build()
