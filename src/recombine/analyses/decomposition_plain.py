"""Contextual decomposition by its definition: one phrase, one sequence, plain loops, all parts.

This is the text-book form. Every vector is carried as a relevant part r (due to the phrase) and
the rest q, each propagated by itself; pre-activations have the bias b as a third part. Nothing is
ever got by subtracting from the whole, so that r + q = the network's own state is a real check of
the bookkeeping. `decomposition.py` computes the same for many phrases at once.

A product of two decomposed factors has up to nine terms. A term is relevant if the variant lists
its kind of interaction (by default: a relevant part with a relevant part or with a bias); bias ×
bias is relevant inside the phrase; all else is the rest. Nothing is relevant before the phrase
begins, and nothing ever if it is empty, whatever a variant says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from recombine.analyses.decomposition_variant import Variant
from recombine.analyses.recurrent_network import Layer, Network

Function = Callable[[Tensor], Tensor]


class Parts(NamedTuple):
    """A vector as the phrase's part, the rest, and the part of the biases alone."""

    r: Tensor
    q: Tensor
    b: Tensor


def decompose_plainly(
    network: Network,
    rows: Float[Tensor, "time in"],
    first: int,
    last: int,
    variant: Variant | None = None,
) -> tuple[Float[Tensor, "time hidden"], Float[Tensor, "time hidden"]]:
    """The relevant part and the rest of the last layer's state after every word."""
    variant = variant or Variant()
    step = _lstm_step if network.cell == "lstm" else _gru_step
    zero = rows.new_zeros(network.hidden)
    states = [(zero, zero, zero, zero) for _ in network.layers]
    relevant, rest = [], []
    for t, row in enumerate(rows):
        nothing = torch.zeros_like(row)
        r, q = (row, nothing) if first <= t < last else (nothing, row)
        until = {"inside": last, "but-last": last - 1, "never": first}[variant.bias_product]
        begun = variant if first <= t and first < last else replace(variant, interactions=())
        for i, layer in enumerate(network.layers):
            states[i] = step(layer, r, q, states[i], first <= t < until, begun)
            r, q = states[i][:2]
        relevant.append(r)
        rest.append(q)
    return torch.stack(relevant), torch.stack(rest)


State = tuple[Tensor, Tensor, Tensor, Tensor]
"""Relevant part and rest of h, then of c (zero in a GRU)."""


def _lstm_step(
    layer: Layer, x_r: Tensor, x_q: Tensor, state: State, inside: bool, variant: Variant
) -> State:
    h_r, h_q, c_r, c_q = state
    bias = layer.input_bias + layer.hidden_bias
    r = layer.input_weight @ x_r + layer.hidden_weight @ h_r
    q = layer.input_weight @ x_q + layer.hidden_weight @ h_q
    pre = [Parts(*each) for each in zip(r.chunk(4), q.chunk(4), bias.chunk(4), strict=True)]
    i, f = (_split(torch.sigmoid, part, variant) for part in pre[:2])
    g, o = _split(torch.tanh, pre[2], variant), _split(torch.sigmoid, pre[3], variant)
    none = torch.zeros_like(c_r)
    kept = _product(f, Parts(c_r, c_q, none), variant, inside)
    new = _product(i, g, variant, inside)
    c_r, c_q = kept[0] + new[0], kept[1] + new[1]
    squashed = Parts(
        (torch.tanh(c_r) + torch.tanh(c_r + c_q) - torch.tanh(c_q)) / 2,
        (torch.tanh(c_q) + torch.tanh(c_r + c_q) - torch.tanh(c_r)) / 2,
        none,
    )
    if variant.output_gate == "whole":
        gate = o.r + o.q + o.b
        return gate * squashed.r, gate * squashed.q, c_r, c_q
    h_r, h_q = _product(o, squashed, variant, inside)
    return h_r, h_q, c_r, c_q


def _gru_step(
    layer: Layer, x_r: Tensor, x_q: Tensor, state: State, inside: bool, variant: Variant
) -> State:
    h_r, h_q, none, _ = state
    n = len(h_r)
    read = [(layer.input_weight @ x) for x in (x_r, x_q)]
    past = [(layer.hidden_weight @ h) for h in (h_r, h_q)]
    gates = []
    for part in (slice(0, n), slice(n, 2 * n)):
        bias = layer.input_bias[part] + layer.hidden_bias[part]
        r, q = (a[part] + b[part] for a, b in zip(read, past, strict=True))
        gates.append(_split(torch.sigmoid, Parts(r, q, bias), variant))
    reset, z = gates
    # The candidate's pre-activation holds a product of its own: reset gate × (U h + bias). Of it,
    # bias × bias stays with the bias.
    own = slice(2 * n, 3 * n)
    recalled = Parts(past[0][own], past[1][own], layer.hidden_bias[own])
    v_r, v_q = _product(reset, recalled, variant, None)
    bias = layer.input_bias[own] + reset.b * recalled.b
    pre = Parts(read[0][own] + v_r, read[1][own] + v_q, bias)
    candidate = _split(torch.tanh, pre, variant)
    kept = _product(z, Parts(h_r, h_q, none), variant, inside)
    new = _product(Parts(-z.r, -z.q, 1 - z.b), candidate, variant, inside)
    return kept[0] + new[0], kept[1] + new[1], none, none


def _split(function: Function, parts: Parts, variant: Variant) -> Parts:
    """F(r + q + b) as three parts: each one's mean gain over the orders in which they are added."""
    orders = ("brq", "bqr") if variant.order == "bias-first" else (
        "rqb", "rbq", "qrb", "qbr", "brq", "bqr",
    )  # fmt: skip
    gains = {name: torch.zeros_like(parts.r) for name in "rqb"}
    for order in orders:
        so_far = torch.zeros_like(parts.r)
        for name in order:
            more = so_far + getattr(parts, name)
            gains[name] = gains[name] + (function(more) - function(so_far)) / len(orders)
            so_far = more
    start = function(torch.zeros_like(parts.r))
    return Parts(gains["r"], gains["q"], gains["b"] + start)


def _product(a: Parts, x: Parts, variant: Variant, inside: bool | None) -> tuple[Tensor, Tensor]:
    """The relevant part and the rest of a x; without bias × bias where `inside` is none."""
    words = {"r": "rel", "q": "irrel", "b": "b"}
    relevant, rest = torch.zeros_like(a.r), torch.zeros_like(a.r)
    for left in "rqb":
        for right in "rqb":
            term = getattr(a, left) * getattr(x, right)
            names = {f"{words[left]}-{words[right]}", f"{words[right]}-{words[left]}"}
            if left == right == "b" and inside is None:
                continue
            if names & set(variant.interactions) or (left == right == "b" and inside):
                relevant = relevant + term
            else:
                rest = rest + term
    return relevant, rest
