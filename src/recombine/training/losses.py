"""Losses of raw outputs, one number a lane: the gradient of their sum is every lane's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from recombine.tasks.task import IGNORE

Raw = Float[Tensor, "seed batch output unit"]
Targets = Int[Tensor, "seeds_or_1 batch output"]
PerLane = Float[Tensor, " seed"]


def cross_entropy(raw: Raw, targets: Targets) -> PerLane:
    """Mean over batch and outputs of −log softmax at the target."""
    wanted = targets.expand(raw.shape[:-1]).unsqueeze(-1)
    return -F.log_softmax(raw, dim=-1).gather(-1, wanted).flatten(1).mean(1)


def squared_sign(raw: Raw, targets: Targets) -> PerLane:
    """Mean of ½ (o − t)² with t = ±1 for class 1 and 0: the playground's loss."""
    signs = (2 * targets - 1).to(raw.dtype).unsqueeze(-1)
    return (0.5 * (raw - signs) ** 2).flatten(1).mean(1)


def categorical_hinge(raw: Raw, targets: Targets) -> PerLane:
    """Mean of max(0, 1 − s_y + max_{j≠y} s_j), where the masked true class counts as 0 in the max.

    This is Keras' categorical hinge, which multiplies the scores by (1 − onehot) before the max.
    """
    onehot = F.one_hot(targets.expand(raw.shape[:-1]), raw.shape[-1]).to(raw.dtype)
    true = (onehot * raw).sum(-1)
    other = ((1 - onehot) * raw).amax(-1)
    return torch.relu(1 - true + other).flatten(1).mean(1)


def token_cross_entropy(raw: Raw, targets: Targets) -> PerLane:
    """Mean over the scored positions of a batch of −log softmax at the target."""
    count = (targets != IGNORE).flatten(1).sum(1).clamp(min=1)
    return _scored(raw, targets).flatten(1).sum(1) / count


def sequence_cross_entropy(raw: Raw, targets: Targets) -> PerLane:
    """Sum over scored positions of −log softmax at the target, mean over the batch."""
    return _scored(raw, targets).sum(-1).mean(1)


def _scored(raw: Raw, targets: Targets) -> Float[Tensor, "seed batch output"]:
    """−log softmax at the target, 0 where nothing is scored."""
    wanted = targets.expand(raw.shape[:-1])
    found = -F.log_softmax(raw, dim=-1).gather(-1, wanted.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return found.masked_fill(wanted == IGNORE, 0.0)


LOSSES: Mapping[str, Callable[[Raw, Targets], PerLane]] = {
    "cross-entropy": cross_entropy,
    "squared-sign": squared_sign,
    "categorical-hinge": categorical_hinge,
    "token-cross-entropy": token_cross_entropy,
    "sequence-cross-entropy": sequence_cross_entropy,
}
