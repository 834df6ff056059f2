"""The abstract analysis: plain values that say what to measure, and a way to measure it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.spec import Spec
from recombine.tasks.task import Examples, Task

ANALYSIS_SEED = 0
"""Analyses draw their examples from one stream for all lanes, so seeds are compared on the same."""


@dataclass(frozen=True)
class Analysis(Spec, ABC):
    """Reads a stack of networks on a task."""

    kind: ClassVar[str] = "analyses"

    @abstractmethod
    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        """Named arrays whose first dimension is the seed."""


def shown(examples: Examples, stack: Stack) -> Tensor:
    """The inputs of examples as one batch for all lanes, where the stack is."""
    device = next(stack.parameters()).device
    return torch.from_numpy(examples.inputs).unsqueeze(0).to(device)
