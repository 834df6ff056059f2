"""Descent on margins against torch.optim; long times; lanes and kills change no bit."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch

from recombine.cell import Arrays, Context
from recombine.errors import BadValue, Interrupted
from recombine.models.gated import Gated, StackedGated
from recombine.seeds import stream
from recombine.training.normalised import Descent, Normalised, Points
from recombine.training.optimizers import SGD

MODEL = Gated(widths=(4,), init="normal", scale=0.5)


def lanes(
    seeds: list[int], dtype: torch.dtype = torch.float64, *, n: int = 12
) -> tuple[StackedGated, Points]:
    drawn = [MODEL.draw(seed, 3) for seed in seeds]
    nets = StackedGated(MODEL, [np.stack(layer) for layer in zip(*drawn, strict=True)]).to(dtype)
    x, on = [], []
    for seed in seeds:
        rng = stream(seed, "data")
        x.append(rng.standard_normal((n, 3)))
        on.append((rng.integers(0, 2, (n, 4, 1)) == np.arange(2)).astype(float))
    inputs = torch.from_numpy(np.stack(x)).to(dtype)
    labels = torch.where(inputs[:, :, 0] > 0, 1.0, -1.0).to(dtype)
    return nets, Points(inputs, labels, (torch.from_numpy(np.stack(on)).to(dtype),))


@pytest.mark.parametrize("optimizer", [SGD(rate=0.1), SGD(rate=0.05, momentum=0.9)])
def test_plain_descent_is_that_of_torch(optimizer: SGD) -> None:
    nets, points = lanes([0])
    twin, _ = lanes([0])
    Descent(steps=40, optimizer=optimizer).train(nets, points, [0], Context())
    theirs = torch.optim.SGD(
        twin.parameters(), lr=optimizer.rate, momentum=optimizer.momentum, foreach=False
    )
    for step in range(40):
        if step == 20:
            theirs.param_groups[0]["lr"] *= 0.25
        theirs.zero_grad()
        torch.nn.functional.softplus(-points.margins(twin)).mean().backward()
        theirs.step()
    for a, b in zip(nets.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_batches_show_every_point_once_an_epoch() -> None:
    _, points = lanes([3, 5])
    rule = Descent(batch=4)
    epoch = [rule._rows(step, points, [3, 5]) for step in (3, 4, 5)]
    for lane in range(2):
        assert sorted(np.concatenate([rows[lane] for rows in epoch]).tolist()) == list(range(12))
    small = points.batch(epoch[0])
    assert torch.equal(small.x[1], points.x[1, torch.from_numpy(epoch[0][1])])


def test_normalised_descent_raises_the_normalised_margin() -> None:
    nets, points = lanes([0, 1])

    def measure() -> Mapping[str, np.ndarray]:
        squares = sum(p.detach().square().flatten(1).sum(1) for p in nets.parameters())
        return {"margin": (points.margins(nets).detach().amin(1) / squares).numpy()}

    rule = Normalised(steps=2000)
    margins = np.array(list(rule.train(nets, points, measure, Context())["margin"].values()))
    assert rule.measured[0] == 10 and rule.measured[-1] == 2000
    assert (margins[-1] > 0).all() and (np.diff(margins[-4:], axis=0) > -1e-4).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rule", [Normalised(steps=60), Descent(steps=60, batch=5)])
def test_a_lane_has_the_same_bits_alone(rule: Normalised | Descent, dtype: torch.dtype) -> None:
    seeds = list(range(11))

    def trained(chosen: list[int]) -> list[torch.Tensor]:
        nets, points = lanes(chosen, dtype)
        if isinstance(rule, Normalised):
            rule.train(nets, points, dict, Context())
        else:
            rule.train(nets, points, chosen, Context())
        return [p.detach() for p in nets.parameters()]

    together = trained(seeds)
    for chosen in ([4], [4, 9], seeds[2:9]):
        for a, b in zip(together, trained(chosen), strict=True):
            assert torch.equal(a[chosen], b)


class Memory:
    """A checkpoint that stays in memory."""

    def __init__(self) -> None:
        self.saved: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.saved

    def save(self, arrays: Arrays) -> None:
        self.saved = {name: np.array(value) for name, value in arrays.items()}


def test_a_killed_run_ends_with_the_same_bits() -> None:
    def run(context: Context) -> tuple[list[torch.Tensor], dict[str, dict[int, np.ndarray]]]:
        nets, points = lanes([0, 1])
        curves = Normalised(steps=400).train(
            nets, points, lambda: {"q": points.margins(nets).detach().numpy()}, context
        )
        return [p.detach() for p in nets.parameters()], curves

    def stop(done: int, total: int) -> None:
        if done >= 300:
            raise Interrupted("enough")

    whole, curves = run(Context())
    memory = Memory()
    with pytest.raises(Interrupted):
        run(Context(progress=stop, checkpoint=memory, checkpoint_every=0.0))
    assert memory.saved is not None and int(memory.saved["step"]) == 200
    again, rest = run(Context(checkpoint=memory))
    assert all(torch.equal(a, b) for a, b in zip(whole, again, strict=True))
    assert {s: v.tolist() for s, v in rest["q"].items()} == {
        s: v.tolist() for s, v in curves["q"].items()
    }


def test_what_is_not_legal_is_refused() -> None:
    for wrong in ({"steps": -1}, {"batch": 0}):
        with pytest.raises(BadValue):
            Descent(**wrong)
    for other in ({"steps": 0}, {"rate": 0.0}):
        with pytest.raises(BadValue):
            Normalised(**other)
