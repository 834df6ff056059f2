"""Recurrent cells, written out for stacks: every gate is a site that can be read or replaced.

Weights lie as [seed, in, gates × hidden] (a gradient comes out of a batched product that way), the
gates in PyTorch's order, with PyTorch's two biases, so nn.GRU and nn.LSTM compute the same.

GRU (r reset, z update, n new), in two conventions of the update gate:

    r = σ(x W_ir + b_ir + h W_hr + b_hr),   z = σ(x W_iz + b_iz + h W_hz + b_hz),
    n = tanh(x W_in + b_in + r (h W_hn + b_hn)),
    `torch`:    h' = (1 − z) n + z h     (z near 1: the state is kept)
    `printed`:  h' = (1 − z) h + z n     (z near 1: the state is overwritten)

LSTM (i input, f forget, g new, o output):  c' = f c + i g,  h' = o tanh(c').
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from recombine.models.gate_steps import GRUGates, LSTMGates, Sigmoid
from recombine.models.initial import Initial
from recombine.models.shared import Shared
from recombine.models.stack import Tap, sees_all

Convention = Literal["torch", "printed"]
State = tuple[Tensor, ...]
"""What a cell carries from step to step, each [seed, batch, hidden]; the first is its output h."""


class Cell(nn.Module, ABC):
    """A recurrent cell of many seeds."""

    gates: ClassVar[tuple[str, ...]]
    """Names of the gates, in the order in which they lie in the weights."""
    carried: ClassVar[tuple[str, ...]]
    """Names of the parts of its state; `state` is the output."""

    def __init__(self, initial: Initial, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden_size = hidden
        count = len(self.gates)
        self.input = initial.weight(inputs, hidden, gates=count, width=hidden)
        self.hidden = initial.weight(hidden, hidden, gates=count, width=hidden)
        self.input_bias = initial.bias(count * hidden, width=hidden)
        self.hidden_bias = initial.bias(count * hidden, width=hidden)

    @property
    def sites(self) -> tuple[str, ...]:
        """What a step shows a tap, in order."""
        return (*self.gates, *reversed(self.carried))

    def start(self, x: Float[Tensor, "seed batch *rest"]) -> State:
        """A state of zeros for these inputs."""
        h = x.new_zeros(len(self.input), x.shape[1], self.hidden_size)
        return (h,) * len(self.carried)

    @staticmethod
    def recurrent(recur: Shared, h: Tensor, *, first: bool) -> Float[Tensor, "seed batch gates"]:
        """The state times its weights; at the first step there is no state to be multiplied."""
        return recur.of_zeros(h.shape[1]) if first else recur(h)

    def open(self) -> tuple[Shared, Shared]:
        """The input's and the state's weights for one pass; `step` wants the second."""
        return Shared(self.input, self.input_bias), Shared(self.hidden, self.hidden_bias)

    @abstractmethod
    def step(
        self,
        projected: Float[Tensor, "seed batch gates"],
        state: State,
        recur: Shared,
        tap: Tap,
        site: str,
        *,
        first: bool = False,
    ) -> State:
        """The next state, from the input times its weights and the state before.

        `first` says that the state before is zeros.
        """


class GRU(Cell):
    """Gated recurrent units."""

    gates = ("reset", "update", "new")
    carried = ("state",)

    def __init__(
        self, initial: Initial, inputs: int, hidden: int, convention: Convention = "torch"
    ) -> None:
        super().__init__(initial, inputs, hidden)
        self.convention = convention

    def step(
        self,
        projected: Float[Tensor, "seed batch gates"],
        state: State,
        recur: Shared,
        tap: Tap,
        site: str,
        *,
        first: bool = False,
    ) -> State:
        (h,) = state
        recurrent = self.recurrent(recur, h, first=first)
        if not sees_all(tap):
            keeps = self.convention == "torch"
            return (GRUGates.apply(projected, recurrent, h, keeps),)  # type: ignore[no-untyped-call]
        # split, whose gradient is one concatenation; slices would each make one of full size
        sizes = [2 * self.hidden_size, self.hidden_size]
        gates_in, new_in = torch.split(projected, sizes, dim=-1)
        gates_h, new_h = torch.split(recurrent, sizes, dim=-1)
        r, z = sigmoid(gates_in + gates_h).chunk(2, dim=-1)
        r, z = tap(f"{site}.reset", r), tap(f"{site}.update", z)
        n = torch.tanh(new_in + r * new_h)
        n = tap(f"{site}.new", n)
        h = n + z * (h - n) if self.convention == "torch" else h + z * (n - h)
        return (tap(f"{site}.state", h),)


class LSTM(Cell):
    """Long short-term memory."""

    gates = ("input", "forget", "new", "output")
    carried = ("state", "memory")

    def step(
        self,
        projected: Float[Tensor, "seed batch gates"],
        state: State,
        recur: Shared,
        tap: Tap,
        site: str,
        *,
        first: bool = False,
    ) -> State:
        h, c = state
        summed = projected + self.recurrent(recur, h, first=first)
        if not sees_all(tap):
            return LSTMGates.apply(summed, c)  # type: ignore[no-untyped-call, no-any-return]
        i, f, g, o = summed.chunk(4, dim=-1)
        i = tap(f"{site}.input", sigmoid(i))
        f = tap(f"{site}.forget", sigmoid(f))
        g = tap(f"{site}.new", torch.tanh(g))
        o = tap(f"{site}.output", sigmoid(o))
        c = tap(f"{site}.memory", f * c + i * g)
        return tap(f"{site}.state", o * torch.tanh(c)), c


def sigmoid(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """1 / (1 + e^−x), as (1 + tanh(x/2)) / 2.

    torch.sigmoid takes the last few numbers of a tensor one by one and rounds them differently
    from the rest: a lane would feel how many there are. The same goes for lerp and addcmul.
    """
    found = Sigmoid.apply(x)  # type: ignore[no-untyped-call]
    assert isinstance(found, Tensor)
    return found


def as_torch(cell: Cell, lane: int) -> nn.GRU | nn.LSTM:
    """PyTorch's own module with one lane's weights (of a GRU in torch's convention)."""
    make = nn.GRU if isinstance(cell, GRU) else nn.LSTM
    module = make(cell.input.shape[1], cell.hidden_size, batch_first=True)
    pairs = {
        "weight_ih_l0": cell.input[lane].T,
        "weight_hh_l0": cell.hidden[lane].T,
        "bias_ih_l0": cell.input_bias[lane],
        "bias_hh_l0": cell.hidden_bias[lane],
    }
    with torch.no_grad():
        for name, value in pairs.items():
            getattr(module, name).copy_(value)
    return module


def load(cell: Cell, lane: int, module: nn.GRU | nn.LSTM) -> None:
    """Give one lane the weights of PyTorch's own module (one layer, one direction)."""
    held = dict(module.named_parameters())
    with torch.no_grad():
        cell.input[lane].copy_(held["weight_ih_l0"].T)
        cell.hidden[lane].copy_(held["weight_hh_l0"].T)
        cell.input_bias[lane].copy_(held["bias_ih_l0"])
        cell.hidden_bias[lane].copy_(held["bias_hh_l0"])
