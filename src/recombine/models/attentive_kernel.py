"""The decoder of `attentive` over a packed batch, forward and backward written out.

A batch of answers of unequal length is *packed*: rows are sorted by length, longest first, and step
t runs only the n_t rows that have a t-th action. Rows of all steps stand below one another in one
matrix, so what can be done for all steps at once is one product: the input half of the gates (a
table of words), the logits, and every weight gradient. SCAN's answers have 15 actions on average
and 49 at most: packing does a third of the work of padding.

One step, with the previous attention vector a fed to the cell (Luong et al. 2015, input feeding):

    gates = table[previous action] + [h, a] W        i, f, o = σ, g = tanh
    c = f c + i g,   h = o tanh(c)
    α = softmax over source words of (keys · h),   context = Σ α memory
    a = [h, context] M                               logits = a R + r, outside
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch import split_with_sizes as cut


class Decode(torch.autograd.Function):
    """Attention vectors of every packed row; gradients for all inputs but words and counts."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Float[Tensor, "kind gates"],
        weight: Float[Tensor, "fed gates"],
        keys: Float[Tensor, "n word d"],
        memory: Float[Tensor, "n word m"],
        hidden: Float[Tensor, "n word 1"],
        mixer: Float[Tensor, "mixed d"],
        h: Float[Tensor, "n d"],
        c: Float[Tensor, "n d"],
        previous: Int[Tensor, " row"],
        counts: Sequence[int],
    ) -> Float[Tensor, "row d"]:
        d, m = h.shape[1], memory.shape[2]
        rows = len(previous)
        gates = table.index_select(0, previous)
        fed, mixed = table.new_empty(rows, 2 * d), table.new_empty(rows, d + m)
        cells, squashed = table.new_empty(rows, d), table.new_empty(rows, d)
        alphas = table.new_empty(rows, keys.shape[1])
        vectors = table.new_empty(rows, d)
        fed[: counts[0], :d], fed[: counts[0], d:] = h, 0.0
        # Views of every step, made at once: cutting them step by step costs more than products.
        sigmoids, news = cut(gates[:, : 3 * d], counts), cut(gates[:, 3 * d :], counts)
        i, f, o = (cut(gate, counts) for gate in gates[:, : 3 * d].chunk(3, dim=1))
        states, contexts = cut(mixed[:, :d], counts), cut(mixed[:, d:], counts)
        fed_states, fed_vectors = cut(fed[:, :d], counts), cut(fed[:, d:], counts)
        each = [cut(x, counts) for x in (gates, fed, mixed, cells, squashed, alphas, vectors)]
        before = c
        for t, (g, x, both, cell, squash, alpha, vector) in enumerate(zip(*each, strict=True)):
            n = counts[t]
            g.addmm_(x, weight)
            sigmoids[t].sigmoid_()
            news[t].tanh_()
            torch.mul(f[t], before[:n], out=cell).addcmul_(i[t], news[t])
            torch.mul(o[t], torch.tanh(cell, out=squash), out=states[t])
            scores = torch.baddbmm(hidden[:n], keys[:n], states[t].unsqueeze(2))
            torch.softmax(scores.squeeze(2), 1, out=alpha)
            contexts[t].copy_(torch.bmm(alpha.unsqueeze(1), memory[:n]).squeeze(1))
            torch.mm(both, mixer, out=vector)
            if t + 1 < len(counts):
                fed_states[t + 1].copy_(states[t][: counts[t + 1]])
                fed_vectors[t + 1].copy_(vector[: counts[t + 1]])
            before = cell
        ctx.save_for_backward(weight, keys, memory, mixer, c, previous)
        ctx.buffers = gates, fed, mixed, cells, squashed, alphas
        ctx.counts, ctx.kinds = tuple(counts), len(table)
        return vectors

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> Any:
        """Back through time; products over all steps are left to the end."""
        weight, keys, memory, mixer, c, previous = ctx.saved_tensors
        gates, fed, mixed, cells, squashed, alphas = ctx.buffers
        counts, d = ctx.counts, c.shape[1]
        # What needs no state of the backward pass is done for all steps at once.
        sigmoids, new = gates[:, : 3 * d], gates[:, 3 * d :]
        i, f, o = sigmoids.chunk(3, dim=1)
        pairs = zip(cut(cells, counts), counts[1:], strict=False)  # the last cell is before nothing
        before = torch.cat([c, *(cell[:n] for cell, n in pairs)])
        slope = sigmoids * (1 - sigmoids)
        slope[:, :d] *= new
        slope[:, d : 2 * d] *= before
        slope[:, 2 * d :] *= squashed
        slope_new = (1 - new.square()) * i
        open_cell = o * (1 - squashed.square())
        d_vectors, d_gates = given[0].clone(), torch.empty_like(gates)
        d_mixed, d_scores = torch.empty_like(mixed), torch.empty_like(alphas)
        outs = [cut(x, counts) for x in (d_vectors, d_gates, d_mixed, d_scores, alphas)]
        dg_i, dg_f, dg_o, dg_n = (cut(x, counts) for x in d_gates.chunk(4, dim=1))
        s_i, s_f, s_o = (cut(x, counts) for x in slope.chunk(3, dim=1))
        s_n, opens, forgets = cut(slope_new, counts), cut(open_cell, counts), cut(f, counts)
        back_states, back_contexts = (cut(x, counts) for x in _halves(d_mixed, d))
        dc, d_fed = torch.zeros_like(c), c.new_zeros(0, 2 * d)
        for t in reversed(range(len(counts))):
            n, k = counts[t], len(d_fed)
            d_vector, d_gate, d_both, d_score, alpha = (x[t] for x in outs)
            d_vector[:k] += d_fed[:, d:]
            torch.mm(d_vector, mixer.T, out=d_both)
            d_alpha = torch.bmm(memory[:n], back_contexts[t].unsqueeze(2)).squeeze(2)
            torch.mul(alpha, d_alpha, out=d_score)
            d_score.addcmul_(alpha, d_score.sum(1, keepdim=True), value=-1)
            d_state = torch.bmm(d_score.unsqueeze(1), keys[:n]).squeeze(1).add_(back_states[t])
            d_state[:k] += d_fed[:, :d]
            now = dc[:n].addcmul_(d_state, opens[t])
            torch.mul(now, s_i[t], out=dg_i[t])
            torch.mul(now, s_f[t], out=dg_f[t])
            torch.mul(d_state, s_o[t], out=dg_o[t])
            torch.mul(now, s_n[t], out=dg_n[t])
            now.mul_(forgets[t])
            d_fed = torch.mm(d_gate, weight.T)
        onehot = torch.nn.functional.one_hot(previous, ctx.kinds).to(gates.dtype)
        states, d_contexts = mixed[:, :d], d_mixed[:, d:]
        return (
            onehot.T @ d_gates,
            fed.T @ d_gates,
            _outer(d_scores, states, counts),
            _outer(alphas, d_contexts, counts),
            None,
            mixed.T @ d_vectors,
            d_fed[:, :d],
            dc,
            None,
            None,
        )


def _halves(x: Float[Tensor, "row wide"], d: int) -> tuple[Tensor, Tensor]:
    """The first d columns and the others."""
    return x[:, :d], x[:, d:]


def _outer(
    left: Float[Tensor, "row word"], right: Float[Tensor, "row d"], counts: Sequence[int]
) -> Float[Tensor, "n word d"]:
    """Σ_t left_t ⊗ right_t for every example, from packed rows."""
    return torch.bmm(unpack(left, counts).transpose(1, 2), unpack(right, counts))


def unpack(packed: Tensor, counts: Sequence[int]) -> Tensor:
    """Packed rows as [example, step, …], zeros where an example has no such step."""
    padded = packed.new_zeros(counts[0], len(counts), *packed.shape[1:])
    start = 0
    for t, n in enumerate(counts):
        padded[:n, t] = packed[start : start + n]
        start += n
    return padded
