"""One step of contextual decomposition for many phrases at once, LSTM and GRU.

Only the relevant parts are carried; the rest is the network's own value minus them. What the
network itself does is the same for all phrases of a sequence and is computed once (`Shared`).

With the usual interactions and F split bias first, L = F_r + F_b = ½ [F(r+b) + F(b) + F − F(F⁻¹−r)]
where F⁻¹ is the pre-activation, and the cell's relevant part comes down to

    c_r′ = L_i L_g + L_f c_r − F(b_i) F(b_g) outside the phrase,

because (i_r + i_b)(g_r + g_b) holds the bias × bias that belongs to the phrase only inside it.
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
    """The input's share of the pre-activations; none above the first layer."""
    before: Tensor
    """Pre-activations with their biases. LSTM: i, f, g, o. GRU: r, z, n, then U_n h + its bias."""
    gates: Tensor
    """The gates themselves."""
    memory: Tensor
    """LSTM: c after the step, its tanh, c before the step. GRU: h before."""
    state: Tensor
    """h after the step."""

    def take(self, rows: Tensor, *, inside: bool, lean: int | None) -> Shared:
        """Some rows; the input's share only if it is needed.

        `lean` is the number of units where a step needs neither the output gate's pre-activation
        nor what the cell held before.
        """
        read = self.read.index_select(0, rows) if inside and self.read is not None else None
        before = self.before if lean is None else self.before[:, : 3 * lean]
        memory = self.memory if lean is None else self.memory[:, : 2 * lean]
        before, memory = before.index_select(0, rows), memory.index_select(0, rows)
        gates = self.gates.index_select(0, rows)
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
    for t in range(before.shape[1]):
        before[:, t].addmm_(h, layer.hidden_weight.T)
        i, f, g, o = before[:, t].chunk(4, dim=-1)
        gate = torch.cat([i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()], dim=-1)
        i, f, g, o = gate.chunk(4, dim=-1)
        new = f * c + i * g
        squashed = new.tanh()
        memory[:, t] = torch.cat([new, squashed, c], dim=-1)
        h, c = o * squashed, new
        gates[:, t], states[:, t] = gate, h
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
    if variant.usual and variant.order == "bias-first":
        new = _usual_cell(r, bias, known, memory, inside)
    else:
        # As `plain` has it: i and f squash with σ, g with tanh.
        parts = [
            _split(f, r[:, k : k + n], bias[k : k + n], known, slice(k, k + n), variant)
            for f, k in ((torch.sigmoid, 0), (torch.sigmoid, n), (torch.tanh, 2 * n))
        ]
        i, f, g = parts
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


def _usual_cell(r: Tensor, bias: Tensor, known: Shared, memory: Tensor, inside: Tensor) -> Tensor:
    """c_r′ = L_i L_g + L_f c_r − outside F(b_i) F(b_g); i and f with σ, g with tanh."""
    n = memory.shape[1]
    base = torch.cat([bias[: 2 * n].sigmoid(), bias[2 * n : 3 * n].tanh()])
    r = r[:, : 3 * n]
    without = torch.sub(known.before[:, : 3 * n], r)
    without[:, : 2 * n].sigmoid_()
    without[:, 2 * n :].tanh_()
    alone = torch.add(r, bias[: 3 * n])
    alone[:, : 2 * n].sigmoid_()
    alone[:, 2 * n :].tanh_()
    both = alone.sub_(without).add_(known.gates[:, : 3 * n]).add_(base).mul_(0.5)
    i, f, g = both.chunk(3, dim=-1)
    new = torch.mul(i, g).addcmul_(f, memory)
    return new.addcmul_(1 - inside, (base[:n] * base[2 * n :]).neg())


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
