"""Layers that hold halves give what float32 gives, there and back, as nearly as TF32 would."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from recombine.models import halves as module
from recombine.models.deep_conv import DeepConv
from recombine.models.halves import Halves, half_convolution
from recombine.models.stack import read_sites
from recombine.spec import encode

DIGITS = 2.0**-11
"""By how much a number may change when it is rounded to a half, relatively."""


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _apart(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).detach().norm() / b.detach().norm())


@pytest.fixture(params=[True, False], ids=["units for halves", "none"])
def processor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to convolve, as far as this processor has them."""
    if request.param and not module.fast(torch.device("cpu")):
        pytest.skip("this processor has no units for 16-bit numbers")
    monkeypatch.setattr(module, "fast", lambda device: request.param)


@pytest.mark.usefixtures("processor")
def test_a_convolution_and_its_gradients() -> None:
    x, weight, bias = _normal(4, 3, 9, 11), _normal(5, 3, 5, 5, seed=1), _normal(5, seed=2)
    for tensor in (x, weight, bias):
        tensor.copy_(tensor.half()).requires_grad_()  # nothing is lost on the way in
    halves = Halves(1)
    y = halves.left(half_convolution(*halves.entered(0, x, weight, bias)).unsqueeze(0))[0]
    plain = F.conv2d(x, weight, bias)
    assert _apart(y, plain) < DIGITS
    by_y = _normal(*y.shape, seed=3)
    found = torch.autograd.grad(y, [x, weight, bias], by_y)
    wanted = torch.autograd.grad(plain, [x, weight, bias], by_y)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == torch.float32
        assert _apart(ours, theirs) < 3 * DIGITS


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1.0, 1e6, 1e30])
def test_gradients_of_any_size_pass(size: float) -> None:
    """Far below what a half can be, or far above: the power of two brings them in and out."""
    x = _normal(2, 50).half().float().requires_grad_()
    halves = Halves(1)
    (h,) = halves.entered(0, x)
    by_h = _normal(1, 2, 50, seed=1) * size
    (by_x,) = torch.autograd.grad(halves.left(h.unsqueeze(0)), [x], by_h)
    torch.testing.assert_close(by_x, by_h[0], rtol=DIGITS, atol=1e-7 * size)


def test_each_lane_has_its_own_scale() -> None:
    x = torch.ones(2, 1, 3, requires_grad=True)
    halves = Halves(2)
    stacked = torch.stack([halves.entered(lane, x[lane])[0] for lane in (0, 1)])
    by_h = torch.tensor([1e-8, 1e8]).view(2, 1, 1).expand(2, 1, 3)
    (by_x,) = torch.autograd.grad(halves.left(stacked), [x], by_h)
    torch.testing.assert_close(by_x, by_h, rtol=DIGITS, atol=0.0)


def test_no_gradient_at_all_stays_none() -> None:
    x = torch.ones(1, 3, requires_grad=True)
    halves = Halves(1)
    (by_x,) = torch.autograd.grad(halves.left(halves.entered(0, x)[0]), [x], torch.zeros(1, 3))
    assert not by_x.any()


def _gradients(precision: str, x: torch.Tensor) -> list[torch.Tensor]:
    stack = DeepConv(precision=precision).stack([0], tuple(x.shape[2:]), 1, 2)  # type: ignore[arg-type]
    stack.train()
    return list(torch.autograd.grad(stack(x).square().mean(), list(stack.parameters())))


class _Tf32(torch.autograd.Function):
    """A convolution whose factors are rounded to eleven digits, as graphics processors do it."""

    @staticmethod
    def forward(ctx, x, weight, bias):  # type: ignore[no-untyped-def]
        x, weight = _eleven(x), _eleven(weight)
        ctx.save_for_backward(x, weight)
        return F.conv2d(x, weight, bias)

    @staticmethod
    def backward(ctx, by_y):  # type: ignore[no-untyped-def]
        x, weight = ctx.saved_tensors
        by_x = torch.nn.grad.conv2d_input(x.shape, weight, _eleven(by_y))
        by_weight = torch.nn.grad.conv2d_weight(x, weight.shape, _eleven(by_y))
        return by_x, by_weight, by_y.sum((0, 2, 3))


def _eleven(x: torch.Tensor) -> torch.Tensor:
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp((mantissa * 2**11).round() / 2**11, exponent)


def test_the_published_network_is_as_exact_as_in_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients of the first layers, against float32: halves err as TF32 does, within a half.

    Both err by several percent: a rounding may decide which side of a ReLU, or which pixel of a
    pooling, a gradient goes to.
    """
    x = _normal(1, 32, 2, 28, 28)
    wanted, halves = _gradients("single", x), _gradients("half", x)
    convolution: Callable[..., torch.Tensor] = _Tf32.apply
    monkeypatch.setattr("recombine.models.looped.spectral_convolution", convolution)
    monkeypatch.setattr("recombine.models.deep_conv.pays", lambda _: False)  # layer by layer
    tf32 = _gradients("single", x)
    for ours, theirs, exact in zip(halves, tf32, wanted, strict=True):
        assert _apart(ours, exact) < 0.15
        assert _apart(ours, exact) < 1.5 * _apart(theirs, exact) + 0.02


def test_sites_are_shown_in_float32_and_may_be_replaced() -> None:
    model = DeepConv(channels=(4, 6), kernel=3, dense=(8,), precision="half")
    stack = model.stack([3], (2, 8, 8), 1, 2).eval()
    x = _normal(1, 5, 2, 8, 8)
    seen = read_sites(stack, x, stack.sites)
    assert set(seen) == set(stack.sites)
    assert {value.dtype for value in seen.values()} == {torch.float32}
    silent = stack(x, lambda site, value: value * 0 if site == "dense.0" else value)
    assert torch.equal(silent, torch.zeros_like(silent))  # the output's bias is drawn as zero


def test_the_default_key_is_as_before() -> None:
    assert "precision" not in str(encode(DeepConv()))
