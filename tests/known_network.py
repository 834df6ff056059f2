"""A recurrent network whose functional groups are known: it is written down, not trained."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recombine.models.sequence import SequenceStack
from recombine.models.stack import Tap, untouched
from recombine.tasks.lookup import LookupTables

UNITS = 40
TABLE_UNITS = (31, 4, 18)
TIME_UNIT = 9


class Known(SequenceStack):
    """Three units spell the table being read in bits, one tells the time, the rest is a reservoir.

    The reservoir is a random recurrent mixture of all words so far, quiet and without structure.
    Two lanes: in the second the table's units are moved up by one.
    """

    def __init__(self, task: LookupTables) -> None:
        super().__init__()
        self.words = task.source_words
        drawn = torch.Generator().manual_seed(0)
        self.mix = nn.Parameter(torch.randn(UNITS, UNITS, generator=drawn) / UNITS**0.5)
        self.read = nn.Parameter(torch.randn(len(self.words), UNITS, generator=drawn))
        self._outputs = len(task.outputs)
        self._length = task.input_shape[0]

    @property
    def lanes(self) -> int:
        return 2

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(
            f"encoder.{t}.{what}" for t in range(self._length) for what in ("update", "state")
        )

    def unroll(
        self,
        inputs: Tensor,
        tap: Tap = untouched,
        *,
        targets: Tensor | None = None,
        steps: int | None = None,
    ) -> Tensor:
        x = inputs.expand(self.lanes, *inputs.shape[1:])
        h = x.new_zeros(*x.shape[:2], UNITS)
        number = torch.tensor(
            [int(w[1:]) - 1 if w[0] == "t" else 0 for w in self.words], dtype=torch.long
        )
        for t in range(x.shape[2]):
            h = torch.tanh(h @ self.mix + x[:, :, t] @ self.read)
            table = number[x[:, :, t].argmax(-1)]
            state = 0.3 * h
            for lane in range(2):
                for bit, unit in enumerate(TABLE_UNITS):
                    state[lane, :, unit + lane] = ((table[lane] >> bit) & 1) * 1.6 - 0.8
                state[lane, :, TIME_UNIT] = 0.25 * t
            tap(f"encoder.{t}.update", torch.full_like(h, 0.95 if t else 0.05))
            tap(f"encoder.{t}.state", state)
        return x.new_zeros(self.lanes, x.shape[1], self._outputs, 11)
