"""Splits made by rule are the official ones; official files are read, and distrusted."""

import json
from pathlib import Path

import numpy as np
import pytest

from recombine.errors import UnknownName, UsageError
from recombine.spec import encode, key_of
from recombine.tasks.scan import Scan
from recombine.tasks.scan_files import file_split
from recombine.tasks.scan_grammar import commands
from recombine.tasks.scan_splits import RULES, rule_split

OFFICIAL = Path("/work/shared/data/scan/scan.tar.xz")
needs_files = pytest.mark.skipif(
    not OFFICIAL.exists(), reason=f"the official SCAN files are not at {OFFICIAL}"
)


@needs_files
@pytest.mark.parametrize("name", RULES)
def test_a_rule_gives_the_official_lines_as_a_multiset(name: str) -> None:
    official = file_split(str(OFFICIAL), name)
    train, test = rule_split(name, 0)
    assert np.array_equal(np.sort(train), np.sort(official["train"]))
    assert np.array_equal(np.sort(test), np.sort(official["test"]))


@needs_files
def test_official_simple_and_mcd_splits_load() -> None:
    simple = file_split(str(OFFICIAL), "simple")
    assert sorted([*simple["train"], *simple["test"]]) == list(range(20_910))
    for name in ("mcd1", "mcd2", "mcd3"):
        parts = file_split(str(OFFICIAL), name)
        assert {part: len(rows) for part, rows in parts.items()} == {
            "train": 8365, "dev": 1046, "test": 1045,
        }  # fmt: skip
        assert len({*parts["train"], *parts["dev"], *parts["test"]}) == 8365 + 1046 + 1045


def test_jump_is_a_tenth_of_its_split_and_tested_everywhere_else() -> None:
    train, test = rule_split("addprim_jump", 0)
    jump = commands().by_text["jump"]
    assert (len(train), int((train == jump).sum()), len(test)) == (14_670, 1_467, 7_706)
    assert all("jump" in commands().texts[row] for row in test)


def test_simple_is_another_fifth_for_another_seed() -> None:
    (train, test), (_, other) = rule_split("simple", 0), rule_split("simple", 1)
    assert (len(train), len(test)) == (16_728, 4_182)
    assert sorted([*train, *test]) == list(range(20_910))
    assert len(np.intersect1d(test, other)) == pytest.approx(4182 / 5, abs=100)


def written(folder: Path, name: str, train: str, test: str = "IN: jump OUT: I_JUMP\n") -> Path:
    below = folder / "some_split"
    below.mkdir(exist_ok=True)
    (below / f"tasks_train_{name}.txt").write_text(train)
    (below / f"tasks_test_{name}.txt").write_text(test)
    return folder


def test_a_split_nobody_has_heard_of_loads_from_its_files(tmp_path: Path) -> None:
    lines = "IN: walk left OUT: I_TURN_LEFT I_WALK\nIN: run OUT: I_RUN\nIN: run OUT: I_RUN\n"
    parts = file_split(str(written(tmp_path, "odd_p4", lines)), "odd_p4")
    known = commands().by_text
    assert parts["train"].tolist() == [known["walk left"], known["run"], known["run"]]
    assert parts["test"].tolist() == [known["jump"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no commands"),
        ("walk I_WALK\n", "line 1: expected 'IN: … OUT: …'"),
        ("IN: walk OUT: I_WALK\nIN: fly OUT: I_FLY\n", "line 2: 'fly' is no command of SCAN"),
        ("IN: walk twice OUT: I_WALK\n", "should be 'I_WALK I_WALK'"),
        ("IN: turn OUT: \n", "'turn' is no phrase"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=r"tasks_train_bad\.txt") as caught:
        file_split(str(written(tmp_path, "bad", text)), "bad")
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="legal: good"):
        file_split(str(written(tmp_path, "good", "IN: run OUT: I_RUN\n")), "goood")
    with pytest.raises(UsageError, match="no folder or archive"):
        file_split(str(tmp_path / "nowhere"), "simple")
    (tmp_path / "some_split" / "tasks_test_good.txt").unlink()
    with pytest.raises(UsageError, match=r"but no tasks_test_good\.txt"):
        file_split(str(tmp_path), "good")
    (tmp_path / "broken.tar.xz").write_bytes(b"\xfd7zXZ\x00 and then nothing")
    with pytest.raises(UsageError, match="cannot be opened as an archive"):
        file_split(str(tmp_path / "broken.tar.xz"), "simple")
    (tmp_path / "some_split" / "tasks_train_bytes.txt").write_bytes(b"IN: \xff\xfe")
    (tmp_path / "some_split" / "tasks_test_bytes.txt").write_bytes(b"IN: \xff\xfe")
    with pytest.raises(UsageError, match="cannot be read as text"):
        file_split(str(tmp_path), "bytes")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "expected an object with trainIdxs"),
        (json.dumps({"trainIdxs": [0], "testIdxs": [9]}), "testIdxs should list whole numbers"),
        (json.dumps({"trainIdxs": [0.5], "testIdxs": [0]}), "trainIdxs should list whole numbers"),
        (json.dumps({"trainIdxs": [], "testIdxs": [0]}), "trainIdxs should list whole numbers"),
    ],
)
def test_a_malformed_list_of_lines_is_refused(tmp_path: Path, data: str, message: str) -> None:
    (tmp_path / "mcd9.json").write_text(data)
    (tmp_path / "tasks.txt").write_text("IN: run OUT: I_RUN\n")
    with pytest.raises(UsageError, match=message):
        file_split(str(tmp_path), "mcd9")


def test_line_numbers_need_the_lines(tmp_path: Path) -> None:
    (tmp_path / "mcd9.json").write_text(json.dumps({"trainIdxs": [0], "testIdxs": [0]}))
    with pytest.raises(UsageError, match=r"tasks\.txt, which is not beside it"):
        file_split(str(tmp_path), "mcd9")


def test_a_changed_file_makes_another_task(tmp_path: Path) -> None:
    """So that runs of the old file are not taken for runs of the new one."""
    place = written(tmp_path, "own", "IN: run OUT: I_RUN\nIN: walk OUT: I_WALK\n")
    before = Scan(split="own", path=str(place))
    assert key_of(before) == key_of(Scan(split="own", path=str(place)))
    written(tmp_path, "own", "IN: run OUT: I_RUN\nIN: look OUT: I_LOOK\n")
    assert key_of(Scan(split="own", path=str(place))) != key_of(before)
    assert "files" not in encode(Scan()) and "files" not in encode(Scan(path="/nowhere"))
