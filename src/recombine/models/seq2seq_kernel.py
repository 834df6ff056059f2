"""The usual `seq2seq` from words to scores, forward and backward written out, as one autograd node.

A pass over one sentence is some six hundred small operations, and autograd's book-keeping for them
takes longer than the arithmetic of a network of 512 units. Written out, a weight's gradient is one
product over all steps (as in `shared`), and the way back is the way there in reverse:

    s_t = cell(x_t, s_{t−1})  over the source;  values v_j = h_j,  keys k_j = v_j W_e + b
    decoder step:  u_j = ReLU(k_j + h W_q),  α = softmax_j(u_j · w + b'),  c = Σ_j α_j v_j
                   x = c ⊙ ReLU([c; e] W_f + b_f)  (`focus`)   or   x = [c; e]  (`concatenate`)
                   s' = cell(x, s),  logits = h' W_o + b_o

where e embeds the word before: the network's own best, or the right one. It serves one reader,
perceptron attention before the cell, and a decoder of the reader's size; whoever looks at a gate,
or wants another layout, gets the modules themselves, which compute the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from recombine.models.attention import Perceptron
from recombine.models.cells import GRU, Cell, State
from recombine.models.decoder import Decoder
from recombine.models.encoder import Encoder
from recombine.models.gate_steps import Saved, gru_back, gru_step, lstm_back, lstm_step
from recombine.models.products import product
from recombine.models.shared import weight_gradient


def serves(encoder: Encoder, decoder: Decoder) -> bool:
    """Whether such a network can be run this way."""
    layout = decoder.layout
    plain = isinstance(decoder.attention, Perceptron) and layout.before
    return plain and len(encoder.cells) == 1 and not layout.ends and not decoder.bridges


def unroll(
    encoder: Encoder,
    decoder: Decoder,
    inputs: Float[Tensor, "seed batch time word"],
    targets: Int[Tensor, "seeds_or_1 batch output"] | None,
    steps: int,
) -> tuple[Float[Tensor, "seed batch step class"], Float[Tensor, "seed batch step time"]]:
    """The scores of so many steps, and where each looked."""
    reader, attention = encoder.cells[0], decoder.attention
    assert isinstance(reader, Cell)
    assert isinstance(attention, Perceptron)
    focus = (decoder.focus.weight, decoder.focus.bias) if decoder.layout.focus else ()
    parameters = (
        encoder.embedding, *_weights(reader),
        attention.encoder, attention.bias, attention.decoder, attention.score,
        attention.score_bias,
        decoder.embedding, *_weights(decoder.cell), decoder.output, decoder.output_bias, *focus,
    )  # fmt: skip
    keeps = reader.convention == "torch" if isinstance(reader, GRU) else None
    plan = _Plan(keeps, steps, targets, torch.is_grad_enabled())
    found = Unroll.apply(plan, inputs, *parameters)  # type: ignore[no-untyped-call]
    logits, looks = found
    return logits, looks


def _weights(cell: Cell) -> tuple[Tensor, ...]:
    return cell.input, cell.input_bias, cell.hidden, cell.hidden_bias


@dataclass(frozen=True)
class _Plan:
    """What is done, beside the numbers."""

    keeps: bool | None
    """The convention of a GRU; none: an LSTM."""
    steps: int
    targets: Tensor | None
    returns: bool
    """Whether there may be a way back, so that what it needs is kept."""

    def step(self, projected: Tensor, recurrent: Tensor, state: State) -> tuple[State, Saved]:
        """A cell's step."""
        if self.keeps is None:
            return lstm_step(projected + recurrent, state[1])
        new, saved = gru_step(projected, recurrent, state[0], self.keeps)
        return (new,), saved

    def back(self, by_state: State, saved: Saved) -> tuple[Tensor, Tensor, State]:
        """Its way back: of the input's share, of the state's, and of what was carried around it."""
        if self.keeps is None:
            by_h, by_c = by_state
            by_sum, by_c = lstm_back(by_h, by_c, saved)
            return by_sum, by_sum, (torch.zeros_like(by_c), by_c)
        by_input, by_recurrent, by_h = gru_back(by_state[0], saved, self.keeps)
        return by_input, by_recurrent, (by_h,)


