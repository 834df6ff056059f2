"""A factory in Python that would make another network is another model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from torch import nn

from recombine.models.own import given

WIDTH = 4


def closing(width: int) -> Callable[[], nn.Module]:
    return lambda: nn.Linear(2, width)


def around() -> nn.Module:
    return nn.Sequential(*(nn.Linear(2, WIDTH) for _ in range(1)))


def helper() -> nn.Module:
    return nn.Linear(2, 2)


def helped() -> nn.Module:
    return helper()


def key(factory: Callable[..., nn.Module]) -> str:
    return given(factory, form="classes").source


def test_values_that_a_factory_closes_over_count() -> None:
    assert key(closing(3)) == key(closing(3)) != key(closing(4))


def test_plain_values_around_it_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(around)
    monkeypatch.setattr(f"{__name__}.WIDTH", 5)
    assert key(around) != before


def test_functions_beside_it_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(helped)
    monkeypatch.setattr(f"{__name__}.helper", closing(2))
    assert key(helped) != before


class Net(nn.Module):
    def __init__(self, width: int = 2) -> None:
        super().__init__()
        self.inner = closing(width)()


def test_a_class_is_told_by_its_methods_and_what_they_use(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(Net)
    assert before == key(Net)
    monkeypatch.setattr(f"{__name__}.closing", lambda width: helper)
    assert key(Net) != before
