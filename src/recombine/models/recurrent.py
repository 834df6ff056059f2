"""LSTM and GRU layers over whole sequences, for stacks.

    inputs [seed, time, batch, in]  →  states [seed, time, batch, hidden], last state

Weights lie as PyTorch has them, [seed, gates × hidden, in], in its order of gates (LSTM i, f, g, o;
GRU r, z, n) and with its two biases, so that a lane's weights are those of an nn.LSTM or nn.GRU.

An LSTM runs lane by lane through PyTorch's own kernel, which on a CPU is oneDNN's and comes within
a third of the products' own time; nothing written here was as fast (hidden 200: 22 ms a lane and
update against 29; hidden 32, eight lanes: 1.6 against 2.5). For a GRU there is no such kernel, and
autograd adds up the weights' gradients step by step. There a backward pass by hand pays (hidden 32,
eight lanes: 2.6 ms against 6.6; hidden 200: 25 against 31): its loop only makes the gradients of
each step's pre-activations, and every weight's gradient is one product over all steps and examples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from recombine.models.products import product

CellName = Literal["lstm", "gru"]
GATES: dict[str, int] = {"lstm": 4, "gru": 3}
CACHE = 2**20
"""Bytes of recurrent weights in one group of lanes: they stay in the processor's cache."""

Weights = tuple[Tensor, Tensor, Tensor, Tensor]
"""Of a layer: input weight, hidden weight [seed, gates × hidden, ·], input bias, hidden bias."""
State = tuple[Tensor, ...]
"""What a layer carries on: (h, c) of an LSTM, (h,) of a GRU; each [seed, batch, hidden]."""


def run_layer(
    cell: CellName, inputs: Float[Tensor, "seed time batch in"], weights: Weights, state: State
) -> tuple[Float[Tensor, "seed time batch hidden"], State]:
    """The hidden state after every step, and the state at the end."""
    if cell == "gru":
        states: Tensor = GRULayer.apply(inputs, *weights, *state)  # type: ignore[no-untyped-call]
        return states, (states[:, -1],)
    runs = [
        torch.lstm(x, [part.unsqueeze(0) for part in first], w, True, 1, 0.0, True, False, False)
        for x, w, first in zip(
            inputs, zip(*weights, strict=True), zip(*state, strict=True), strict=True
        )
    ]
    every, h, c = zip(*runs, strict=True)
    return torch.stack(every), (torch.cat(h), torch.cat(c))


def zeros(cell: CellName, batch: int, like: Weights) -> State:
    """The state before the first step."""
    lanes, _, hidden = like[1].shape
    return tuple(like[1].new_zeros(lanes, batch, hidden) for _ in range(2 if cell == "lstm" else 1))


def _groups(hidden_weight: Tensor) -> Iterator[slice]:
    """Lanes that are taken together; how many never depends on how many there are."""
    size = max(1, CACHE // (hidden_weight[0].numel() * hidden_weight.element_size()))
    for start in range(0, len(hidden_weight), size):
        yield slice(start, start + size)


def _summed(values: Tensor) -> Tensor:
    """The sum over the rows of each lane, lane by lane: together they would round otherwise."""
    return torch.stack([lane.sum(0) for lane in values])


class GRULayer(torch.autograd.Function):
    """r, z = σ(…), n = tanh(Wx + r (Uh + b));  h′ = (1 − z) n + z h, as torch has it."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        input_weight: Tensor,
        hidden_weight: Tensor,
        input_bias: Tensor,
        hidden_bias: Tensor,
        h: Tensor,
    ) -> Tensor:
        n = hidden_weight.shape[-1]
        time, batch = inputs.shape[1:3]
        # The input's share of all pre-activations at once; in place they become gates.
        flat = product(inputs.flatten(1, 2), input_weight.transpose(1, 2))
        gates = flat.add_(input_bias.unsqueeze(1)).reshape(len(inputs), time, batch, -1)
        states, recurrent = gates.new_empty(2, *gates.shape[:-1], n)
        for lanes in _groups(hidden_weight):
            weight, bias = hidden_weight[lanes].transpose(1, 2), hidden_bias[lanes].unsqueeze(1)
            before = h[lanes]
            for t in range(gates.shape[1]):
                gate = gates[lanes, t]
                past = product(before, weight).add_(bias)
                gate[..., : 2 * n].add_(past[..., : 2 * n]).sigmoid_()
                r, z, candidate = gate.chunk(3, dim=-1)
                recurrent[lanes, t] = past[..., 2 * n :]
                candidate.addcmul_(r, past[..., 2 * n :]).tanh_()
                before = torch.mul(z, before - candidate, out=states[lanes, t]).add_(candidate)
        ctx.save_for_backward(inputs, input_weight, hidden_weight, h, gates, recurrent, states)
        return torch.as_tensor(states)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_states: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weight, hidden_weight, h, gates, recurrent, states = ctx.saved_tensors
        n = hidden_weight.shape[-1]
        r, z, candidate = gates.chunk(3, dim=-1)
        before = torch.cat([h.unsqueeze(1), states[:, :-1]], dim=1)
        # d pre-activation / d h′ of the candidate and of z, d … / d candidate of r.
        to_candidate = (1 - z) * (1 - candidate * candidate)
        to_update = (before - candidate) * z * (1 - z)
        to_reset = recurrent * r * (1 - r)
        d_input, d_hidden = torch.empty_like(gates), torch.empty_like(gates)
        d_h, d_first = d_states.clone(), torch.empty_like(h)
        for lanes in _groups(hidden_weight):
            back = hidden_weight[lanes]
            for t in reversed(range(gates.shape[1])):
                d_state, d_past = d_h[lanes, t], d_hidden[lanes, t]
                d_candidate = d_state * to_candidate[lanes, t]
                torch.mul(d_candidate, to_reset[lanes, t], out=d_past[..., :n])
                torch.mul(d_state, to_update[lanes, t], out=d_past[..., n : 2 * n])
                torch.mul(d_candidate, r[lanes, t], out=d_past[..., 2 * n :])
                d_input[lanes, t, :, 2 * n :] = d_candidate
                earlier = product(d_past, back).addcmul_(d_state, z[lanes, t])
                if t:
                    d_h[lanes, t - 1].add_(earlier)
                else:
                    d_first[lanes] = earlier
        d_input[..., : 2 * n] = d_hidden[..., : 2 * n]
        flat_input, flat_hidden = d_input.flatten(1, 2), d_hidden.flatten(1, 2)
        return (
            product(flat_input, input_weight).reshape(inputs.shape),
            product(flat_input.transpose(1, 2), inputs.flatten(1, 2)),
            product(flat_hidden.transpose(1, 2), before.flatten(1, 2)),
            _summed(flat_input),
            _summed(flat_hidden),
            d_first,
        )