class _Use:
    """A weight and its bias: what they were given on the way there, and on the way back."""

    def __init__(self, weight: Tensor, bias: Tensor | None, *, keep: bool) -> None:
        self.weight, self.bias, self._keep = weight, bias, keep
        self.given: list[Tensor] = []
        self.returned: list[Tensor] = []

    def __call__(self, x: Tensor) -> Tensor:
        if self._keep:
            self.given.append(x)
        y = product(x, self.weight)
        return y if self.bias is None else y.add_(self.bias.unsqueeze(1))

    def back(self, by_y: Tensor) -> Tensor:
        """The gradient of what was given last that has not been gone back to."""
        self.returned.append(by_y)
        return product(by_y, self.weight.mT)

    def gradients(self) -> tuple[Tensor | None, Tensor]:
        """Of the weight, unless it is frozen, and of the bias."""
        x, y = _rows(self.given), _rows(self.returned[::-1])
        moves = self.weight.requires_grad
        return weight_gradient(x, y, self.weight) if moves else None, y.sum(1)


def _rows(parts: Sequence[Tensor]) -> Float[Tensor, "seed row *rest"]:
    return torch.cat(list(parts), dim=1) if len(parts) > 1 else parts[0]


class Unroll(torch.autograd.Function):
    """Scores and attention of every step; gradients for the inputs and every parameter."""

    @staticmethod
    def forward(ctx: Any, plan: _Plan, inputs: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        ctx.run = _Run(plan, inputs, parameters)
        return ctx.run.there()  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_logits: Tensor, by_looks: Tensor) -> tuple[Tensor | None, ...]:
        by_inputs, gradients = ctx.run.back(by_logits, by_looks, wanted=ctx.needs_input_grad[1])
        return None, by_inputs, *gradients


