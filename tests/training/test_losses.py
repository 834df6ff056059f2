"""Losses equal PyTorch's own, or the formula written out, lane by lane."""

import pytest
import torch
import torch.nn.functional as F

from recombine.errors import BadValue
from recombine.training.losses import (
    LOSSES,
    categorical_hinge,
    cross_entropy,
    loss_of,
    squared_sign,
)

RAW = torch.randn(4, 6, 2, 3, generator=torch.Generator().manual_seed(1))
TARGETS = torch.randint(0, 3, (4, 6, 2), generator=torch.Generator().manual_seed(2))


def test_cross_entropy_is_torchs() -> None:
    for lane in range(4):
        theirs = F.cross_entropy(RAW[lane].flatten(0, 1), TARGETS[lane].flatten())
        torch.testing.assert_close(cross_entropy(RAW, TARGETS)[lane], theirs)


def test_one_set_of_targets_serves_every_lane() -> None:
    everywhere = TARGETS[:1].expand(4, -1, -1)
    torch.testing.assert_close(cross_entropy(RAW, TARGETS[:1]), cross_entropy(RAW, everywhere))
    torch.testing.assert_close(
        categorical_hinge(RAW, TARGETS[:1]), categorical_hinge(RAW, everywhere)
    )


def test_squared_sign_is_half_the_squared_distance_to_plus_or_minus_one() -> None:
    raw = torch.tensor([[[[0.5]], [[-0.25]]]])
    targets = torch.tensor([[[1], [0]]])
    expected = (0.5 * (0.5 - 1) ** 2 + 0.5 * (-0.25 + 1) ** 2) / 2
    torch.testing.assert_close(squared_sign(raw, targets), torch.tensor([expected]))


def test_categorical_hinge_is_the_definition_with_the_true_class_counted_as_zero() -> None:
    values = []
    for lane in range(4):
        total = 0.0
        for i in range(6):
            for o in range(2):
                scores, y = RAW[lane, i, o].tolist(), int(TARGETS[lane, i, o])
                others = [0.0 if c == y else s for c, s in enumerate(scores)]
                total += max(0.0, 1 - scores[y] + max(others))
        values.append(total / 12)
    torch.testing.assert_close(categorical_hinge(RAW, TARGETS), torch.tensor(values))


def test_positions_that_are_not_scored_count_for_nothing() -> None:
    raw = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([[[0, 1, -1, -1], [2, 3, 4, 0], [1, -1, -1, -1]]])
    picked = -raw.log_softmax(-1)
    each = [
        [sum(picked[lane, b, t, targets[0, b, t]] for t in range(4) if targets[0, b, t] >= 0)
         for b in range(3)]
        for lane in range(2)
    ]  # fmt: skip
    sums = torch.tensor(each)
    by_sequence = LOSSES["sequence-cross-entropy"](raw, targets)
    torch.testing.assert_close(by_sequence, sums.mean(1))
    torch.testing.assert_close(LOSSES["token-cross-entropy"](raw, targets), sums.sum(1) / 7)
    full = targets.clamp(min=0)
    torch.testing.assert_close(
        LOSSES["token-cross-entropy"](raw, full), LOSSES["cross-entropy"](raw, full)
    )


def test_squares_are_of_the_numbers_that_classes_stand_for() -> None:
    raw = torch.randn(2, 5, 1, 1)
    targets = torch.randint(3, (2, 5, 1))
    found = loss_of("squared", (-4.0, 0.5, 7.0))(raw, targets)
    numbers = torch.tensor([-4.0, 0.5, 7.0])[targets]
    for lane in range(2):
        expected = torch.nn.functional.mse_loss(raw[lane, ..., 0], numbers[lane])
        torch.testing.assert_close(found[lane], expected)


def test_a_single_unit_has_the_logistic_loss_of_its_margin() -> None:
    raw = torch.randn(2, 5, 1, 1)
    targets = torch.randint(2, (2, 5, 1))
    margins = raw[..., 0] * (2 * targets - 1)
    expected = torch.nn.functional.softplus(-margins).flatten(1).mean(1)
    torch.testing.assert_close(loss_of("logistic-sign", None)(raw, targets), expected)


def test_a_task_without_numbers_has_no_squares() -> None:
    with pytest.raises(BadValue, match="do not stand for numbers"):
        loss_of("squared", None)
