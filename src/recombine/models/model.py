"""The abstract model: a blueprint from which the networks of any seeds are built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor

from recombine.models.stack import Stack
from recombine.spec import Spec

Reads = Literal["vectors", "images", "channels", "sequences"]


@dataclass(frozen=True)
class Model(Spec, ABC):
    """A blueprint: plain values that say how a network is built and how its outputs are read."""

    kind: ClassVar[str] = "models"
    reads: ClassVar[Reads] = "vectors"
    """What inputs are: any array, images [height, width], images [channel, height, width], or
    one-hot rows of words [time, word]."""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        """The configurations that the conformance checks try."""
        return (cls(),)

    @abstractmethod
    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> Stack:
        """The networks of these seeds, each drawn from its own `init` stream."""

    @abstractmethod
    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        """The raw outputs read as a distribution over classes."""
