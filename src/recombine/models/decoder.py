"""The decoder: writes target words one by one, looking at the encoder's outputs if it can."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from recombine.models.attention import Attention, Memory
from recombine.models.cells import Cell, State
from recombine.models.encoder import Read
from recombine.models.initial import Initial
from recombine.models.shared import Shared
from recombine.models.stack import Tap


@dataclass(frozen=True)
class Layout:
    """The sizes of a decoder and how its parts are joined."""

    classes: int
    """Target words."""
    embedding: int
    """Size of a target word's embedding."""
    values: int
    """Size of the encoder's outputs."""
    before: bool
    """Attention stands before the cell."""
    focus: bool
    """Context and word meet by full focus."""
    own_start: bool
    """The word before the first has an embedding of its own."""
    bridged: int
    """Size of what the encoder hands over."""
    ends: bool
    """It hands over the states at its first and last word, not the final ones."""

    @property
    def cell_inputs(self) -> int:
        """Size of the cell's inputs."""
        return self.values if self.focus else self.embedding + self.values * self.before


class Decoder(nn.Module):
    """Embedding, cell, attention and output layer."""

    def __init__(
        self, initial: Initial, cell: Cell, attention: Attention | None, layout: Layout
    ) -> None:
        super().__init__()
        self.layout, self.cell, self.attention = layout, cell, attention
        rows = layout.classes + layout.own_start
        self.embedding = initial.embedding(rows, layout.embedding)
        if layout.focus:
            self.focus = Linear(initial, layout.values + layout.embedding, layout.values)
        units = cell.hidden_size
        after = attention is not None and not layout.before
        read = units + layout.values * after
        self.output = initial.weight(read, layout.classes)
        self.output_bias = initial.bias(layout.classes, width=read)
        self.bridges = nn.ModuleList()
        if layout.bridged != units:
            self.bridges.extend(Linear(initial, layout.bridged, units) for _ in cell.carried)

    def sites(self, steps: int) -> tuple[str, ...]:
        """Where a tap is called in so many steps."""
        looks = ("attention", "context") if self.attention else ()
        combined = ("combined",) if self.layout.focus else ()
        each = (*looks, *combined, *self.cell.sites, "logits")
        if not self.layout.before:
            each = (*self.cell.sites, *looks, "logits")
        return tuple(f"decoder.{t}.{site}" for t in range(steps) for site in each)

    def forward(
        self,
        read: Read,
        tap: Tap,
        targets: Int[Tensor, "seeds_or_1 batch output"] | None,
        steps: int,
    ) -> Float[Tensor, "seed batch step class"]:
        state = self._first(read)
        memory = self.attention.open(read.outputs, read.absent) if self.attention else None
        embed, write = Shared(self.embedding), Shared(self.output, self.output_bias)
        focus = self.focus.open() if self.layout.focus else None
        project, recur = self.cell.open()
        lanes, batch = read.outputs.shape[:2]
        word = torch.full((lanes, batch), len(self.embedding[0]) - 1, device=read.outputs.device)
        logits = []
        for t in range(steps):
            site = f"decoder.{t}"
            x = embed(self._one_hot(word, read.outputs))
            if memory is not None and self.layout.before:
                context = self._look(memory, state[0], tap, site)
                x = torch.cat([context, x], dim=-1)
                if focus is not None:
                    x = tap(f"{site}.combined", context * torch.relu(focus(x)))
            state = self.cell.step(project(x), state, recur, tap, site)
            h = state[0]
            if memory is not None and not self.layout.before:
                h = torch.cat([h, self._look(memory, h, tap, site)], dim=-1)
            scores = tap(f"{site}.logits", write(h))
            logits.append(scores)
            if targets is None:
                word = scores.detach().argmax(-1)
            else:  # what is fed after the end does not matter, but must be a word
                word = targets[:, :, t].clamp(min=0).expand(lanes, batch)
        return torch.stack(logits, dim=2)

    def _first(self, read: Read) -> State:
        given = read.final
        if self.layout.ends:
            first = [part[:, :, 0] for part in read.states]
            given = tuple(torch.cat(pair, dim=-1) for pair in zip(first, read.last(), strict=True))
        if not self.bridges:
            return given
        return tuple(bridge(part) for bridge, part in zip(self.bridges, given, strict=True))

    def _look(self, memory: Memory, query: Tensor, tap: Tap, site: str) -> Tensor:
        assert self.attention is not None
        weights = tap(f"{site}.attention", self.attention.weights(memory, query))
        return tap(f"{site}.context", self.attention.context(memory, weights))

    def _one_hot(self, word: Int[Tensor, "seed batch"], like: Tensor) -> Tensor:
        rows = like.new_zeros(*word.shape, self.embedding.shape[1])
        return rows.scatter_(-1, word.unsqueeze(-1), 1.0)


class Linear(nn.Module):
    """A linear layer of many seeds."""

    def __init__(self, initial: Initial, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = initial.weight(inputs, outputs)
        self.bias = initial.bias(outputs, width=inputs)

    def open(self) -> Shared:
        """The layer for one pass."""
        return Shared(self.weight, self.bias)

    def forward(self, x: Float[Tensor, "seed batch in"]) -> Float[Tensor, "seed batch out"]:
        return self.open()(x)
