"""Trained weights: batch norms rest, and files that are no weights are refused in one line."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models.own import given


def normed() -> nn.Module:
    inner = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4))
    return nn.Sequential(inner, nn.ReLU(), nn.BatchNorm1d(4), nn.Linear(4, 2))


def test_batch_norms_use_the_statistics_they_were_trained_with(tmp_path: Path) -> None:
    module, path = normed(), tmp_path / "trained.pt"
    for _ in range(5):
        module(torch.randn(16, 2) * 3 + 1)
    torch.save(module.state_dict(), path)
    stack = given(normed, form="classes", weights=str(path)).stack([0, 1], (2,), 1, 2)
    x = torch.randn(1, 3, 2)
    wanted: Tensor = module.eval()(x[0])
    for lane in range(2):
        assert torch.allclose(stack(x)[lane, :, 0], wanted, atol=1e-6)
    assert torch.allclose(stack(x[:, :1])[0, :, 0], wanted[:1], atol=1e-6)  # whatever the batch


class Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("exit 1",)


@pytest.mark.parametrize("how", ["torch", "pickle"])
def test_a_pickle_is_refused_without_advice_to_trust_it(tmp_path: Path, how: str) -> None:
    path = tmp_path / "trained.pt"
    if how == "torch":
        torch.save({"weight": Harmful()}, path)
    else:
        path.write_bytes(pickle.dumps({"weight": Harmful()}))
    with pytest.raises(BadValue, match="tensors alone") as caught:
        given(normed, form="classes", weights=str(path)).stack([0], (2,), 1, 2)
    said = str(caught.value)
    assert "state_dict()" in said and "weights_only" not in said and "\n" not in said


@pytest.mark.parametrize("name", ["trained.pt", "trained.safetensors"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"hello")
    with pytest.raises(BadValue, match=r"safetensors file or a state_dict|tensors alone"):
        given(normed, form="classes", weights=str(path)).stack([0], (2,), 1, 2)


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    path, made = tmp_path / "trained.pt", []
    for _ in range(2):
        torch.save(normed().state_dict(), path)
        made.append(given(normed, form="classes", weights=str(path)))
    assert made[0].weights_digest != made[1].weights_digest != ""
