"""The encoder: embeds source words and reads them with a recurrent cell, in one or two directions.

A direction's state is held where there is only padding, so the state after the last time step is
the one after the last word, and a reader from the end starts at the last word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from recombine.models.cells import Cell, State
from recombine.models.initial import Initial
from recombine.models.shared import Shared
from recombine.models.stack import Tap

READERS = ("encoder", "backward")
"""How sites name the reader from the beginning and the one from the end."""


@dataclass(frozen=True)
class Read:
    """What the encoder made of the sources."""

    outputs: Float[Tensor, "seed batch time value"]
    states: tuple[Float[Tensor, "seed batch time value"], ...]
    """Each part of the state at every time step, directions side by side."""
    final: State
    """Each part of the state after the last step of each direction, side by side."""
    absent: Bool[Tensor, "seed batch time"] | None
    """Where there is only padding; none: nowhere."""

    def last(self) -> State:
        """The states at the last word."""
        if self.absent is None:
            return tuple(part[:, :, -1] for part in self.states)
        there = ~self.absent
        after = torch.cat([there[..., 1:], torch.zeros_like(there[..., :1])], dim=-1)
        at = (there & ~after).to(self.outputs.dtype).unsqueeze(-1)
        return tuple((part * at).sum(2) for part in self.states)


class Encoder(nn.Module):
    """Embedding and one cell a direction."""

    def __init__(self, initial: Initial, cells: Sequence[Cell], words: int, embedding: int) -> None:
        super().__init__()
        self.embedding = initial.embedding(words, embedding)
        self.cells = nn.ModuleList(cells)

    def sites(self, length: int) -> tuple[str, ...]:
        """Where a tap is called for sources of this length."""
        names = []
        for reader, cell in zip(READERS, self.cells, strict=False):
            assert isinstance(cell, Cell)
            times = range(length) if reader == "encoder" else reversed(range(length))
            names += [f"{reader}.{t}.{site}" for t in times for site in cell.sites]
        return tuple(names)

    def forward(self, inputs: Float[Tensor, "seed batch time word"], tap: Tap) -> Read:
        present = inputs.detach().sum(-1) > 0
        whole = bool(present.all())
        shape = inputs.shape[1:3]
        embedded = Shared(self.embedding)(inputs.flatten(1, 2))
        runs = []
        for reader, cell in zip(READERS, self.cells, strict=False):
            assert isinstance(cell, Cell)
            project, recur = cell.open()
            projected = project(embedded).view(len(inputs), *shape, -1).unbind(2)
            state = cell.start(inputs)
            times = list(range(shape[1]))
            states: list[State] = [state] * len(times)
            order = times if reader == "encoder" else times[::-1]
            for t in order:
                first = t == order[0]
                new = cell.step(projected[t], state, recur, tap, f"{reader}.{t}", first=first)
                if not whole:
                    here = present[:, :, t].unsqueeze(-1)
                    new = tuple(torch.where(here, a, b) for a, b in zip(new, state, strict=True))
                states[t] = state = new
            runs.append((states, state))
        return _side_by_side(runs, None if whole else ~present)


def _side_by_side(runs: Sequence[tuple[list[State], State]], absent: Tensor | None) -> Read:
    """The states of all directions, part by part."""
    parts = range(len(runs[0][1]))
    columns = [
        [torch.stack([state[part] for state in states], dim=2) for states, _ in runs]
        for part in parts
    ]
    states = tuple(_joined(column) for column in columns)
    final = tuple(_joined([end[part] for _, end in runs]) for part in parts)
    outputs = states[0]
    if absent is not None:
        outputs = outputs.masked_fill(absent.unsqueeze(-1), 0.0)
    return Read(outputs, states, final, absent)


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors), dim=-1)
