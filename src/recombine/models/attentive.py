"""`attentive`: a bidirectional LSTM reads, an LSTM with attention writes; the model of SCAN.

The encoder's last forward and first backward states start the decoder. Attention is Luong's, with
input feeding: scores are dot products of the decoder's state with projected encoder states, and the
attention vector, a mix of state and context, goes both to the output and back into the cell.

Inputs are one-hot rows, a row of zeros is padding after the end. The last class is the end of an
answer; before its first word stands a word of its own. Gates stand in the order i, f, o, g, so that
the three sigmoids are one stretch.

Two ways through it, equal within rounding: `unroll` runs all seeds at once, with sites at every
step, and is for reading and for interventions; `attentive_packed` runs one seed on a packed batch,
and is for training. Stacking seeds does not pay there: products of 256 rows fill a core, and seeds
side by side would have to be padded to a common staircase.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models.model import Model, Reads
from recombine.models.sequence import SequenceStack
from recombine.models.stack import Tap, untouched
from recombine.seeds import stream

Weights = Mapping[str, Tensor]
"""Parameters by name, the seed first."""


@dataclass(frozen=True)
class Attentive(Model):
    """Bidirectional LSTM encoder, LSTM decoder with attention."""

    name: ClassVar[str] = "attentive"
    reads: ClassVar[Reads] = "sequences"

    encoder: int = 32
    """Units a direction."""
    decoder: int = 64
    """Units; where it is not twice the encoder's, a linear map joins them."""
    embedding: int = 32
    """Of source words."""
    output_embedding: int = 8
    """Of the actions fed back."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        return (
            cls(encoder=4, decoder=8, embedding=3, output_embedding=2),
            cls(encoder=3, decoder=8, embedding=3, output_embedding=2),
        )

    def validate(self) -> None:
        for field in ("encoder", "decoder", "embedding", "output_embedding"):
            if getattr(self, field) < 1:
                raise BadValue(f"models/attentive.{field}", getattr(self, field), "at least 1")

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> StackedAttentive:
        if len(input_shape) != 2:
            legal = "a sequence of one-hot words (length, words)"
            raise BadValue("the input of models/attentive", input_shape, legal)
        drawn = [self._draw(stream(seed, "init"), input_shape[1], classes) for seed in seeds]
        names = drawn[0]
        return StackedAttentive({n: np.stack([one[n] for one in drawn]) for n in names}, outputs)

    def _draw(self, rng: np.random.Generator, words: int, classes: int) -> dict[str, np.ndarray]:
        """One seed: embeddings U(−1, 1), kernels Glorot, biases 0 and 1 for the forget gate."""
        h, d, e, o = self.encoder, self.decoder, self.embedding, self.output_embedding

        def glorot(rows: int, columns: int) -> np.ndarray:
            bound = math.sqrt(6 / (rows + columns))
            return rng.uniform(-bound, bound, (rows, columns)).astype(np.float32)

        def embedded(count: int, size: int) -> np.ndarray:
            return rng.uniform(-1, 1, (count, size)).astype(np.float32)

        kernels = [glorot(e + h, 4 * h) for _ in range(2)]
        decoder = glorot(o + 2 * d, 4 * d)
        weights = {
            "source": embedded(words, e),
            "encoder_input": np.concatenate([kernel[:e] for kernel in kernels], axis=1),
            "encoder_state": np.stack([kernel[e:] for kernel in kernels]),
            "encoder_bias": np.tile(_forget_first(h), 2),
            "memory": glorot(2 * h, d),
            "target": embedded(classes + 1, o),
            "decoder_input": decoder[:o],
            "decoder_bias": _forget_first(d),
            "decoder_state": decoder[o:],
            "mixer": glorot(d + 2 * h, d),
            "output": glorot(d, classes),
            "output_bias": np.zeros(classes, dtype=np.float32),
        }
        if 2 * h != d:
            weights |= {"bridge_state": glorot(2 * h, d), "bridge_cell": glorot(2 * h, d)}
        return weights

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return raw.softmax(-1)


def _forget_first(units: int) -> np.ndarray:
    """Biases of gates i, f, o, g that remember at first."""
    return np.repeat(np.array([0, 1, 0, 0], dtype=np.float32), units)


@dataclass(frozen=True)
class Read:
    """What the encoder hands to the decoder."""

    h: Float[Tensor, "seed n d"]
    c: Float[Tensor, "seed n d"]
    keys: Float[Tensor, "seed n word d"]
    memory: Float[Tensor, "seed n word m"]
    hidden: Float[Tensor, "seed n word"]
    """0 at words, −∞ at padding: added to scores."""


def encode(w: Weights, inputs: Float[Tensor, "seed n word kind"]) -> Read:
    """Read all sentences in both directions at once.

    The backward direction meets the padding first, and holds its state of zero there: no sentence
    has to be turned round by its own length.
    """
    seeds, n, length, _ = inputs.shape
    units = w["encoder_state"].shape[-2]
    table = torch.baddbmm(w["encoder_bias"].unsqueeze(1), w["source"], w["encoder_input"])
    seen = inputs.sum(-1)
    projected = torch.bmm(inputs.flatten(1, 2), table).view(seeds, n, length, 2, 4 * units)
    steps = torch.stack([projected[:, :, :, 0], projected[:, :, :, 1].flip(2)], dim=1)
    steps = steps.permute(3, 0, 1, 2, 4).reshape(length, 2 * seeds, n, 4 * units)
    mask = torch.stack([seen, seen.flip(2)], dim=1).permute(3, 0, 1, 2)
    mask = mask.reshape(length, 2 * seeds, n, 1) > 0
    weight = w["encoder_state"].flatten(0, 1)
    h = c = inputs.new_zeros(2 * seeds, n, units)
    states = []
    for t in range(length):
        new_h, new_c = cell(torch.baddbmm(steps[t], h, weight), c)
        h, c = torch.where(mask[t], new_h, h), torch.where(mask[t], new_c, c)
        states.append(h)
    both = torch.stack(states, dim=2).view(seeds, 2, n, length, units)
    memory = torch.cat([both[:, 0], both[:, 1].flip(2)], dim=-1)
    h, c = (s.view(seeds, 2, n, units).transpose(1, 2).flatten(2) for s in (h, c))
    if "bridge_state" in w:
        h, c = torch.bmm(h, w["bridge_state"]), torch.bmm(c, w["bridge_cell"])
    keys = torch.bmm(memory.flatten(1, 2), w["memory"]).view(seeds, n, length, -1)
    hidden = torch.zeros_like(seen).masked_fill(seen == 0, -torch.inf)
    return Read(h, c, keys, memory, hidden)


def cell(
    gates: Float[Tensor, "*lane n gates"], c: Float[Tensor, "*lane n d"]
) -> tuple[Tensor, Tensor]:
    """An LSTM's new state and cell from its gates i, f, o, g before their squashing."""
    d = c.shape[-1]
    i, f, o = gates[..., : 3 * d].sigmoid().chunk(3, dim=-1)
    c = f * c + i * gates[..., 3 * d :].tanh()
    return o * c.tanh(), c


