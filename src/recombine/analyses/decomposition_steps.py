"""One step of contextual decomposition for many phrases at once, LSTM and GRU.

Only the relevant parts are carried; the rest is the network's own value minus them. What the
network itself does is the same for all phrases of a sequence and is computed once (`Shared`).
These steps serve every variant; an LSTM in the usual one has steps of its own (`Lean`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from recombine.analyses.decomposition_variant import Variant
from recombine.analyses.recurrent_network import Layer

Function = Callable[[Tensor], Tensor]
Known = tuple[Tensor, Tensor, Tensor]
"""A decomposed value: relevant part, part of the biases, the whole."""


@dataclass(frozen=True)
class Shared:
    """What one layer does on some steps of some sequences, a row each: [row, …]."""

    read: Tensor | None
    """The input's share of the pre-activations; none where it is not needed."""
    before: Tensor
    """Pre-activations with their biases. LSTM: i, f, g, o. GRU: r, z, n, then U_n h + its bias."""
    gates: Tensor
    """The gates themselves."""
    memory: Tensor
    """LSTM: c after the step, its tanh, c before the step. GRU: h before."""
    state: Tensor
    """h after the step."""

    def take(self, rows: Tensor, *, inside: bool) -> Shared:
        """Some rows; the input's share only if it is needed."""
        read = self.read.index_select(0, rows) if inside and self.read is not None else None
        before, gates, memory = (
            value.index_select(0, rows) for value in (self.before, self.gates, self.memory)
        )
        return Shared(read, before, gates, memory, self.state)


def lstm_pass(
    layer: Layer, rows: Tensor, state: tuple[Tensor, Tensor]
) -> tuple[Shared, tuple[Tensor, Tensor]]:
    """An LSTM layer over [sequence, time, in], everything kept; and the state after it."""
    read = rows @ layer.input_weight.T
    before = read + (layer.input_bias + layer.hidden_bias)
    gates = torch.empty_like(before)
    n = layer.hidden_weight.shape[1]
    memory = before.new_empty(*before.shape[:2], 3 * n)
    states = before.new_empty(*before.shape[:2], n)
    h, c = state
    memory[:, 0, 2 * n :] = c
    for t in range(before.shape[1]):
        gate = torch.sigmoid(before[:, t].addmm_(h, layer.hidden_weight.T), out=gates[:, t])
        i, f, g, o = gate.chunk(4, dim=-1)
        torch.tanh(before[:, t, 2 * n : 3 * n], out=g)
        c = torch.mul(f, c, out=memory[:, t, :n]).addcmul_(i, g)
        squashed = torch.tanh(c, out=memory[:, t, n : 2 * n])
        h = torch.mul(o, squashed, out=states[:, t])
    memory[:, 1:, 2 * n :] = memory[:, :-1, :n]
    return _flat(read, before, gates, memory, states), (h, c)


def gru_pass(
    layer: Layer, rows: Tensor, state: tuple[Tensor, Tensor]
) -> tuple[Shared, tuple[Tensor, Tensor]]:
    """A GRU layer over [sequence, time, in], everything kept; and the state after it."""
    read = rows @ layer.input_weight.T
    n = layer.hidden_weight.shape[1]
    before, gates = read.new_empty(*read.shape[:2], 4 * n), torch.empty_like(read)
    memory, states = read.new_empty(2, *read.shape[:2], n)
    h = state[0]
    for t in range(read.shape[1]):
        past = torch.addmm(layer.hidden_bias, h, layer.hidden_weight.T)
        now = read[:, t] + layer.input_bias
        sums = now[:, : 2 * n] + past[:, : 2 * n]
        r, z = sums.sigmoid().chunk(2, dim=-1)
        candidate = now[:, 2 * n :] + r * past[:, 2 * n :]
        before[:, t] = torch.cat([sums, candidate, past[:, 2 * n :]], dim=-1)
        new = candidate.tanh()
        gates[:, t] = torch.cat([r, z, new], dim=-1)
        memory[:, t] = h
        h = new + z * (h - new)
        states[:, t] = h
    return _flat(read, before, gates, memory, states), (h, state[1])


def _flat(read: Tensor, before: Tensor, gates: Tensor, memory: Tensor, states: Tensor) -> Shared:
    rest = before.flatten(0, 1), gates.flatten(0, 1), memory.flatten(0, 1), states.flatten(0, 1)
    return Shared(read.flatten(0, 1), *rest)


