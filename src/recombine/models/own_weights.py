"""Trained weights of a user's module: read from a file, put in place, batch norms at rest."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from recombine.errors import BadValue, UsageError


def digest(path: str) -> str:
    """What identifies a file of weights."""
    if not Path(path).is_file():
        raise UsageError(f"--weights {path}: there is no such file")
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def fill(module: nn.Module, path: str) -> None:
    """Put trained weights in place; batch norms use the statistics they were trained with."""
    state = _read(path)
    try:
        module.load_state_dict(state)
    except Exception as error:
        legal = f"a state of this very module ({_words(error)})"
        raise BadValue("--weights", path, legal) from error
    for part in list(module.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, nn.modules.batchnorm._BatchNorm) and _tracked(child):
                setattr(part, name, Resting(child))


def _read(path: str) -> Any:
    """What a file holds; nothing but tensors is read from it."""
    try:
        if path.endswith(".safetensors"):
            from safetensors.torch import load_file

            return load_file(path)
        with warnings.catch_warnings(action="ignore"):  # of pickles that are refused anyway
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:  # torch's own words would have it loaded nevertheless
        legal = "a file of tensors alone, as torch.save(module.state_dict(), …) writes it"
        raise BadValue("--weights", path, legal) from error
    except Exception as error:
        legal = f"a .safetensors file or a state_dict saved by torch ({_words(error)})"
        raise BadValue("--weights", path, legal) from error


def _words(error: Exception) -> str:
    """The first two lines of what an error says, as one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2])}"


def _tracked(norm: nn.modules.batchnorm._BatchNorm) -> bool:
    return norm.running_mean is not None and norm.running_var is not None


class Resting(nn.Module):
    """A batch normalisation that uses the statistics it was trained with."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, norm: nn.modules.batchnorm._BatchNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps
        self.register_buffer("running_mean", norm.running_mean)
        self.register_buffer("running_var", norm.running_var)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )
