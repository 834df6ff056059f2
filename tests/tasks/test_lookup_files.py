"""Lookup tables in official files: what is written is read, what is wrong is told in one line."""

import copy
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recombine import catalog
from recombine.data.unpacking import unpack
from recombine.errors import BadValue, UsageError
from recombine.spec import encode, key_of
from recombine.tasks import lookup_files
from recombine.tasks.lookup import LookupTables

OFFICIAL = Path("/work/shared/data/lookup/sample1.tar.xz")
OURS = LookupTables(tables=3, held_tables=1, held_compositions=1, validation=2, bits=2)


def sizes(task: LookupTables) -> dict[str, int]:
    return {name: len(rows) for name, rows in task.splits().items()}


def folder(place: Path, task: LookupTables = OURS) -> Path:
    """Files of a small sample in the official format, written from one of our own."""
    for name, z in task.splits().items():
        inputs = task.render(z, np.zeros((len(z), 3, 0), np.float32))
        lines = []
        for source, answer in zip(inputs, task.targets(z), strict=True):
            words = task.sentence(source)
            looks = " ".join(map(str, range(len(words))))
            lines.append(f"{' '.join(words)}\t{' '.join(task.decode(answer))}\t{looks}\n")
        (place / f"{name}.tsv").write_text("".join(lines))
    return place


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    theirs = LookupTables(path=str(folder(tmp_path)))
    assert theirs.source_words == OURS.source_words and theirs.sizes == OURS.sizes
    assert np.array_equal(theirs.content.maps, OURS.content.maps)
    for name, rows in OURS.splits().items():
        assert np.array_equal(theirs.splits()[name], rows)


def test_changed_files_make_another_task(tmp_path: Path) -> None:
    place = str(folder(tmp_path))
    before = LookupTables(path=place)
    assert LookupTables(path=place) == before == catalog.read(encode(before))
    assert key_of(replace(before, path="")) == key_of(LookupTables())
    folder(tmp_path, replace(OURS, tables_seed=1))
    after = LookupTables(path=place)
    assert key_of(after) != key_of(before) == key_of(copy.copy(before))
    assert key_of(replace(before, path=place)) == key_of(after)
    assert not np.array_equal(after.content.maps, before.content.maps)
    assert np.array_equal(before.content.maps, OURS.content.maps)
    lookup_files.read.cache_clear()  # as in another process
    with pytest.raises(UsageError, match="they have changed since"):
        before.splits()


def test_training_rows_longer_than_asked_for_are_refused(tmp_path: Path) -> None:
    task = replace(OURS, longest=3)
    chain = task.show(task.splits()["longer_seen_3"][:1], np.zeros((1, 4, 0)))
    words, answer = task.sentence(chain.inputs[0]), task.decode(chain.targets[0])
    with (folder(tmp_path) / "train.tsv").open("a") as file:
        file.write(f"{' '.join(words)}\t{' '.join(answer)}\n")
    with pytest.raises(BadValue, match="longest = 2 is not legal: expected at least 3"):
        LookupTables(path=str(tmp_path))
    assert LookupTables(path=str(tmp_path), longest=3).splits()["train"][-1, -1] < 3


@pytest.mark.skipif(not OFFICIAL.exists(), reason="the official sample is not on this machine")
def test_the_official_sample_has_the_published_splits(tmp_path: Path) -> None:
    task = LookupTables(path=str(OFFICIAL))
    assert sizes(task) == sizes(LookupTables())
    assert task.sizes == (8, 8, 9)
    assert (len(task.source_words), len(task.target_words)) == (19, 11)
    longer = sizes(replace(task, longest=3))
    assert longer["longer_compositions_seen"] == 544
    assert longer["longer_compositions_incremental"] == 1084
    unpack(OFFICIAL, tmp_path)
    unpacked = LookupTables(path=str(tmp_path / "sample1"), longest=3)
    for name in unpacked.splits():
        examples = unpacked.show(z := unpacked.combinations(name), np.zeros((len(z), 4, 0)))
        assert np.array_equal(unpacked.oracle(examples.inputs), examples.targets)
    first = unpacked.sentence(unpacked.render(unpacked.splits()["heldout_compositions"][:1],
                                              np.zeros((1, 4, 0)))[0])  # fmt: skip
    assert first == ("010", "t1", "t6", ".")


BROKEN = {
    "01 t1\t01 10\t0 1": "expected a bit string, tables and '.'",
    "01 x1 .\t01 10\t0 1 2": "'x1' is no table; expected a name such as t1",
    "01 t1 .\t01 12\t0 1 2": "answer '12' is no bit string",
    "01 t1 .\t01\t0 1 2": "1 answers to 1 tables",
    "01 t1 .\t11 10\t0 1 2": "expected a copy of 01",
    "01 t1 .": "1 columns, but expected source, answer",
    "01 t1 .\t01 10\t0 2 1": "attention '0 2 1', but expected '0 1 2'",
    "011 t1 .\t011 110\t0 1 2": "all must have equally many",
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    place = folder(tmp_path)
    (place / "validation.tsv").write_text(f"\n{line}\n")
    with pytest.raises(UsageError) as caught:
        LookupTables(path=str(place)).splits()
    message = str(caught.value)
    assert BROKEN[line] in message and "\n" not in message
    assert "validation.tsv line 2" in message or "all must" in message


def test_answers_that_disagree_are_named_with_both_places(tmp_path: Path) -> None:
    place = folder(tmp_path)
    task = LookupTables(path=str(place))
    wrong = f"{(int(task.content.maps[0, 1]) + 1) % 4:02b}"
    (place / "validation.tsv").write_text(f"01 t1 .\t01 {wrong}\t0 1 2\n")
    with pytest.raises(
        UsageError, match=r"validation.tsv line 1: t1 makes 01 into .* as in .*train"
    ):
        LookupTables(path=str(place)).splits()


def test_a_byte_order_mark_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    for file in folder(tmp_path).iterdir():
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\n \t\n"))
    assert sizes(LookupTables(path=str(tmp_path))) == sizes(OURS)


@pytest.mark.parametrize(
    ("into", "words"),
    [
        ("heldout_inputs", r"heldout_inputs.tsv line 1: '(.*)' stands in .*train.tsv line 1 as"),
        ("train", r"train.tsv line 2: '(.*)' stands in .*train.tsv line 1 as well"),
    ],
)
def test_a_row_twice_or_trained_and_held_out_is_refused(
    tmp_path: Path, into: str, words: str
) -> None:
    first = (folder(tmp_path) / "train.tsv").read_text().splitlines(keepends=True)[0]
    file = tmp_path / f"{into}.tsv"
    file.write_text(first + file.read_text())
    with pytest.raises(UsageError, match=words):
        LookupTables(path=str(tmp_path))


def damaged(place: Path) -> Path:
    """A tar file one byte of which has flipped."""
    whole = place.with_suffix(".tar.xz")
    with tarfile.open(whole, "w:xz") as archive:
        archive.add(place, "sample")
    content = bytearray(whole.read_bytes())
    content[len(content) // 2] ^= 0xFF
    whole.write_bytes(content)
    return whole


def with_a_directory(place: Path) -> Path:
    (place / "extra.tsv").mkdir()
    return place


def with_a_dangling_link(place: Path) -> Path:
    (place / "extra.tsv").symlink_to(place / "nowhere")
    return place


def with_nothing_to_train(place: Path) -> Path:
    (place / "train.tsv").write_text("\n")
    return place


def without_training(place: Path) -> Path:
    (place / "train.tsv").unlink()
    return place


UNREADABLE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "absent": (lambda place: place / "nowhere", "there is no file or directory"),
    "too long": (lambda place: place / ("x" * 5000), "cannot be read (File name too long)"),
    "nobody's": (lambda _: Path("~nobody-is-called-so/x"), "home directory"),
    "no tar file": (lambda place: place / "train.tsv", "give the directory"),
    "a damaged tar file": (damaged, "is no tar file that can be read"),
    "a directory inside": (with_a_directory, "extra.tsv cannot be read (Is a directory)"),
    "a link to nothing": (with_a_dangling_link, "extra.tsv cannot be read (No such file"),
    "nothing to train": (with_nothing_to_train, "train.tsv has no lines"),
    "no training": (without_training, "there is no train.tsv"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path, case: str) -> None:
    (tmp_path / "sample").mkdir()
    spoil, words = UNREADABLE[case]
    place = spoil(folder(tmp_path / "sample"))
    with pytest.raises(UsageError) as caught:
        LookupTables(path=str(place))
    assert words in str(caught.value) and "\n" not in str(caught.value)
