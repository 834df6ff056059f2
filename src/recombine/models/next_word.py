"""The last layer of a language model and its loss, in one: how surprised is it by the next word?

    loss = −log softmax(W h + b)[next word], averaged over a lane's words

Written as one function because most of its cost is passing over a table of words × vocabulary:
the logits become the probabilities and these the gradient, all in the same memory. The gradient
of the logits is p − 1[word], over the number of words.

MKL multiplies by a table of 1,002 columns at two thirds of the speed it has at 1,008. So a large
vocabulary is filled up with words that cannot occur: their weights are 0 and their bias −∞, hence
their probabilities and gradients 0.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from recombine.models.products import product

LARGE, EVEN = 256, 16
"""A vocabulary of at least so many words is filled up to a multiple."""


def next_word_loss(
    states: Float[Tensor, "seed n hidden"],
    weight: Float[Tensor, "seed word hidden"],
    bias: Float[Tensor, "seed word"],
    words: Int[Tensor, "seed n"],
) -> Float[Tensor, " seed"]:
    """The mean cross-entropy of each lane."""
    loss: Tensor = NextWordLoss.apply(states, weight, bias, words)  # type: ignore[no-untyped-call]
    return loss


class NextWordLoss(torch.autograd.Function):
    """The mean over words of log Σ exp(logits) − logit of the word."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, words: Tensor) -> Tensor:
        missing = -weight.shape[1] % EVEN if weight.shape[1] >= LARGE else 0
        if missing:
            weight = F.pad(weight, (0, 0, 0, missing))
            bias = F.pad(bias, (0, missing), value=-torch.inf)
        ctx.words = weight.shape[1] - missing
        table = product(states, weight.transpose(1, 2)).add_(bias.unsqueeze(1))
        table.sub_(table.amax(-1, keepdim=True))
        right = table.gather(-1, words.unsqueeze(-1))
        total = table.exp_().sum(-1, keepdim=True)
        table.div_(total)
        ctx.save_for_backward(states, weight, words, table)
        return torch.stack([lane.mean() for lane in total.log_().sub_(right)])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_loss: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, words, table = ctx.saved_tensors
        one = torch.ones_like(words, dtype=table.dtype).unsqueeze(-1)
        d_logits = table.scatter_add_(-1, words.unsqueeze(-1), -one)
        d_logits.mul_((d_loss / words.shape[1]).reshape(-1, 1, 1))
        return (
            product(d_logits, weight),
            product(d_logits.transpose(1, 2), states)[:, : ctx.words],
            torch.stack([lane.sum(0) for lane in d_logits])[:, : ctx.words],
            None,
        )
