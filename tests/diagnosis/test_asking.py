"""What is asked: names, files, weights and settings that cannot be meant are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from recombine.diagnosis import diagnosis
from recombine.errors import UsageError
from shell import call

TASK = """
import numpy as np
from recombine.tasks import Factor, Output, Task


class Mine(Task):
    name = "mine"
    factors = (Factor("a", ("0", "1")), Factor("b", ("0", "1")))
    outputs = (Output("a", classes=2, factors=(0,)),)
    input_shape = (2,)

    def splits(self):
        return {"train": np.array([[0, 0], [1, 1], [0, 1]]), "new": np.array([[1, 0]])}

    def draw_noise(self, n, rng, *, split="all"):
        return np.zeros((n, 2, 0), dtype=np.float32)

    def render(self, z, noise):
        return z.astype(np.float32)

    def targets(self, z):
        return z[:, :1]

    def oracle(self, inputs):
        return inputs[:, :1].astype(int)

    def part(self, factor):
        return np.arange(2) == factor
"""

WRONG_TASKS = {
    "splits": ('"train"', '"trained"', "no split 'train'"),
    "held out": (', "new": np.array([[1, 0]])', "", "holds nothing out"),
    "empty": ("np.array([[1, 0]])", "np.zeros((0, 2), dtype=int)", "'new' has no combinations"),
    "render": ("return z.astype(np.float32)", "return z[5]", "failed: IndexError"),
    "shape": ("return z.astype(np.float32)", "return z[:, :1].astype('f4')", "expected (2, 2)"),
    "dtype": ("return z.astype(np.float32)", "return z.astype(float)", "expected float32"),
    "targets": ("return z[:, :1]", "return z[:, :1] + 2", "classes from 0 to 1"),
    "made": ('    name = "mine"', "    def __init__(self): raise ValueError('a\\nb')", "a b"),
}


@pytest.mark.parametrize("what", WRONG_TASKS)
def test_a_task_that_breaks_its_promises_is_refused_before_training(
    what: str, tmp_path: Path
) -> None:
    path = tmp_path / "task.py"
    path.write_text(TASK)
    diagnosis(["mlp"], f"{path}:Mine")
    old, new, said = WRONG_TASKS[what]
    assert old in TASK
    path.write_text(TASK.replace(old, new))
    with pytest.raises(UsageError) as caught:
        diagnosis(["mlp"], f"{path}:Mine")
    assert said in str(caught.value) and "\n" not in str(caught.value)


def linear() -> nn.Module:
    return nn.Linear(2, 2)


@pytest.fixture
def weights(tmp_path: Path) -> str:
    torch.save(linear().state_dict(), tmp_path / "trained.pt")
    return str(tmp_path / "trained.pt")


def test_weights_belong_to_a_model_of_ones_own(weights: str) -> None:
    with pytest.raises(UsageError, match="models/mlp is trained here"):
        diagnosis(["mlp"], "corners", weights=weights)
    with pytest.raises(UsageError, match="belongs to one model"):
        diagnosis([linear, linear], "corners", weights=weights)
    (model,) = diagnosis([linear], "corners", weights=weights).part.models.values()  # type: ignore[attr-defined]
    assert model.weights == weights


def test_trained_weights_are_one_network_unless_they_are_trained_on(weights: str) -> None:
    assert diagnosis([linear], "corners").seeds == 5
    assert diagnosis([linear], "corners", weights=weights).seeds == 1
    with pytest.raises(UsageError, match="others would be copies"):
        diagnosis([linear], "corners", weights=weights, seeds=3)
    on = diagnosis([linear], "corners", weights=weights, seeds=3, settings=["recipe.steps=5"])
    assert on.seeds == 3


def test_the_command_on_the_card_asks_for_the_same() -> None:
    command = diagnosis(["mlp", "mlp"], "corners", settings=["recipe.steps=5"]).command
    assert command == (
        "recombine diagnose mlp mlp corners --set recipe.steps=5 --compare --seeds 5"
    )


def test_what_makes_no_model_is_refused() -> None:
    with pytest.raises(UsageError, match="str, which makes no model"):
        diagnosis(["os:sep"], "corners")
    with pytest.raises(UsageError, match=r"own: say which .* path/to/file\.py:function"):
        diagnosis(["own"], "corners")
    with pytest.raises(UsageError, match="no fields to set"):
        diagnosis([linear], "corners", settings=["model.form=sequence"])


def test_a_folder_that_cannot_be_is_refused_before_training(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    said = call("diagnose", "mlp", "corners", "--seeds", 1, "--out", tmp_path / "mine",
                "--store", tmp_path / "store")  # fmt: skip
    assert said.code == 2 and "is not empty" in said.line
    assert not (tmp_path / "store").exists()


def test_a_card_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    said = call("diagnose", "mlp", "corners", "--seeds", 1, "--out", tmp_path / "file" / "card",
                "--store", tmp_path / "store", "--set", "recipe.steps=2", "--workers", 1,
                "--json")  # fmt: skip
    assert said.code == 2 and "name another folder: what was run is in the store" in said.line


class Bare(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.sum(-1), -x.sum(-1)], -1)


def frozen() -> nn.Module:
    return linear().requires_grad_(False)


def test_what_training_cannot_change_is_refused_before_it(weights: str) -> None:
    with pytest.raises(UsageError, match="Bare has no parameters"):
        diagnosis([Bare], "corners")
    with pytest.raises(UsageError, match=r"all parameters of frozen .* recipe\.steps=0"):
        diagnosis([frozen], "corners")
    assert diagnosis([frozen], "corners", weights=weights).seeds == 1


def test_a_network_with_a_single_unit_is_trained_by_its_sign() -> None:
    (trial,) = (need.cell for need in diagnosis(["gated"], "corners").needs().values())
    assert trial.recipe.loss == "logistic-sign"  # type: ignore[attr-defined]
    (trial,) = (need.cell for need in diagnosis(["mlp"], "corners").needs().values())
    assert trial.recipe.loss == "cross-entropy"  # type: ignore[attr-defined]


def test_a_language_model_is_decomposed_only_where_inputs_are_words() -> None:
    (trial,) = (need.cell for need in diagnosis(["language-model"], "corners").needs().values())
    assert "contribution" not in {probe.analysis.name for probe in trial.probes}  # type: ignore[attr-defined]
