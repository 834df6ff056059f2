"""Sequence tasks: inputs are sentences of source words, outputs are target words in order.

A sentence is rendered as one-hot rows [time, word], so that everything that works on other tasks
(masks of a factor, gradients in the input, resampling) works here. Rows after the end are zeros.
A task has one output a target position; where a sentence's answer is shorter, the target is
IGNORE.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from recombine.errors import UnknownName
from recombine.tasks import errors_told
from recombine.tasks.task import EVERYTHING, IGNORE, Task


@runtime_checkable
class StatesAttention(Protocol):
    """A task that says where to look for each answer."""

    def attention(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        """The source position of each target position; IGNORE where none is right."""
        ...


@dataclass(frozen=True)
class SequenceTask(Task):
    """A factored task whose inputs and outputs are sentences."""

    weighted: ClassVar[bool] = True

    @property
    @abstractmethod
    def source_words(self) -> tuple[str, ...]:
        """What sentences are made of."""

    @property
    @abstractmethod
    def target_words(self) -> tuple[str, ...]:
        """What answers are made of."""

    @property
    @abstractmethod
    def longest_source(self) -> int:
        """Words of the longest sentence."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (self.longest_source, len(self.source_words))

    def draw_noise(
        self, n: int, rng: np.random.Generator, *, split: str = EVERYTHING
    ) -> Float[np.ndarray, "n factor 0"]:
        return np.zeros((n, len(self.factors), 0), dtype=np.float32)

    def encode(self, sentences: Sequence[Sequence[str]]) -> Float[np.ndarray, "n time word"]:
        """Sentences as one-hot rows, zeros after the end."""
        words = {word: i for i, word in enumerate(self.source_words)}
        index = np.full((len(sentences), self.longest_source), IGNORE)
        for row, sentence in enumerate(sentences):
            for at, word in enumerate(sentence):
                if word not in words:
                    raise UnknownName("word", word, words, where=f"tasks/{self.name}")
                index[row, at] = words[word]
        return self.one_hot(index)

    def one_hot(self, index: Int[np.ndarray, "n time"]) -> Float[np.ndarray, "n time word"]:
        """Word numbers as one-hot rows; IGNORE gives zeros."""
        eye = np.eye(len(self.source_words) + 1, dtype=np.float32)[:, :-1]
        return np.asarray(eye[index])

    def words_of(self, inputs: Float[np.ndarray, "n time word"]) -> Int[np.ndarray, "n time"]:
        """The number of the word at each position; IGNORE where there is none."""
        return np.where(inputs.any(-1), inputs.argmax(-1), IGNORE)

    def sentence(self, inputs: Float[np.ndarray, "time word"]) -> tuple[str, ...]:
        """One input as words."""
        index = self.words_of(inputs[None])[0]
        return tuple(self.source_words[i] for i in index if i != IGNORE)

    def decode(self, targets: Int[np.ndarray, " output"]) -> tuple[str, ...]:
        """One answer as words, up to where nothing is scored any more."""
        return tuple(self.target_words[i] for i in targets if i != IGNORE)

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kinds of error that are told apart, and what each is."""
        return errors_told.KINDS

    def kinds_of(
        self, z: Int[np.ndarray, "n factor"], answers: Int[np.ndarray, "n output"]
    ) -> list[str]:
        """What is wrong with each answer: one of `kinds`, or `right`."""
        return errors_told.told(self, z, answers)