class _Run:
    """One pass there, and back as often as one likes."""

    def __init__(self, plan: _Plan, inputs: Tensor, parameters: tuple[Tensor, ...]) -> None:
        self.plan, self.inputs = plan, inputs
        (
            embedding, wi, bi, wh, bh, keys, keys_bias, query, self.score, self.score_bias,
            words, di, dbi, dh, dbh, output, output_bias, *focus,
        ) = parameters  # fmt: skip
        self.uses: list[_Use] = []
        self.embed = self._use(embedding)
        self.project, self.recur = self._use(wi, bi), self._use(wh, bh)
        self.keys, self.query = self._use(keys, keys_bias), self._use(query)
        self.words = self._use(words)
        self.dec_project, self.dec_recur = self._use(di, dbi), self._use(dh, dbh)
        self.write = self._use(output, output_bias)
        self.focus = self._use(focus[0], focus[1]) if focus else None
        self.present: Bool[Tensor, "seed batch time"] = inputs.sum(-1) > 0
        self.whole = bool(self.present.all())
        self.read: list[Saved] = []
        """Of the reader's steps."""
        self.looked: list[tuple[Tensor, ...]] = []
        """Of the decoder's: α, u, and with a focus the context and what it is multiplied by."""
        self.wrote: list[Saved] = []
        """Of the decoder's cell."""

    def _use(self, weight: Tensor, bias: Tensor | None = None) -> _Use:
        self.uses.append(_Use(weight, bias, keep=self.plan.returns))
        return self.uses[-1]

    def _note(self, notes: list[Saved], saved: Saved) -> None:
        if self.plan.returns:
            notes.append(saved)

    def there(self) -> tuple[Tensor, Tensor]:
        """The scores and where each step looked."""
        state = self._encode()
        seeds, batch, rows = *self.inputs.shape[:2], self.words.weight.shape[1]
        word = torch.full((seeds, batch), rows - 1, device=self.inputs.device)
        logits, looks = [], []
        for t in range(self.plan.steps):
            one_hot = self.inputs.new_zeros(seeds, batch, rows).scatter_(
                -1, word.unsqueeze(-1), 1.0
            )
            x, alpha = self._look(state[0], self.words(one_hot))
            state, saved = self.plan.step(self.dec_project(x), self.dec_recur(state[0]), state)
            self._note(self.wrote, saved)
            logits.append(self.write(state[0]))
            looks.append(alpha)
            if self.plan.targets is None:
                word = logits[-1].argmax(-1)
            else:  # what is fed after the end does not matter, but must be a word
                word = self.plan.targets[:, :, t].clamp(min=0).expand(seeds, batch)
        return torch.stack(logits, dim=2), torch.stack(looks, dim=2)

    def _encode(self) -> State:
        seeds, batch, time = self.inputs.shape[:3]
        embedded = self.embed(self.inputs.flatten(1, 2))
        projected = self.project(embedded).view(seeds, batch, time, -1)
        parts = 2 if self.plan.keeps is None else 1
        state: State = (projected.new_zeros(seeds, batch, self.recur.weight.shape[1]),) * parts
        states = []
        for t in range(time):
            bias = self.recur.bias
            assert bias is not None
            # Before the first word there is no state to be multiplied.
            recurrent = self.recur(state[0]) if t else bias.unsqueeze(1).expand(-1, batch, -1)
            new, saved = self.plan.step(projected[:, :, t], recurrent, state)
            self._note(self.read, saved)
            state = new if self.whole else self._held(t, new, state)
            states.append(state[0])
        self.values = torch.stack(states, dim=2)
        if not self.whole:
            self.values = self.values.masked_fill(~self.present.unsqueeze(-1), 0.0)
        self.positions = self.keys(self.values.flatten(1, 2)).view(seeds, batch, time, -1)
        return state

    def _held(self, t: int, new: State, before: State) -> State:
        """The state is held where there is only padding."""
        here = self.present[:, :, t].unsqueeze(-1)
        return tuple(torch.where(here, a, b) for a, b in zip(new, before, strict=True))

    def _look(self, h: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        """What the decoder's cell reads, and where it looked for it."""
        units = torch.relu(self.positions + self.query(h).unsqueeze(2))
        scores = (units * self.score[:, None, None]).sum(-1) + self.score_bias.unsqueeze(1)
        if not self.whole:
            scores = scores.masked_fill(~self.present, -torch.inf)
        alpha = scores.softmax(-1)
        context = (alpha.unsqueeze(-1) * self.values).sum(2)
        both = torch.cat([context, word], dim=-1)
        if self.focus is None:
            self._note(self.looked, (alpha, units))
            return both, alpha
        gate = torch.relu(self.focus(both))
        self._note(self.looked, (alpha, units, context, gate))
        return context * gate, alpha

    def back(
        self, by_logits: Tensor, by_looks: Tensor, *, wanted: bool
    ) -> tuple[Tensor | None, list[Tensor | None]]:
        """The gradients of the inputs, if wanted, and of every parameter."""
        for use in self.uses:
            use.returned.clear()
        by_values, by_positions = torch.zeros_like(self.values), torch.zeros_like(self.positions)
        by_score, by_score_bias = torch.zeros_like(self.score), torch.zeros_like(self.score_bias)
        by_state: State = tuple(torch.zeros_like(part) for part in self._state())
        for t in reversed(range(self.plan.steps)):
            by_state = _added(by_state, self.write.back(by_logits[:, :, t]))
            by_input, by_recurrent, by_state = self.plan.back(by_state, self.wrote[t])
            by_state = _added(by_state, self.dec_recur.back(by_recurrent))
            by_context = self._look_back(t, self.dec_project.back(by_input))
            alpha, units = self.looked[t][:2]
            by_alpha = (by_context.unsqueeze(2) * self.values).sum(-1) + by_looks[:, :, t]
            by_values += alpha.unsqueeze(-1) * by_context.unsqueeze(2)
            by_scores = alpha * (by_alpha - (alpha * by_alpha).sum(-1, keepdim=True))
            by_score_bias += by_scores.sum((1, 2)).unsqueeze(1)
            by_score += (by_scores.unsqueeze(-1) * units).sum((1, 2))
            by_units = (by_scores.unsqueeze(-1) * self.score[:, None, None]).mul_(units > 0)
            by_positions += by_units
            by_state = _added(by_state, self.query.back(by_units.sum(2)))
        by_values += self.keys.back(by_positions.flatten(1, 2)).view_as(by_values)
        by_embedded, by_first = self._encode_back(by_state, by_values)
        by_inputs = self.embed.back(by_embedded)
        gradients = self._gradients(by_first, by_score, by_score_bias)
        return by_inputs.view_as(self.inputs) if wanted else None, gradients

    def _state(self) -> State:
        """Tensors like the state's parts."""
        return (self.values[:, :, 0],) * (2 if self.plan.keeps is None else 1)

    def _look_back(self, t: int, by_x: Tensor) -> Tensor:
        """The gradient of the context; that of the word goes to its embedding."""
        size = self.values.shape[-1]
        if self.focus is None:
            by_context, by_word = by_x[..., :size], by_x[..., size:]
        else:
            context, gate = self.looked[t][2:]
            by_both = self.focus.back((by_x * context).mul_(gate > 0))
            by_context, by_word = by_both[..., :size] + by_x * gate, by_both[..., size:]
        self.words.returned.append(by_word)
        return by_context

    def _encode_back(self, by_state: State, by_values: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of the embedded words, and of the first step's recurrent share."""
        if not self.whole:
            by_values = by_values.masked_fill(~self.present.unsqueeze(-1), 0.0)
        by_projected: list[Tensor] = []
        by_recurrent = by_state[0]  # of the step before, once there is one
        for t in reversed(range(len(self.read))):
            by_state = _added(by_state, by_values[:, :, t])
            held: State | None = None
            if not self.whole:
                here = self.present[:, :, t].unsqueeze(-1)
                held = tuple(part.masked_fill(here, 0.0) for part in by_state)
                by_state = tuple(part.masked_fill(~here, 0.0) for part in by_state)
            by_input, by_recurrent, by_state = self.plan.back(by_state, self.read[t])
            by_projected.append(by_input)
            if t:
                by_state = _added(by_state, self.recur.back(by_recurrent))
            if held is not None:
                by_state = tuple(a + b for a, b in zip(by_state, held, strict=True))
        every = torch.stack(by_projected[::-1], dim=2).flatten(1, 2)
        return self.project.back(every), by_recurrent

    def _gradients(
        self, by_first: Tensor, by_score: Tensor, by_score_bias: Tensor
    ) -> list[Tensor | None]:
        """Of every parameter, in the order in which they were given."""
        by_hidden: Tensor | None = torch.zeros_like(self.recur.weight)
        by_hidden_bias = by_first.sum(1)
        if self.recur.returned:  # none in sources of a single word
            by_hidden, rest = self.recur.gradients()
            by_hidden_bias = by_hidden_bias + rest
        focus = self.focus.gradients() if self.focus else ()
        return [
            self.embed.gradients()[0], *self.project.gradients(), by_hidden, by_hidden_bias,
            *self.keys.gradients(), self.query.gradients()[0], by_score, by_score_bias,
            self.words.gradients()[0], *self.dec_project.gradients(),
            *self.dec_recur.gradients(), *self.write.gradients(), *focus,
        ]  # fmt: skip


def _added(state: State, by_h: Tensor) -> State:
    """The same gradients with more for the output."""
    return (state[0] + by_h, *state[1:])
