"""Reads a recurrent model over time: what stood at a site at every step, and what was being read.

Any stack whose sites are named `<part>.<step>.<what>` can be read (`encoder.2.state`,
`decoder.0.update`). The encoder's step is the source position. What the decoder reads at a step is
the source position it should attend to, where the task states one, and otherwise the position of
the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from recombine.analyses.analysis import ANALYSIS_SEED
from recombine.errors import BadValue, UnknownName
from recombine.models.stack import Stack, read_sites
from recombine.seeds import stream
from recombine.tasks.task import Examples, Task

Reads = Literal["word", "time"]


@dataclass(frozen=True)
class Trace:
    """Activations at one kind of site, over examples and steps that exist."""

    values: Float[np.ndarray, "lane n unit"]
    example: Int[np.ndarray, " n"]
    time: Int[np.ndarray, " n"]
    word: Int[np.ndarray, " n"]
    """The source word being read; −1 where there is none."""
    first: Int[np.ndarray, " n"]
    """The first source word of the example."""
    prefix: Int[np.ndarray, " n"]
    """Equal where the same source words led to the same step: the states are copies."""

    def where(self, mask: Bool[np.ndarray, " n"]) -> Trace:
        """Some of the samples."""
        return Trace(
            self.values[:, mask], self.example[mask], self.time[mask], self.word[mask],
            self.first[mask], self.prefix[mask],
        )  # fmt: skip


def steps_of(stack: Stack, part: str, what: str) -> tuple[int, ...]:
    """The steps at which a stack has such a site."""
    named = [site.split(".") for site in stack.sites]
    steps = sorted(int(s[1]) for s in named if len(s) == 3 and (s[0], s[2]) == (part, what))
    if not steps:
        kinds = {f"{s[0]}.*.{s[2]}" for s in named if len(s) == 3}
        raise UnknownName("site over time", f"{part}.*.{what}", sorted(kinds))
    return tuple(steps)


def everything(task: Task, most: int | None = None) -> Examples:
    """Every example of every split, once each (sequence tasks have no noise), or a sample."""
    z = np.unique(np.concatenate(list(task.splits().values())), axis=0)
    if most is not None and len(z) > most:
        drawn = stream(ANALYSIS_SEED, "traces").choice(len(z), size=most, replace=False)
        z = z[np.sort(drawn)]
    return task.show(z, task.draw_noise(len(z), np.random.default_rng(0)))


@torch.no_grad()
def trace(stack: Stack, task: Task, examples: Examples, *, part: str, what: str) -> Trace:
    """What stands at the sites `<part>.<step>.<what>` at every step that exists in an example."""
    inputs = np.asarray(examples.inputs)
    if inputs.ndim != 3:
        raise BadValue("analyses", f"tasks/{task.name}", "a task of sequences of words")
    steps = steps_of(stack, part, what)
    device = next(stack.parameters()).device
    shown = torch.from_numpy(inputs).unsqueeze(0).to(device)
    seen = read_sites(stack, shown, [f"{part}.{t}.{what}" for t in steps])
    source = np.where(inputs.any(-1), inputs.argmax(-1), -1)
    exists, read = _reading(task, examples, source, part, len(steps))
    example, time = np.nonzero(exists)
    values = np.stack([seen[f"{part}.{t}.{what}"].cpu().numpy() for t in steps], axis=2)
    word = np.where(read >= 0, np.take_along_axis(source, np.maximum(read, 0), axis=1), -1)
    return Trace(
        values=values[:, example, time],
        example=example,
        time=time,
        word=word[example, time],
        first=source[example, 0],
        prefix=_prefixes(source, part, len(steps))[example, time],
    )


def _reading(
    task: Task, examples: Examples, source: Int[np.ndarray, "n length"], part: str, steps: int
) -> tuple[Bool[np.ndarray, "n step"], Int[np.ndarray, "n step"]]:
    """Which steps exist, and the source position being read at each (−1: none)."""
    n = len(source)
    if part == "decoder":
        exists = examples.targets[:, :steps] >= 0
        if hasattr(task, "attention"):
            return exists, np.asarray(task.attention(examples.z))[:, :steps]
        read = np.tile(np.arange(steps), (n, 1))
        return exists, np.where(read < source.shape[1], read, -1)
    exists = source[:, :steps] >= 0
    return exists, np.where(exists, np.arange(steps), -1)


def _prefixes(
    source: Int[np.ndarray, "n length"], part: str, steps: int
) -> Int[np.ndarray, "n step"]:
    """A number for what a step has seen: words so far, or, in the decoder, the whole source."""
    columns, known = [], 0
    for step in range(steps):
        seen = source[:, : step + 1] if part == "encoder" else source
        _, number = np.unique(seen, axis=0, return_inverse=True)
        columns.append(number.ravel() + known)
        known += int(number.max()) + 1
    return np.stack(columns, axis=1)


def words_like(task: Task, pattern: str) -> list[int]:
    """The numbers of the source words that match, in the task's order."""
    words = getattr(task, "source_words", None)
    if words is None:
        raise BadValue("analyses", f"tasks/{task.name}", "a task of sequences of words")
    found = [i for i, word in enumerate(words) if fnmatchcase(word, pattern)]
    if not found:
        raise UnknownName("source word", pattern, words)
    return found