def lstm_step(
    layer: Layer, known: Shared, r: Tensor, memory: Tensor, inside: Tensor, variant: Variant
) -> tuple[Tensor, Tensor]:
    """The relevant parts of h and c after a step, from that of the pre-activations and of c."""
    n = memory.shape[1]
    bias = layer.input_bias + layer.hidden_bias
    now, squashed = known.memory[:, :n], known.memory[:, n : 2 * n]
    i, f, g = (
        _split(squash, r[:, k : k + n], bias[k : k + n], known, slice(k, k + n), variant)
        for squash, k in ((torch.sigmoid, 0), (torch.sigmoid, n), (torch.tanh, 2 * n))
    )
    none = torch.zeros_like(memory)
    new = _product(i, g, variant) + inside * i[1] * g[1]
    new = new + _product(f, (memory, none, known.memory[:, 2 * n :]), variant)
    # ½ [tanh(c_r) + tanh(c) − tanh(c_q)]
    tanh_r = torch.tanh(new).sub_(torch.sub(now, new).tanh_()).add_(squashed).mul_(0.5)
    if variant.output_gate == "whole":
        return tanh_r.mul_(known.gates[:, 3 * n :]), new
    k = slice(3 * n, 4 * n)
    o = _split(torch.sigmoid, r[:, k], bias[k], known, k, variant)
    return _product(o, (tanh_r, torch.zeros_like(new), squashed), variant), new


def gru_step(
    layer: Layer, known: Shared, r: tuple[Tensor, Tensor], state: Tensor, inside: Tensor,
    variant: Variant,
) -> Tensor:  # fmt: skip
    """The relevant part of h after a step; `r` is the input's share and the past's apart."""
    n = state.shape[1]
    read, past = r
    parts = []
    for k in (slice(0, n), slice(n, 2 * n)):
        bias = layer.input_bias[k] + layer.hidden_bias[k]
        parts.append(_split(torch.sigmoid, read[:, k] + past[:, k], bias, known, k, variant))
    reset, z = parts
    own = slice(2 * n, 3 * n)
    recalled = past[:, own], layer.hidden_bias[own], known.before[:, 3 * n :]
    bias = layer.input_bias[own] + reset[1] * recalled[1]
    relevant = read[:, own] + _product(reset, recalled, variant)
    candidate = _split(torch.tanh, relevant, bias, known, own, variant)
    keep = -z[0], 1 - z[1], 1 - z[2]
    kept = _product(z, (state, torch.zeros_like(state), known.memory), variant)
    return kept + _product(keep, candidate, variant) + inside * keep[1] * candidate[1]


def _split(
    f: Function, r: Tensor, b: Tensor, known: Shared, where: slice, variant: Variant
) -> Known:
    """F(r + q + b) → the relevant part, that of the bias, the whole."""
    total, whole = known.before[:, where], known.gates[:, where]
    if variant.order == "bias-first":
        base = f(b)
        return (f(r + b) - base + whole - f(total - r)) / 2, base.expand_as(r), whole
    q, zero = total - r - b, f(torch.zeros_like(r))
    only_r, only_q, only_b = f(r), f(q), f(b)
    no_r, no_q, no_b = f(q + b), f(r + b), f(r + q)
    relevant = 2 * (only_r - zero) + (no_b - only_q) + (no_q - only_b) + 2 * (whole - no_r)
    biased = 2 * (only_b - zero) + (no_r - only_q) + (no_q - only_r) + 2 * (whole - no_b)
    return relevant / 6, biased / 6 + zero, whole


def _product(a: Known, x: Known, variant: Variant) -> Tensor:
    """The relevant part of a product, bias × bias left out."""
    (a_r, a_b, a_whole), (x_r, x_b, x_whole) = a, x
    if variant.usual:
        return a_r * (x_r + x_b) + a_b * x_r
    a_q, x_q = a_whole - a_r - a_b, x_whole - x_r - x_b
    terms = {
        "rel-rel": lambda: a_r * x_r,
        "rel-b": lambda: a_r * x_b + a_b * x_r,
        "rel-irrel": lambda: a_r * x_q + a_q * x_r,
        "irrel-b": lambda: a_q * x_b + a_b * x_q,
        "irrel-irrel": lambda: a_q * x_q,
    }
    total = torch.zeros_like(a_whole)
    for name in variant.interactions:
        total = total + terms[name]()
    return total
