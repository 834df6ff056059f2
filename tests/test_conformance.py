"""Every registered task, model, analysis and study keeps every promise of the conformance suite."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from recombine import checks
from recombine.checks import Check
from recombine.errors import UnknownName
from recombine.tasks.corners import Corners

EVERY = list(checks.checks())


@pytest.mark.parametrize("check", EVERY, ids=lambda c: f"{c.component}: {c.name}")
def test_promise(check: Check) -> None:
    check.run()


def test_a_component_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownName):
        list(checks.checks(["tasks/nothing"]))
    with pytest.raises(UnknownName, match="kind of component"):
        list(checks.checks(["nothing/corners"]))


@dataclass(frozen=True)
class Leaky(Corners):
    """Trains on the corner it tests."""

    name: ClassVar[str] = "leaky"

    def splits(self):  # type: ignore[no-untyped-def]
        return {**super().splits(), "train": np.array([[0, 0], [1, 1]])}


@dataclass(frozen=True)
class Blind(Corners):
    """Has an oracle that reads the wrong coordinate."""

    name: ClassVar[str] = "blind"

    def oracle(self, inputs):  # type: ignore[no-untyped-def]
        return (inputs[:, 1:] > 0).astype(np.int64)


@dataclass(frozen=True)
class Entangled(Corners):
    """Renders each factor into both coordinates."""

    name: ClassVar[str] = "entangled"

    def render(self, z, noise):  # type: ignore[no-untyped-def]
        x = super().render(z, noise)
        return np.stack([x[:, 0], x[:, 0] + x[:, 1]], axis=1)


@pytest.mark.parametrize(
    ("task", "promise"),
    [
        (Leaky(), checks.check_train_and_test_are_disjoint),
        (Blind(), checks.check_oracle_solves_every_split),
        (Entangled(), checks.check_resampling_changes_one_factor_only),
    ],
)
def test_a_broken_task_is_caught(task: Corners, promise) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(AssertionError):
        promise(task)
