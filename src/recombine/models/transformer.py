"""Transformer: encoder and decoder with attention in many heads, written out for a stack.

Inputs are one-hot rows [seed, batch, time, word]; rows of zeros after the end are padding, which no
head looks at. Layers are normalised before they are used (x + f(norm(x))), which trains without a
warm-up. Positions are *absolute* (sines and cosines added to the embeddings) or *relative*: a
learned vector for each distance up to `reach` enters the score of a query q at i and a key k at j,

    s_ij = q_i · (k_j + r_clip(j − i)) / √d,

so that a rule learned at one place can be used at another (Shaw et al. 2018).

The decoder is one function of *new* words beside what it keeps of earlier ones (keys and values of
each layer): with the right words all of them are new at once, decoding freely takes one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models.initial import Initial
from recombine.models.model import Model, Reads
from recombine.models.products import product
from recombine.models.sequence import SequenceStack
from recombine.models.stack import Tap, untouched

Positions = Literal["absolute", "relative"]
Kept = list[tuple[Tensor, Tensor]]
"""Keys and values of the words so far, by layer."""


@dataclass(frozen=True)
class Transformer(Model):
    """Encoder and decoder of equally many layers."""

    name: ClassVar[str] = "transformer"
    reads: ClassVar[Reads] = "sequences"

    width: int = 64
    """Size of every state."""
    heads: int = 4
    layers: int = 2
    """Of the encoder, and of the decoder."""
    inner: int = 128
    """Units of the dense layer inside each layer."""
    positions: Positions = "absolute"
    reach: int = 16
    """Distances beyond this look alike to relative positions."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        small = cls(width=8, heads=2, layers=1, inner=6)
        return small, replace(small, layers=2, positions="relative", reach=2)

    def validate(self) -> None:
        for field in ("width", "heads", "layers", "inner", "reach"):
            if getattr(self, field) < 1:
                raise BadValue(f"models/transformer.{field}", getattr(self, field), "at least 1")
        if self.width % (2 * self.heads):
            legal = f"a multiple of {2 * self.heads}, twice the number of heads"
            raise BadValue("models/transformer.width", self.width, legal)

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> SequenceStack:
        if len(input_shape) != 2:
            raise BadValue("models/transformer", input_shape, "inputs of shape (length, words)")
        return StackedTransformer(self, seeds, input_shape, outputs, classes)

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return raw.softmax(-1)


