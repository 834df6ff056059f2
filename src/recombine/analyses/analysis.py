"""The abstract analysis: plain values that say what to measure, and a way to measure it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from recombine.models.mlp import MLP
from recombine.models.model import Model
from recombine.models.seq2seq import Seq2Seq
from recombine.models.stack import Stack
from recombine.spec import Spec
from recombine.tasks.corners import Corners
from recombine.tasks.lookup import LookupTables
from recombine.tasks.task import Examples, Task

ANALYSIS_SEED = 0
"""Analyses draw their examples from one stream for all lanes, so seeds are compared on the same."""


@dataclass(frozen=True)
class Analysis(Spec, ABC):
    """Reads a stack of networks on a task."""

    kind: ClassVar[str] = "analyses"

    def example(self) -> tuple[Task, Model]:
        """A task and a model it can read: what the conformance checks try it on."""
        return Corners(), MLP()

    @abstractmethod
    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        """Named arrays whose first dimension is the seed."""


@dataclass(frozen=True)
class RecurrentAnalysis(Analysis, ABC):
    """Reads a recurrent model at sites named `<part>.<step>.<what>`, on a task of sequences."""

    def example(self) -> tuple[Task, Model]:
        task = LookupTables(tables=4, bits=2, held_tables=1, held_compositions=2, held_inputs=1,
                            validation=3)  # fmt: skip
        return task, Seq2Seq(embedding=4, hidden=8, output_embedding=8)


def shown(examples: Examples, stack: Stack) -> Tensor:
    """The inputs of examples as one batch for all lanes, where the stack is."""
    device = next(stack.parameters()).device
    return torch.from_numpy(examples.inputs).unsqueeze(0).to(device)
