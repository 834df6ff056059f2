"""Material: CIFAR-10's two forms give the same files; idx is read as it was written."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recombine.data import idx
from recombine.data.material import BATCHES, prepare
from recombine.data.sets import CIFAR10
from recombine.data.sources import NoAnswer


def pictures(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    """As the npm package has them; the sixth batch is that for testing."""
    for name, batch in zip((*BATCHES, "test_batch"), images, strict=True):
        Image.fromarray(batch.reshape(len(batch), 1024, 3)).save(folder / f"{name}.png")
    (folder / "train_lables.json").write_text(json.dumps(labels[:5].ravel().tolist()))
    (folder / "test_lables.json").write_text(json.dumps(labels[5].tolist()))


def binary(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    """As the official binary version has them, in its archive."""
    inner = folder / "cifar-10-batches-bin"
    inner.mkdir()
    for name, batch, label in zip((*BATCHES, "test_batch"), images, labels, strict=True):
        with open(inner / f"{name}.bin", "wb") as file:
            for picture, one in zip(batch, label, strict=True):
                file.write(bytes([one]) + b"".join(picture[..., c].tobytes() for c in range(3)))
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as packed:
        packed.add(inner, arcname=inner.name)


def test_both_forms_of_cifar_give_the_same_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(6, 3, 32, 32, 3), dtype=np.uint8)
    labels = rng.integers(10, size=(6, 3), dtype=np.uint8)
    made = {}
    for form in (pictures, binary):
        source, into = tmp_path / form.__name__, tmp_path / f"{form.__name__}-made"
        source.mkdir()
        into.mkdir()
        form(source, images, labels)
        prepare(CIFAR10, source, into)
        made[form] = {path.name: path.read_bytes() for path in into.iterdir()}
    assert made[pictures] == made[binary]
    assert set(made[binary]) == {file.name for file in CIFAR10.files}
    train = idx.parse(made[binary]["train-images-idx4-ubyte"])
    np.testing.assert_array_equal(train, images[:5].reshape(15, 32, 32, 3))


def test_half_the_material_does_not_suffice(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "data_batch_1.bin").write_bytes(bytes(3073))
    with pytest.raises(NoAnswer, match="not all"):
        prepare(CIFAR10, tmp_path / "in", tmp_path / "out")


@pytest.mark.parametrize("shape", [(3,), (2, 4, 5), (2, 3, 4, 3), (0, 2)])
def test_idx_is_read_as_it_was_written(shape: tuple[int, ...], tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(256, size=shape, dtype=np.uint8)
    idx.write(tmp_path / "a", array)
    np.testing.assert_array_equal(idx.parse((tmp_path / "a").read_bytes()), array)
    assert (tmp_path / "a").stat().st_size == idx.length(shape)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\0\x08", b"\0\0\x0d\x01\0\0\0\0", b"\0\0\x08\x02\0\0", b"\0\0\x08\x01\0\0\0\x02a"],
)
def test_what_is_no_idx_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        idx.parse(content)
