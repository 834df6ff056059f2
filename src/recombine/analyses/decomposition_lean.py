"""The usual decomposition of an LSTM layer, in as few passes over memory as we know how.

With F split bias first and the usual interactions, L = F_r + F_b = ½ [F(r+b) + F(b) + F − F(p−r)]
for a gate F of pre-activation p, and the cell's relevant part comes down to

    c_r′ = L_i L_g + L_f c_r − F(b_i) F(b_g) outside the phrase,

because (i_r + i_b)(g_r + g_b) holds the bias × bias that belongs to the phrase only inside it.

PyTorch's sigmoid takes a quarter of the time of its tanh, and tanh x = 2 σ(2x) − 1. So the rows of
g are doubled once and for all (′), and one sigmoid serves i, f and g. Whatever does not depend on
the phrase is made once a word of a sequence:

    L = d s + K,  where  d = σ(a) − σ(T − a),  a = (r + b)′,  T = (p + b)′,  s = ½ (g: 1),
                         K = ½ (F(b) + F)
    h_r = o ½ [tanh c_r + tanh c − tanh(c − c_r)] = (σ(2c_r) − σ(2c − 2c_r)) o + ½o tanh c

A step then gathers T, K, 2c, o and ½o tanh c, and works in memory that is kept from step to step:
asking the system for it anew costs as much as the work.
"""

from __future__ import annotations

import torch
from torch import Tensor

from recombine.analyses.decomposition_steps import Shared
from recombine.analyses.recurrent_network import Layer


class Lean:
    """One layer on some words of some sequences, ready to take any of its phrases a step on."""

    def __init__(self, layer: Layer, known: Shared, most: int) -> None:
        n = layer.hidden_weight.shape[1]
        own = slice(0, 3 * n)  # the output gate is left whole, so r is not needed for it
        doubled = torch.ones_like(layer.input_bias[own])
        doubled[2 * n :] = 2
        bias = (layer.input_bias + layer.hidden_bias)[own]
        at_bias = torch.cat([bias[: 2 * n].sigmoid(), bias[2 * n :].tanh()])
        self._doubled, self._scale = doubled, doubled / 2
        self._bias = bias * doubled
        self._hidden = (layer.hidden_weight[own] * doubled[:, None]).T.contiguous()
        self._input = (layer.input_weight[own] * doubled[:, None]).T.contiguous()
        self._outside = -at_bias[:n] * at_bias[2 * n :]
        assert known.read is not None
        self._read = known.read[:, own]
        self._table = bias.new_empty(len(known.before), 9 * n)
        total, half, now, gate, squashed = self._columns(self._table, n)
        torch.add(known.before[:, own], bias, out=total).mul_(doubled)
        torch.add(known.gates[:, own], at_bias, out=half).mul_(0.5)
        torch.mul(known.memory[:, :n], 2, out=now)
        gate.copy_(known.gates[:, 3 * n :])
        torch.mul(gate, known.memory[:, n : 2 * n], out=squashed).mul_(0.5)
        self._n = n
        self._taken = bias.new_empty(most, 9 * n)
        self._alone, self._without = bias.new_empty(2, most, 3 * n)
        self._first, self._second = bias.new_empty(2, most, n)

    @staticmethod
    def _columns(table: Tensor, n: int) -> tuple[Tensor, ...]:
        """T, K, 2c, o and ½o tanh c of each row."""
        return torch.split(table, [3 * n, 3 * n, n, n, n], dim=1)

    def step(
        self, rows: Tensor, below: Tensor | None, inside: Tensor | None, outside: Tensor,
        h: Tensor, c: Tensor,
    ) -> None:  # fmt: skip
        """Carry the relevant parts h and c of some phrases over a word each, in place.

        `rows` are the words, `inside` says which are the phrase's own (none: not one of them is),
        `outside` where bias × bias is not relevant. Above the first layer, `below` is the relevant
        part of the layer's input.
        """
        count, n = len(rows), self._n
        taken = torch.index_select(self._table, 0, rows, out=self._taken[:count])
        total, known, now, gate, squashed = self._columns(taken, n)
        alone = torch.addmm(self._bias, h, self._hidden, out=self._alone[:count])
        if below is not None:
            alone.addmm_(below, self._input)
        elif inside is not None:
            alone.addcmul_(self._read.index_select(0, rows).mul_(self._doubled), inside)
        without = torch.sub(total, alone, out=self._without[:count]).sigmoid_()
        alone.sigmoid_().sub_(without)
        i, f, g = torch.addcmul(known, alone, self._scale, out=without).chunk(3, dim=1)
        new = torch.mul(i, g, out=self._first[:count]).addcmul_(f, c)
        c.copy_(new.addcmul_(outside, self._outside))
        rest = torch.sub(now, new, alpha=2, out=self._second[:count]).sigmoid_()
        torch.addcmul(squashed, new.mul_(2).sigmoid_().sub_(rest), gate, out=h)
