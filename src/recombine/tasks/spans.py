"""The long-range rule of `spans`: after α and any k symbols comes ω.

A corpus is random text over Σ (words 0 … V−1) with n rules α Σᵏ ω written into it, α = V and
ω = V + 1. The k symbols between are the *conduit*. Conduits are fresh for every rule, or come from
a list of which each is used equally often. In the *predictable* setting every listed conduit is
also scattered `copies` times outside of rules, so that a model can come to know it as a unit; in
the *unpredictable* setting (`copies = 0`) conduits stand outside of rules only by chance.

As a factored task: what stands before the conduit (α, or any other word) and which conduit it is;
the question is whether ω comes next, and the conduit says nothing about that. Held out are
conduits. `corpus(seed)` and `test(seed, …)` give what a language model is trained and tested on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.errors import BadValue
from recombine.seeds import stream
from recombine.tasks.task import EVERYTHING, Factor, Output, Task

PATIENCE = 100
"""Rounds in which held-out conduits that were trained on are drawn again."""
MANY = 100
"""Where there are so many conduits for each that is drawn, those that are left are not counted."""
TASK_SEED = 0
"""As a factored task (not as corpora, which have a seed each) the conduits are those of seed 0."""


@dataclass(frozen=True)
class Spans(Task):
    """Corpora with n intact rules α Σᵏ ω, and blocks to test them on."""

    name: ClassVar[str] = "spans"

    vocabulary: int = 1000
    """Words of Σ, without α and ω."""
    conduit: int = 8
    """k, the symbols between α and ω."""
    rules: int = 1000
    """n, how often the rule stands in the corpus."""
    tokens: int = 1_000_000
    """Length of the corpus, exactly."""
    listed: int = 0
    """How many different conduits there are, each in equally many rules; 0: fresh ones for every
    rule."""
    copies: int = 0
    """How often each listed conduit is scattered outside of rules: 0 is the unpredictable setting,
    1,000 (or 100: the paper says both) the predictable one."""
    test_tokens: int = 50_000
    """Length of each test corpus; what does not fill a block is left out."""
    block: int = 35
    """Tokens of a test block; each holds one rule."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        small = {"vocabulary": 20, "conduit": 3, "rules": 40, "tokens": 1000, "block": 8}
        return (
            cls(**small, test_tokens=80),
            cls(**small, test_tokens=80, listed=10, copies=20),
        )

    def validate(self) -> None:
        least = {"vocabulary": 2, "conduit": 1, "rules": 1, "tokens": 1, "listed": 0, "copies": 0}
        for field, smallest in least.items():
            if getattr(self, field) < smallest:
                raise BadValue(f"tasks/spans.{field}", getattr(self, field), f"{smallest} or more")
        if self.copies and not self.listed:
            raise BadValue("tasks/spans.copies", self.copies, "0 where conduits are not listed")
        if self.listed and self.rules % self.listed:
            legal = f"a multiple of the {self.listed} listed conduits"
            raise BadValue("tasks/spans.rules", self.rules, legal)
        if self.block < self.conduit + 2:
            legal = f"at least the rule's own {self.conduit + 2} tokens"
            raise BadValue("tasks/spans.block", self.block, legal)
        if self.test_tokens < self.block:
            legal = f"at least one block ({self.block})"
            raise BadValue("tasks/spans.test_tokens", self.test_tokens, legal)
        left = self.possible - self.listed if self.listed else self._left_by_chance()
        if left < 1:
            field, trained = ("listed", self.listed) if self.listed else ("rules", self.rules)
            legal = f"fewer: nearly all {self.possible:,} conduits of {self.conduit} symbols of "
            legal += f"{self.vocabulary} words would be trained on, and none held out"
            raise BadValue(f"tasks/spans.{field}", trained, legal)
        if self.filler < 0:
            raise BadValue(
                "tasks/spans.tokens",
                self.tokens,
                f"{self.tokens - self.filler:,} or more ({-self.filler:,} are missing): "
                f"{self.rules:,} rules of {self.conduit + 2} tokens and "
                f"{self.listed * self.copies:,} scattered conduits of {self.conduit} do not fit",
            )

    # What a corpus is made of

    @property
    def words(self) -> int:
        """Σ, α and ω."""
        return self.vocabulary + 2

    @property
    def possible(self) -> int:
        """How many conduits there are."""
        return int(self.vocabulary**self.conduit)

    def _left_by_chance(self) -> float:
        """Conduits that are expected to stand in no rule, if each rule has a fresh one."""
        if self.possible > MANY * self.rules:
            return 1.0 * self.possible
        return self.possible * (1 - 1 / self.possible) ** self.rules

    @property
    def opening(self) -> int:
        """The word α."""
        return self.vocabulary

    @property
    def closing(self) -> int:
        """The word ω."""
        return self.vocabulary + 1

    @property
    def filler(self) -> int:
        """Tokens that are left for random text; negative where the rules do not fit."""
        scattered = self.listed * self.copies * self.conduit
        return self.tokens - self.rules * (self.conduit + 2) - scattered

    @property
    def filler_share(self) -> float:
        """The share of random text: it falls as conduits are scattered, which is a confound."""
        return self.filler / self.tokens

    @property
    def blocks(self) -> int:
        """Blocks of a test corpus."""
        return self.test_tokens // self.block

    def conduits(self, seed: int) -> Int[np.ndarray, "conduit symbol"]:
        """The conduits that a seed is trained on: the list, or one a rule."""
        count, rng = self.listed or self.rules, stream(seed, "conduits")
        drawn = rng.integers(self.vocabulary, size=(count, self.conduit))
        repeated = _repeated(drawn) if self.listed else np.zeros(count, dtype=bool)
        if repeated.any() and self.possible <= MANY * count:
            return self._spelled(rng.permutation(self.possible)[:count])
        while repeated.any():
            drawn[repeated] = rng.integers(
                self.vocabulary, size=(int(repeated.sum()), self.conduit)
            )
            repeated = _repeated(drawn)
        return drawn

    def _spelled(self, numbers: Int[np.ndarray, " n"]) -> Int[np.ndarray, "n symbol"]:
        """Conduits by their places in the list of all that there are."""
        return np.stack(np.unravel_index(numbers, (self.vocabulary,) * self.conduit), axis=1)

    def held_out(self, seed: int) -> Int[np.ndarray, "block symbol"]:
        """Conduits that stand in no rule of the seed's corpus, one a test block."""
        rng = stream(seed, "held-out-conduits")
        taken = set(map(tuple, self.conduits(seed).tolist()))
        drawn = rng.integers(self.vocabulary, size=(self.blocks, self.conduit))
        for _ in range(PATIENCE):
            known = np.array([tuple(row) in taken for row in drawn.tolist()])
            if not known.any():
                return drawn
            drawn[known] = rng.integers(self.vocabulary, size=(int(known.sum()), self.conduit))
        # Nearly all are taken, so there are few: those that are left can be listed.
        every = self._spelled(np.arange(self.possible))
        left = every[[tuple(row) not in taken for row in every.tolist()]]
        if not len(left):
            legal = f"fewer: all {self.possible:,} conduits are trained on, none is held out"
            raise BadValue("tasks/spans.rules", self.rules, legal)
        return left[rng.integers(len(left), size=self.blocks)]

    def corpus(self, seed: int) -> Int[np.ndarray, " token"]:
        """The training text of a seed: rules, scattered conduits and filler in random order."""
        known = self.conduits(seed)
        k, n = self.conduit, self.rules
        scattered = self.listed * self.copies
        rng = stream(seed, "corpus")
        # What stands where: rules are 0 … n−1, scattered conduits follow, filler is the rest.
        pieces = rng.permutation(n + scattered + self.filler)
        lengths = np.ones_like(pieces)
        lengths[pieces < n + scattered] = k
        lengths[pieces < n] = k + 2
        starts = np.cumsum(lengths) - lengths
        text = rng.integers(self.vocabulary, size=self.tokens)
        inside = np.arange(k)
        rule, copy = pieces < n, (pieces >= n) & (pieces < n + scattered)
        at = starts[rule]
        text[at], text[at + k + 1] = self.opening, self.closing
        text[at[:, None] + 1 + inside] = known[pieces[rule] % len(known)]
        text[starts[copy][:, None] + inside] = known[(pieces[copy] - n) % len(known)]
        self._assert_intact(text)
        return text

    def _assert_intact(self, text: Int[np.ndarray, " token"]) -> None:
        """Every α has its ω where it should be, and there are n of each."""
        (opened,), (closed,) = np.where(text == self.opening), np.where(text == self.closing)
        assert len(text) == self.tokens, f"the corpus has {len(text)} tokens, not {self.tokens}"
        assert len(opened) == len(closed) == self.rules, f"{len(opened)} rules, not {self.rules}"
        assert np.array_equal(opened + self.conduit + 1, closed), "a rule is damaged"

    def test(
        self, seed: int, conduits: Literal["fresh", "trained"], blocks: int | None = None
    ) -> tuple[Int[np.ndarray, "block token"], Int[np.ndarray, " block"]]:
        """Test blocks with one rule each, at a random place, and where their α stands.

        `fresh`: conduits the seed was not trained on. `trained`: conduits of its rules.
        """
        if conduits not in ("fresh", "trained"):
            raise BadValue("conduits", conduits, "'fresh' or 'trained'")
        rng = stream(seed, "test", conduits)
        text = rng.integers(self.vocabulary, size=(self.blocks, self.block))
        at = rng.integers(self.block - self.conduit - 1, size=self.blocks)
        if conduits == "fresh":
            used = self.held_out(seed)
        else:
            known = self.conduits(seed)
            used = known[rng.integers(len(known), size=self.blocks)]
        row = np.arange(self.blocks)
        text[row, at], text[row, at + self.conduit + 1] = self.opening, self.closing
        text[row[:, None], at[:, None] + 1 + np.arange(self.conduit)] = used
        return text[:blocks], at[:blocks]

    # The same as a factored task

    @property
    def factors(self) -> tuple[Factor, ...]:
        trained = self.listed or self.rules
        names = [f"trained {i}" for i in range(trained)] + [f"new {i}" for i in range(self.blocks)]
        return Factor("open symbol", ("other", "α")), Factor("conduit", tuple(names))

    @property
    def outputs(self) -> tuple[Output, ...]:
        return (Output("ω comes next", classes=2, factors=(0,)),)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (self.block - 1, self.words)

    def splits(self) -> Mapping[str, Int[np.ndarray, "n factor"]]:
        trained, new = self.listed or self.rules, self.blocks
        return {
            "train": np.stack([np.repeat([0, 1], trained), np.tile(np.arange(trained), 2)], 1),
            "fresh": np.stack([np.repeat([0, 1], new), np.tile(np.arange(new), 2) + trained], 1),
        }

    def draw_noise(
        self, n: int, rng: np.random.Generator, *, split: str = EVERYTHING
    ) -> Float[np.ndarray, "n factor before"]:
        """Which words stand before the conduit; the conduit's own noise is not used."""
        return rng.random((n, 2, self.block - 1 - self.conduit))

    def render(
        self, z: Int[np.ndarray, "n factor"], noise: Float[np.ndarray, "n factor before"]
    ) -> Float[np.ndarray, "n position word"]:
        """Words as one-hot rows: filler, α or another word, and the conduit at the end."""
        before = (noise[:, 0] * self.vocabulary).astype(np.int64)
        before[z[:, 0] == 1, -1] = self.opening
        conduits = np.concatenate([self.conduits(TASK_SEED), self.held_out(TASK_SEED)])
        text = np.concatenate([before, conduits[z[:, 1]]], axis=1)
        return np.asarray(np.eye(self.words, dtype=np.float32)[text])

    def targets(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        return np.asarray(z[:, :1])

    def oracle(self, inputs: Float[np.ndarray, "n position word"]) -> Int[np.ndarray, "n output"]:
        text = inputs.argmax(-1)
        return np.asarray(text[:, -self.conduit - 1, None] == self.opening, dtype=np.int64)

    def part(self, factor: int) -> Bool[np.ndarray, "position word"]:
        inside = np.arange(self.block - 1) >= self.block - 1 - self.conduit
        return np.broadcast_to((inside == (factor == 1))[:, None], self.input_shape).copy()


def _repeated(conduits: Int[np.ndarray, "conduit symbol"]) -> Bool[np.ndarray, " conduit"]:
    """Which of them stand earlier in the list as well."""
    found = np.ones(len(conduits), dtype=bool)
    found[np.unique(conduits, axis=0, return_index=True)[1]] = False
    return found
