"""Diagonal nets: what they compute, and what finetuning starts from."""

import torch

from recombine.models.diagonal import Diagonal


def net() -> Diagonal:
    g = torch.Generator().manual_seed(0)
    values = [torch.randn(2, 3, 4, generator=g) for _ in range(6)]
    pairs = ((values[2], values[3]), (values[4], values[5]))
    return Diagonal((values[0], values[1]), pairs)


def test_coefficients_are_products() -> None:
    stack = net()
    for beta, (up, down) in zip(stack.betas(), stack.v, strict=True):
        assert torch.equal(beta, stack.w[0] * up - stack.w[1] * down)


def test_a_fresh_net_answers_zero() -> None:
    fresh = Diagonal.at(torch.full((2, 3, 4), 0.1), tasks=2)
    assert len(fresh.betas()) == 2 and not any(beta.any() for beta in fresh.betas())
    assert len({value.data_ptr() for value in fresh.tensors()}) == 6


def test_a_copy_has_tensors_of_its_own() -> None:
    stack = net()
    copied = stack.copy()
    copied.w[0].zero_()
    assert stack.w[0].any()


def test_finetuning_keeps_and_rescales_the_first_layer() -> None:
    pretrained = Diagonal.at(torch.rand(2, 1, 4).double() + 1)
    tuned = pretrained.finetunable(0.5, 0.01, runs=3)
    assert tuned.w[0].shape == (2, 3, 4)
    assert torch.equal(tuned.w[0][:, 2], pretrained.w[0][:, 0] * 0.5)
    assert all((value == 0.01).all() for value in tuned.v[0])


def test_nets_beside_each_other_are_runs() -> None:
    one, other = (Diagonal.at(torch.full((2, 3, 4), x)) for x in (0.1, 0.2))
    both = Diagonal.beside([one, other])
    assert both.w[0].shape == (2, 6, 4)
    assert torch.equal(both.v[0][1][:, 3:], other.v[0][1])