class Linear(nn.Module):
    """A dense layer of every seed."""

    def __init__(self, initial: Initial, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = initial.weight(inputs, outputs)
        self.bias = initial.bias(outputs, width=inputs)

    def forward(
        self, x: Float[Tensor, "seed batch time in"]
    ) -> Float[Tensor, "seed batch time out"]:
        y = product(x.flatten(1, 2), self.weight) + self.bias.unsqueeze(1)
        return y.reshape(*x.shape[:3], -1)


class Norm(nn.Module):
    """Layer normalisation with a scale and a shift of its own for every seed."""

    def __init__(self, lanes: int, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(lanes, width))
        self.shift = nn.Parameter(torch.zeros(lanes, width))

    def forward(self, x: Float[Tensor, "seed batch time w"]) -> Float[Tensor, "seed batch time w"]:
        y = F.layer_norm(x, x.shape[-1:])
        return y * self.scale[:, None, None] + self.shift[:, None, None]


class Heads(nn.Module):
    """Attention in many heads; to itself with relative positions, if so asked."""

    def __init__(self, initial: Initial, blueprint: Transformer, *, relative: bool) -> None:
        super().__init__()
        width, self._heads, self._reach = blueprint.width, blueprint.heads, blueprint.reach
        self.query, self.key, self.value, self.out = (
            Linear(initial, width, width) for _ in range(4)
        )
        size = width // blueprint.heads
        self.distance = initial.weight(2 * blueprint.reach + 1, size) if relative else None

    def keys(self, x: Float[Tensor, "seed batch time w"]) -> tuple[Tensor, Tensor]:
        """Keys and values [seed, batch, head, time, size]."""
        return self.split(self.key(x)), self.split(self.value(x))

    def forward(
        self,
        x: Float[Tensor, "seed batch new w"],
        keys: Float[Tensor, "seed batch head time size"],
        values: Float[Tensor, "seed batch head time size"],
        hidden: Bool[Tensor, "seeds_or_1 batch_or_1 new_or_1 time"],
        *,
        first: int = 0,
    ) -> Float[Tensor, "seed batch new w"]:
        """What each new word, the first of them at position `first`, takes from the others."""
        query = self.split(self.query(x))
        scores = query @ keys.transpose(-1, -2)
        if self.distance is not None:
            scores = scores + self._by_distance(query, keys.shape[-2], first)
        scores = scores / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(hidden.unsqueeze(2), -torch.inf).softmax(-1)
        taken: Tensor = self.out((weights @ values).transpose(2, 3).flatten(3))
        return taken

    def split(self, x: Float[Tensor, "seed batch time w"]) -> Tensor:
        """[seed, batch, head, time, size]."""
        return x.reshape(*x.shape[:3], self._heads, x.shape[-1] // self._heads).transpose(2, 3)

    def _by_distance(self, query: Tensor, time: int, first: int) -> Tensor:
        """q_i · r_clip(j − i) for every head."""
        assert self.distance is not None
        new = query.shape[-2]
        at = torch.arange(time) - torch.arange(first, first + new).unsqueeze(1)
        index = (at.clamp(-self._reach, self._reach) + self._reach).to(query.device)
        by_clip = query @ self.distance[:, None, None].transpose(-1, -2)
        return by_clip.gather(-1, index.expand(*by_clip.shape[:-2], new, time))


class Layer(nn.Module):
    """Attention to itself, in the decoder also to the source, and a dense layer."""

    def __init__(self, initial: Initial, blueprint: Transformer, *, across: bool) -> None:
        super().__init__()
        width, relative, lanes = blueprint.width, blueprint.positions == "relative", initial.lanes
        self.within = Heads(initial, blueprint, relative=relative)
        self.across = Heads(initial, blueprint, relative=False) if across else None
        self.widen = Linear(initial, width, blueprint.inner)
        self.narrow = Linear(initial, blueprint.inner, width)
        self.before_within, self.before_dense = Norm(lanes, width), Norm(lanes, width)
        self.before_across = Norm(lanes, width) if across else None

    def dense(self, x: Tensor) -> Tensor:
        """The part without attention."""
        added: Tensor = self.narrow(torch.relu(self.widen(self.before_dense(x))))
        return x + added

    def face(self, x: Tensor, keys: Tensor, values: Tensor, padding: Tensor) -> Tensor:
        """Attention to the source."""
        assert self.across is not None and self.before_across is not None
        added: Tensor = self.across(self.before_across(x), keys, values, padding)
        return x + added


class StackedTransformer(SequenceStack):
    """The networks of many seeds.

    Sites: `encoder.{t}.state` [seed, batch, width], what the encoder makes of each word; then for
    each step of the decoder `decoder.{t}.state`, which the word is read from, `decoder.{t}.logits`.
    """

    def __init__(
        self,
        blueprint: Transformer,
        seeds: Sequence[int],
        input_shape: tuple[int, ...],
        outputs: int,
        classes: int,
    ) -> None:
        super().__init__()
        initial, lanes, width = Initial(seeds, "glorot", 1.0), len(seeds), blueprint.width
        self._absolute = blueprint.positions == "absolute"
        self._length, self._outputs = input_shape[0], outputs
        self.source = initial.weight(input_shape[1], width)
        self.target = initial.weight(classes + 1, width)
        """A row a word, and one for the start."""
        layers = range(blueprint.layers)
        self._encoder = [Layer(initial, blueprint, across=False) for _ in layers]
        self._decoder = [Layer(initial, blueprint, across=True) for _ in layers]
        # the same layers, where PyTorch looks for parameters
        self.encoder, self.decoder = nn.ModuleList(self._encoder), nn.ModuleList(self._decoder)
        self.encoded, self.decoded = Norm(lanes, width), Norm(lanes, width)
        self.readout = Linear(initial, width, classes)

    @property
    def lanes(self) -> int:
        return len(self.source)

    @property
    def sites(self) -> tuple[str, ...]:
        steps = [
            f"decoder.{t}.{what}" for t in range(self._outputs) for what in ("state", "logits")
        ]
        return (*(f"encoder.{t}.state" for t in range(self._length)), *steps)

    def unroll(
        self,
        inputs: Float[Tensor, "seeds_or_1 batch time word"],
        tap: Tap = untouched,
        *,
        targets: Int[Tensor, "seeds_or_1 batch output"] | None = None,
        steps: int | None = None,
    ) -> Float[Tensor, "seed batch step class"]:
        steps = self._outputs if steps is None else steps
        padding = ~inputs.any(-1)
        padding[..., 0] = False  # an empty sentence has to look somewhere
        source = self._encode(inputs, padding.unsqueeze(2), tap)
        facing = [layer.across.keys(source) for layer in self._decoder if layer.across is not None]
        kept: Kept = [self._nothing(source) for _ in self._decoder]
        batch = inputs.shape[1]
        start = torch.full((self.lanes, batch, 1), len(self.target[0]) - 1, device=inputs.device)
        if targets is not None:
            before = targets[..., : steps - 1].clamp(min=0).expand(self.lanes, batch, -1)
            words = torch.cat([start, before], dim=-1)
            return self._step(words, 0, facing, padding.unsqueeze(2), kept, tap)
        word, logits = start, []
        for step in range(steps):
            raw = self._step(word, step, facing, padding.unsqueeze(2), kept, tap)
            logits.append(raw)
            word = raw.argmax(-1)
        return torch.cat(logits, dim=2)

    def _encode(self, inputs: Tensor, hidden: Tensor, tap: Tap) -> Tensor:
        flat = inputs.expand(self.lanes, *inputs.shape[1:]).flatten(1, 2)
        x = self._place(
            product(flat, self.source).reshape(*flat.shape[:1], *inputs.shape[1:3], -1), 0
        )
        for layer in self._encoder:
            seen = layer.before_within(x)
            x = layer.dense(x + layer.within(seen, *layer.within.keys(seen), hidden))
        encoded: Tensor = self.encoded(x)
        states = [tap(f"encoder.{t}.state", encoded[:, :, t]) for t in range(encoded.shape[2])]
        return torch.stack(states, dim=2)

    def _step(
        self, words: Tensor, first: int, facing: Kept, padding: Tensor, kept: Kept, tap: Tap
    ) -> Tensor:
        """The scores after new words, the first at step `first`; what they leave is kept."""
        new = words.shape[-1]
        at = words.unsqueeze(-1).expand(*words.shape, self.target.shape[-1])
        rows = self.target.unsqueeze(1).expand(-1, words.shape[1], -1, -1).gather(2, at)
        x = self._place(rows, first)
        later = torch.arange(first + new) > torch.arange(first, first + new).unsqueeze(1)
        later = later.to(x.device)[None, None]
        for i, layer in enumerate(self._decoder):
            seen = layer.before_within(x)
            fresh = layer.within.keys(seen)
            kept[i] = (
                torch.cat([kept[i][0], fresh[0]], dim=-2),
                torch.cat([kept[i][1], fresh[1]], dim=-2),
            )
            x = x + layer.within(seen, *kept[i], later, first=first)
            x = layer.dense(layer.face(x, *facing[i], padding))
        x = self.decoded(x)
        states = [tap(f"decoder.{first + t}.state", x[:, :, t]) for t in range(new)]
        raw = self.readout(torch.stack(states, dim=2))
        each = [tap(f"decoder.{first + t}.logits", raw[:, :, t]) for t in range(new)]
        return torch.stack(each, dim=2)

    def _place(self, x: Tensor, first: int) -> Tensor:
        """States with their positions added, if these are absolute."""
        if not self._absolute:
            return x
        time, width = x.shape[2:]
        at = torch.arange(first, first + time, dtype=torch.float64).unsqueeze(1)
        rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
        waves = torch.stack([torch.sin(at * rates), torch.cos(at * rates)], dim=-1).flatten(1)
        return x * math.sqrt(width) + waves.to(x)

    def _nothing(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values of no words."""
        empty = self._decoder[0].within.split(like[:, :, :0])
        return empty, empty
