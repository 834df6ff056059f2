"""The residual network against PyTorch's own modules."""

import numpy as np
import torch
from torch import nn

from recombine.models.residual import (
    Weights,
    draw,
    features,
    fresh_head,
    logits,
    rescaled,
    trained,
)


def module(weights: Weights, name: str, stride: int) -> nn.Sequential:
    kernel = weights[name]
    out, into, size, _ = kernel.shape
    conv = nn.Conv2d(into, out, size, stride, size // 2, bias=False)
    norm = nn.BatchNorm2d(out)
    with torch.no_grad():
        conv.weight.copy_(kernel)
    return nn.Sequential(conv, norm)


def test_it_computes_what_modules_do_and_keeps_their_statistics() -> None:
    weights = draw(0, channels=3, widths=(4, 6), heads={"main": 2})
    before = torch.get_rng_state()
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 3, 8, 8))).float()
    names = {"stem": 1, "0.first": 1, "0.second": 1, "1.first": 2, "1.second": 1, "1.short": 2}
    nets = {name: module(weights, name, stride) for name, stride in names.items()}
    torch.set_rng_state(before)
    z = nets["stem"](x).relu()
    z = (nets["0.second"](nets["0.first"](z).relu()) + z).relu()
    z = (nets["1.second"](nets["1.first"](z).relu()) + nets["1.short"](z)).relu()
    ours = features(weights, x, training=True)
    assert torch.allclose(ours, z.mean((2, 3)), atol=1e-5)
    assert torch.allclose(weights["mean.1.first"], nets["1.first"][1].running_mean, atol=1e-6)
    still = features(weights, x, training=False)
    assert torch.equal(still, features(weights, x, training=False))
    assert logits(weights, "main", still).shape == (5, 2)


def test_a_seed_has_its_weights_and_touches_no_global_state() -> None:
    before = torch.get_rng_state()
    one, same, other = (draw(s, channels=1, widths=(4,), heads={"a": 3}) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["stem"], other["stem"])
    assert torch.equal(fresh_head(1, "a", 4, 3)["head.a"], one["head.a"])
    assert "gain.stem" in trained(one) and "mean.stem" not in trained(one)


def test_a_rescaled_network_has_rescaled_features() -> None:
    weights = draw(0, channels=3, widths=(4, 6), heads={"main": 2})
    x = 9 * torch.from_numpy(np.random.default_rng(0).standard_normal((40, 3, 8, 8))).float()
    for _ in range(60):
        features(weights, x, training=True)
    plain = features(weights, x, training=False)
    small = features(rescaled(weights, 0.5), x, training=False)
    assert torch.allclose(small, 0.5 * plain, rtol=1e-2, atol=1e-3)
