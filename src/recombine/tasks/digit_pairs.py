"""Images side by side, to name the first; the others may tell about it in training, not in testing.

The factors are the labels Y1, Y2, … of the images. In setting A the others follow the first in
training: (Y_k − Y1) mod 10 is one of a few shifts (0 and 1 in the paper). In setting B all labels
are independent. Both are tested where every other label has a shift that A never shows:

    split    combinations                          images
    train    A: few shifts; B: all                 of the training part
    seen     as train                              of the test part
    test     only shifts that A does not show      of the test part

With three images or more, `test` holds the combinations in which *all* the others have unseen
shifts. Training and test images never meet; an analysis on the full product uses test images.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from recombine import data
from recombine.errors import BadValue, NoData
from recombine.tasks import splits
from recombine.tasks.task import EVERYTHING, Factor, Output, Task

WHITE = 255
UNKNOWN = -1
"""What the oracle answers for an image that the set does not have."""


@dataclass(frozen=True)
class DigitPairs(Task):
    """Name the first of several images."""

    name: ClassVar[str] = "digit-pairs"

    setting: Literal["A", "B"] = "A"
    """A: in training the other labels follow the first. B: they are independent of it."""
    images: str = "mnist-5k"
    """A data set of `recombine data list`."""
    digits: int = 2
    """How many images stand side by side."""
    shifts: tuple[int, ...] = (0, 1)
    """What may be added to the first label to give another, in training in setting A; the test
    has all other shifts, in both settings."""
    asked: int = 1
    """How many of the images are to be named, from the left."""

    @classmethod
    def variants(cls) -> tuple[Task, ...]:
        # Not setting B: it trains on the test's combinations by design.
        return cls(), cls(digits=3, shifts=(0, 3, 4), asked=2)

    def validate(self) -> None:
        count = len(data.find(self.images).classes)
        kept = {shift % count for shift in self.shifts}
        if self.digits < 2:
            raise BadValue("tasks/digit-pairs.digits", self.digits, "at least 2")
        if not 0 < len(kept) < count:
            legal = f"some, but not all, of the {count} shifts"
            raise BadValue("tasks/digit-pairs.shifts", list(self.shifts), legal)
        if not 1 <= self.asked <= self.digits:
            raise BadValue("tasks/digit-pairs.asked", self.asked, f"from 1 to {self.digits}")

    def ready(self) -> None:
        state = data.state(data.find(self.images))
        if state != "ready":
            raise NoData(
                f"the data set {self.images} is {state} in {data.directory()}: "
                f"'recombine data get {self.images}' fetches it"
            )

    @property
    def factors(self) -> tuple[Factor, ...]:
        names = data.find(self.images).classes
        return tuple(Factor(f"Y{k + 1}", names) for k in range(self.digits))

    @property
    def outputs(self) -> tuple[Output, ...]:
        count = len(data.find(self.images).classes)
        return tuple(Output(f"Y{k + 1}", count, (k,)) for k in range(self.asked))

    @property
    def input_shape(self) -> tuple[int, ...]:
        height, width, *colours = data.find(self.images).image
        return height, width * self.digits, *colours

    @property
    def seen(self) -> frozenset[str]:
        return frozenset({"seen"})

    def splits(self) -> Mapping[str, Int[np.ndarray, "n factor"]]:
        count = self.sizes[0]
        every = splits.product(self.sizes)
        kept = np.array(sorted({shift % count for shift in self.shifts}))
        shown = np.isin((every[:, 1:] - every[:, :1]) % count, kept)
        train = every[shown.all(1)] if self.setting == "A" else every
        return {"train": train, "test": every[~shown.any(1)], "seen": train.copy()}

    def draw_noise(
        self, n: int, rng: np.random.Generator, *, split: str = EVERYTHING
    ) -> Float[np.ndarray, "n factor"]:
        """Which image: u in [0, 1) for the training part, 1 + u for the test part.

        u times the number of images with the label, rounded down, is the image's rank among them:
        a label is drawn first, and then an image uniformly within the label.
        """
        return rng.random((n, self.digits)) + (split != "train")

    def render(
        self, z: Int[np.ndarray, "n factor"], noise: Float[np.ndarray, "n factor"]
    ) -> Float[np.ndarray, "n height width *rgb"]:
        album = _album(self.images, data.directory())
        rows = album.rows(z, noise)
        # [n, k, height, width, …] → [n, height, k, width, …] → side by side
        beside = album.pictures[rows].swapaxes(1, 2)
        pixels = beside.reshape(len(z), *self.input_shape)
        return np.asarray(pixels, dtype=np.float32) / np.float32(WHITE)

    def targets(self, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "n output"]:
        return np.asarray(z[:, : self.asked])

    def oracle(
        self, inputs: Float[np.ndarray, "n height width *rgb"]
    ) -> Int[np.ndarray, "n output"]:
        """Looks every image up, pixel by pixel, among all of the set: it knows them by heart."""
        width = self.input_shape[1] // self.digits
        known = _by_heart(self.images, data.directory())
        pixels = np.rint(inputs * WHITE).astype(np.uint8)
        answers = np.empty((len(inputs), self.asked), dtype=np.int64)
        for k in range(self.asked):
            for n, picture in enumerate(pixels[:, :, k * width : (k + 1) * width]):
                answers[n, k] = known.get(_fingerprint(picture.tobytes()), UNKNOWN)
        return answers

    def part(self, factor: int) -> Bool[np.ndarray, "height width *rgb"]:
        width = self.input_shape[1] // self.digits
        marked = np.zeros(self.input_shape, dtype=bool)
        marked[:, factor * width : (factor + 1) * width] = True
        return marked


@dataclass(frozen=True)
class _Album:
    """The images of both parts, sorted by part and label."""

    pictures: UInt8[np.ndarray, "n height width *rgb"]
    starts: Int[np.ndarray, "2 label"]
    counts: Int[np.ndarray, "2 label"]

    def rows(
        self, z: Int[np.ndarray, "n factor"], noise: Float[np.ndarray, "n factor"]
    ) -> Int[np.ndarray, "n factor"]:
        """Where the images stand that these labels and this noise mean."""
        part = (noise >= 1).astype(np.int64)
        rank = ((noise - part) * self.counts[part, z]).astype(np.int64)
        return np.asarray(self.starts[part, z] + rank)


@functools.lru_cache(maxsize=4)
def _album(name: str, where: Path) -> _Album:
    """Read when first rendered, and kept."""
    labels = len(data.find(name).classes)
    parts = [data.images(name, part, where) for part in ("train", "test")]
    counts = np.stack([np.bincount(y, minlength=labels) for _, y in parts])
    starts = np.cumsum(counts).reshape(counts.shape) - counts
    sorted_by_label = [x[np.argsort(y, kind="stable")] for x, y in parts]
    return _Album(np.concatenate(sorted_by_label), starts, counts)


@functools.lru_cache(maxsize=4)
def _by_heart(name: str, where: Path) -> dict[bytes, int]:
    """The label of every image of a set, by fingerprint."""
    pictures, labels = data.images(name, "all", where)
    prints = (_fingerprint(picture.tobytes()) for picture in pictures)
    return dict(zip(prints, labels.tolist(), strict=True))


def _fingerprint(pixels: bytes) -> bytes:
    return hashlib.blake2b(pixels, digest_size=16).digest()
