"""One trained network: its verdict rests on examples, and nothing is said of seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import recombine
from recombine import stats
from recombine.diagnosis import diagnosis
from recombine.diagnosis.answering import remarks
from recombine.diagnosis.one_network import difference


def linear() -> nn.Module:
    return nn.Linear(2, 2)


@pytest.mark.parametrize("right", [True, False])
def test_a_trained_network_has_a_verdict(right: bool, tmp_path: Path) -> None:
    """Class 1 where the first input is positive is the rule of corners."""
    module = nn.Linear(2, 2, bias=False)
    module.weight.data = torch.tensor([[-9.0, 0.0], [9.0, 0.0]]) * (1 if right else -1)
    state = {"weight": module.weight.data, "bias": torch.zeros(2)}
    torch.save(state, tmp_path / "trained.pt")
    said = recombine.diagnose(
        linear, "corners", weights=str(tmp_path / "trained.pt"), store=tmp_path / "store"
    )
    words = str(said)
    assert ("composes on corners" if right else "has not learned corners") in words
    assert "nan" not in words and "seed" not in words and "steps" not in words
    assert "the statistics it was trained with" in said.notes[1]
    assert said.finding.claims[0][1].n == 1000
    needed = next(table for table in said.finding.tables if table.id == "seeds")
    assert needed.rows[0][-1] == "not known from one"


def hidden() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))


def test_the_untrained_layer_of_a_trained_network_is_not_seen(tmp_path: Path) -> None:
    torch.save(hidden().state_dict(), tmp_path / "trained.pt")
    said = recombine.diagnose(
        hidden, "corners", weights=str(tmp_path / "trained.pt"), store=tmp_path / "store"
    )
    theory = next(table for table in said.finding.tables if table.id == "theory")
    assert theory.rows[0][3] == "no kernel seen" and "before training" not in str(said)


def dead() -> nn.Module:
    module = hidden()
    nn.init.constant_(module.get_submodule("0").bias, -100.0)  # type: ignore[arg-type]
    return module


def test_a_layer_that_tells_nothing_apart_has_a_card(tmp_path: Path) -> None:
    said = recombine.diagnose(
        dead, "corners", seeds=2, settings=["recipe.steps=2"], store=tmp_path / "store"
    )
    additivity = next(table for table in said.finding.tables if table.id == "additivity")
    assert additivity.rows[0][1:3] == ("answers do not vary", "answers do not vary")
    assert said.write(tmp_path / "card").is_file()


def test_the_interval_of_a_difference_covers_it() -> None:
    rng, covered = np.random.default_rng(0), 0
    for _ in range(1000):
        one, other = (stats.share(int(rng.binomial(50, p)), 50) for p in (0.9, 0.7))
        covered += difference(one, other).contains(0.2)
    assert 0.93 < covered / 1000 < 0.975


def test_the_interval_of_a_difference_is_newcombes() -> None:
    """His first example (1998, Table II a): 56/70 against 48/80, 0.0524 to 0.3339."""
    found = difference(stats.share(56, 70), stats.share(48, 80))
    assert found.low == pytest.approx(0.0524, abs=1e-4)
    assert found.high == pytest.approx(0.3339, abs=1e-4)


def test_one_seed_has_no_interval_and_differences_have_bounds(tmp_path: Path) -> None:
    settings, store = ["recipe.steps=20"], tmp_path / "store"
    one = str(recombine.diagnose("mlp", "corners", seeds=1, settings=settings, store=store))
    assert "nan" not in one and "(one seed, no interval)" in one
    two = str(
        recombine.diagnose(
            "mlp", "corners", compare=linear, seeds=2, settings=settings, store=store
        )
    )
    assert "[-100, 100]" in two


class Noisy(nn.Linear):
    def __init__(self) -> None:
        super().__init__(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x + torch.randn_like(x))


@pytest.mark.parametrize("factory", [linear, Noisy])
def test_a_forward_that_draws_is_told(factory: Callable[[], nn.Module]) -> None:
    notes = remarks(diagnosis([factory], "corners"))
    assert ("draws random numbers" in " ".join(notes)) == (factory is Noisy)