def word_table(w: Weights) -> Float[Tensor, "seed kind gates"]:
    """What each fed-back word adds to the decoder's gates."""
    return torch.baddbmm(w["decoder_bias"].unsqueeze(1), w["target"], w["decoder_input"])


class StackedAttentive(SequenceStack):
    """Many seeds; sites `decoder.t.state`, `.attention`, `.context`, `.logits` for every step t."""

    def __init__(self, weights: Mapping[str, np.ndarray], outputs: int) -> None:
        super().__init__()
        for name, value in weights.items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(value)))
        self.outputs = outputs

    @property
    def lanes(self) -> int:
        return len(self.get_parameter("source"))

    @property
    def weights(self) -> Weights:
        """Parameters by name, all seeds."""
        return dict(self.named_parameters())

    def lane(self, lane: int) -> dict[str, Tensor]:
        """The parameters of one seed as leaves of their own, the seed's dimension kept."""
        return {
            name: value.detach()[lane : lane + 1].requires_grad_()
            for name, value in self.named_parameters()
        }

    @property
    def sites(self) -> tuple[str, ...]:
        places = ("state", "attention", "context", "logits")
        return tuple(f"decoder.{t}.{place}" for t in range(self.outputs) for place in places)

    def unroll(
        self,
        inputs: Float[Tensor, "seeds_or_1 batch time word"],
        tap: Tap = untouched,
        *,
        targets: Int[Tensor, "seeds_or_1 batch output"] | None = None,
        steps: int | None = None,
    ) -> Float[Tensor, "seed batch step class"]:
        w = self.weights
        read = encode(w, inputs.expand(self.lanes, *inputs.shape[1:]))
        table, classes = word_table(w), w["output"].shape[-1]
        h, c, vector = read.h, read.c, torch.zeros_like(read.h)
        word = torch.full(h.shape[:2], classes, device=h.device)
        logits = []
        for t in range(self.outputs if steps is None else steps):
            h, c, vector = _step(w, read, table, word, h, c, vector, tap, f"decoder.{t}")
            raw = torch.baddbmm(w["output_bias"].unsqueeze(1), vector, w["output"])
            logits.append(tap(f"decoder.{t}.logits", raw))
            if targets is None:
                word = logits[-1].argmax(-1)
            else:
                word = targets[:, :, t].expand(h.shape[:2]).clamp(min=0)
        return torch.stack(logits, dim=2)


def _step(
    w: Weights,
    read: Read,
    table: Float[Tensor, "seed kind gates"],
    word: Int[Tensor, "seed n"],
    h: Float[Tensor, "seed n d"],
    c: Float[Tensor, "seed n d"],
    vector: Float[Tensor, "seed n d"],
    tap: Tap,
    site: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of the decoder: state, cell and attention vector."""
    onehot = F.one_hot(word, table.shape[1]).to(table.dtype)
    fed = torch.cat([onehot, h, vector], dim=-1)
    h, c = cell(torch.bmm(fed, torch.cat([table, w["decoder_state"]], dim=1)), c)
    h = tap(f"{site}.state", h)
    scores = (read.keys * h.unsqueeze(2)).sum(-1) + read.hidden
    attention = tap(f"{site}.attention", scores.softmax(-1))
    context = tap(f"{site}.context", (attention.unsqueeze(-1) * read.memory).sum(2))
    return h, c, torch.bmm(torch.cat([h, context], dim=-1), w["mixer"])
