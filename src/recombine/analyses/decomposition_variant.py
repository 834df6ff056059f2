"""The variants of contextual decomposition, as named switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recombine.errors import BadValue
from recombine.spec import Spec

INTERACTIONS = ("rel-rel", "rel-b", "rel-irrel", "irrel-b", "irrel-irrel")
"""Products of two decomposed factors: which part of the one with which part of the other."""


@dataclass(frozen=True)
class Variant(Spec):
    """What counts as the phrase's doing."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "decomposition"

    order: Literal["bias-first", "all"] = "bias-first"
    """How F(r + q + b) is split: the bias first and the mean of both orders of r and q, or the mean
    of all six orders (then F(0) is counted with the bias)."""
    bias_product: Literal["inside", "but-last", "never"] = "inside"
    """When bias × bias is the phrase's: at each of its words; at all but its last (as the original
    code had it, so that a phrase of one word never gets it); never."""
    output_gate: Literal["whole", "decomposed"] = "whole"
    """An LSTM's output gate passes both parts as it is, or is decomposed as the others are."""
    interactions: tuple[str, ...] = ("rel-rel", "rel-b")
    """Which products of parts are the phrase's (generalised decomposition)."""

    def validate(self) -> None:
        twice = len(set(self.interactions)) < len(self.interactions)
        if twice or not set(self.interactions) <= set(INTERACTIONS):
            legal = "some of " + ", ".join(INTERACTIONS) + ", each once"
            raise BadValue("training/decomposition.interactions", list(self.interactions), legal)

    @property
    def usual(self) -> bool:
        """Whether products go the usual way: with the phrase, unless the rest has a hand in it."""
        return set(self.interactions) == {"rel-rel", "rel-b"}
