"""A shared weight has the gradient that plain autograd gives it, whatever passes came before."""

import torch
from torch import Tensor

from recombine.models.shared import Shared


def setting() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(3, 4, 4, generator=generator, requires_grad=True)
    bias = torch.randn(3, 4, generator=generator, requires_grad=True)
    return weight, bias, torch.randn(3, 5, 4, generator=generator, requires_grad=True)


def chain(use: object, x: Tensor, steps: int) -> list[Tensor]:
    states = []
    for _ in range(steps):
        x = torch.tanh(use(x))  # type: ignore[operator]
        states.append(x)
    return states


def plain(weight: Tensor, bias: Tensor) -> object:
    return lambda x: torch.bmm(x, weight) + bias.unsqueeze(1)


def test_gradients_over_many_steps_equal_autograds() -> None:
    weight, bias, x = setting()
    for steps in (1, 4):
        ours = torch.stack(chain(Shared(weight, bias), x, steps)).square().sum()
        theirs = torch.stack(chain(plain(weight, bias), x, steps)).square().sum()
        found = torch.autograd.grad(ours, [weight, bias, x])
        wanted = torch.autograd.grad(theirs, [weight, bias, x])
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_a_pass_that_asks_only_for_the_input_leaves_the_weights_gradient_alone() -> None:
    weight, bias, x = setting()
    ours, theirs = chain(Shared(weight, bias), x, 4), chain(plain(weight, bias), x, 4)
    torch.autograd.grad(ours[3].sum(), x, retain_graph=True)
    torch.autograd.grad(ours[1].sum(), x, retain_graph=True)
    (found,) = torch.autograd.grad(ours[2].sum(), weight, retain_graph=True)
    (wanted,) = torch.autograd.grad(theirs[2].sum(), weight, retain_graph=True)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    (again,) = torch.autograd.grad(ours[0].sum(), weight)
    (wanted,) = torch.autograd.grad(theirs[0].sum(), weight)
    torch.testing.assert_close(again, wanted, rtol=1e-4, atol=1e-5)


def test_without_gradients_it_is_the_plain_product() -> None:
    weight, bias, x = setting()
    with torch.no_grad():
        torch.testing.assert_close(Shared(weight, bias)(x), plain(weight, bias)(x))  # type: ignore[operator]
