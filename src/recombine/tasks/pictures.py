"""Items as images: each factor's image in channels of its own, shifted by d pixels a factor.

Item i of factor c is shown as an image of the class perm_c(i). The images of the factors lie in
separate channels (one for grey sets, three for coloured ones), so they never hide one another; that
of factor c is shifted right by c·d pixels, the free columns repeat the image's edge, and the canvas
is h × (w + (C−1) d). With larger d a convolution sees less of two items at once.

The first `per_class` images of each class are for training, the others are unseen. Which class
stands for which item, and which images come first, is drawn from `assignment`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from recombine import data
from recombine.errors import BadValue, NoData
from recombine.seeds import stream
from recombine.tasks.digits import digits
from recombine.tasks.showing import Showing, Sizes

Source = Literal["digits", "mnist-5k", "mnist", "fashion-mnist", "cifar10"]


@dataclass(frozen=True)
class Images(Showing):
    """Images of classes for items; noise says which image of the class."""

    name: ClassVar[str] = "images"

    source: Source = "digits"
    """`digits`: 8 × 8, of scikit-learn. The others are sets of `recombine data`."""
    shift: int = 0
    """d, in pixels."""
    per_class: int = 100
    """Images of each class that training may show."""
    assignment: int = 0
    """Which random assignment of classes and images."""

    def validate(self) -> None:
        if self.shift < 0:
            raise BadValue("inputs/images.shift", self.shift, "0 or more pixels")
        if self.per_class < 1:
            raise BadValue("inputs/images.per_class", self.per_class, "at least 1")

    def check(self, sizes: Sizes) -> None:
        if max(sizes) > 10:
            raise BadValue("inputs/images", f"{max(sizes)} items", "at most 10, one a class")

    def ready(self) -> None:
        if self.source == "digits":
            return
        state = data.state(data.find(self.source))
        if state != "ready":
            raise NoData(
                f"the data set {self.source} is {state} in {data.directory()}: "
                f"'recombine data get {self.source}' fetches it"
            )

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        channels, height, width = SHAPES[self.source]
        return channels * len(sizes), height, width + (len(sizes) - 1) * self.shift

    def draw(
        self, n: int, factors: int, rng: np.random.Generator, *, training: bool
    ) -> Float[np.ndarray, "n factor"]:
        """Below 0: a training image; from 0 to 1: an unseen one."""
        drawn = rng.random((n, factors))
        return drawn - 1 if training else drawn

    def render(
        self,
        z: Int[np.ndarray, "n factor"],
        noise: Float[np.ndarray, "n factor"],
        sizes: Sizes,
    ) -> Float[np.ndarray, "n *shape"]:
        bank = load(self.source, self.assignment)
        channels, _, width = SHAPES[self.source]
        out = np.empty((len(z), *self.shape(sizes)), dtype=np.float32)
        for c in range(len(sizes)):
            classes = permutation(self.assignment, c)[z[:, c]]
            rows = bank.rows(classes, noise[:, c], self.per_class)
            columns = np.clip(np.arange(out.shape[-1]) - c * self.shift, 0, width - 1)
            block = bank.images[rows][..., columns].astype(np.float32)
            out[:, c * channels : (c + 1) * channels] = (block - bank.mean) / bank.spread
        return out

    def identify(
        self, inputs: Float[np.ndarray, "n *shape"], sizes: Sizes
    ) -> Int[np.ndarray, "n factor"]:
        bank = load(self.source, self.assignment)
        channels, _, width = SHAPES[self.source]
        z = np.empty((len(inputs), len(sizes)), dtype=np.int64)
        for c in range(len(sizes)):
            block = inputs[:, c * channels : (c + 1) * channels]
            block = block[..., c * self.shift : c * self.shift + width]
            shown = np.rint(block * bank.spread + bank.mean).astype(np.uint8)
            classes = np.array([bank.classes[image.tobytes()] for image in shown], dtype=np.int64)
            z[:, c] = np.argsort(permutation(self.assignment, c))[classes]
        return z

    def part(self, factor: int, sizes: Sizes) -> Bool[np.ndarray, "*shape"]:
        owner = np.repeat(np.arange(len(sizes)), SHAPES[self.source][0])
        marks = np.zeros(self.shape(sizes), dtype=bool)
        marks[owner == factor] = True
        return marks


SHAPES: dict[str, tuple[int, int, int]] = {
    "digits": (1, 8, 8),
    "mnist-5k": (1, 28, 28),
    "mnist": (1, 28, 28),
    "fashion-mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
}
"""Channels, height and width of one image."""


@dataclass(frozen=True)
class Bank:
    """All images of a set, class after class, in the order of an assignment."""

    images: UInt8[np.ndarray, "n channel h w"]
    starts: Int[np.ndarray, " class"]
    counts: Int[np.ndarray, " class"]
    mean: Float[np.ndarray, "channel 1 1"]
    spread: Float[np.ndarray, "channel 1 1"]

    def rows(
        self,
        classes: Int[np.ndarray, " n"],
        noise: Float[np.ndarray, " n"],
        per_class: int,
    ) -> Int[np.ndarray, " n"]:
        """Which images noise means: −1 to 0 the first `per_class` of a class, 0 to 1 the rest."""
        if per_class >= self.counts.min():
            legal = f"below {self.counts.min()}, the images of the smallest class"
            raise BadValue("inputs/images.per_class", per_class, legal)
        rest = self.counts[classes] - per_class
        seen = np.floor((noise + 1) * per_class)
        unseen = per_class + np.floor(noise * rest)
        offset = np.where(noise < 0, np.minimum(seen, per_class - 1), unseen).astype(np.int64)
        return np.asarray(self.starts[classes] + offset)

    @functools.cached_property
    def classes(self) -> dict[bytes, int]:
        """The class of an image, by its bytes."""
        labels = np.repeat(np.arange(len(self.counts)), self.counts).tolist()
        return {image.tobytes(): label for image, label in zip(self.images, labels, strict=True)}


def permutation(assignment: int, factor: int) -> Int[np.ndarray, " class"]:
    """The class that each item of a factor is shown as."""
    return stream(assignment, "assignment", factor).permutation(10)


@functools.lru_cache(maxsize=4)
def load(source: str, assignment: int) -> Bank:
    """The images of a set, shuffled within each class."""
    pictures, labels = _raw(source)
    shuffled = stream(assignment, "assignment", "images").permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels, minlength=10)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    mean, spread = _normalisation(source)
    return Bank(pictures[order], starts, counts, mean, spread)


@functools.cache
def _normalisation(source: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each channel over the whole set."""
    pictures, _ = _raw(source)
    flat = pictures.transpose(1, 0, 2, 3).reshape(pictures.shape[1], -1)
    shape = (pictures.shape[1], 1, 1)
    return (
        flat.mean(axis=1).astype(np.float32).reshape(shape),
        flat.std(axis=1).astype(np.float32).reshape(shape),
    )


def _raw(source: str) -> tuple[UInt8[np.ndarray, "n channel h w"], Int[np.ndarray, " n"]]:
    if source == "digits":
        rows, labels = digits("small")
        pictures = np.rint((rows + 1) * 8).astype(np.uint8).reshape(-1, 8, 8)
    else:
        pictures, labels = data.images(source, "all" if source == "mnist-5k" else "train")
    if pictures.ndim == 3:
        return pictures[:, None], labels
    return pictures.transpose(0, 3, 1, 2), labels
