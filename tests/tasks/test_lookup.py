"""Lookup tables: the published split sizes, any other setting, the oracle, and official files."""

import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import BadValue, UsageError
from recombine.tasks.lookup import LookupTables
from recombine.tasks.sequence import StatesAttention
from recombine.tasks.task import IGNORE

PUBLISHED = {
    "train": 232,
    "validation": 16,
    "heldout_inputs": 40,
    "heldout_compositions": 64,
    "heldout_tables": 192,
    "new_compositions": 32,
}
OFFICIAL = Path("/work/shared/data/lookup/sample1.tar.xz")


def sizes(task: LookupTables) -> dict[str, int]:
    return {name: len(rows) for name, rows in task.splits().items()}


def as_set(rows: np.ndarray) -> set[tuple[int, ...]]:
    return set(map(tuple, rows.tolist()))


@pytest.mark.parametrize("seed", [0, 1, 17])
def test_the_published_setting_has_the_published_splits(seed: int) -> None:
    task = LookupTables(tables_seed=seed)
    assert sizes(task) == PUBLISHED
    rows = [as_set(rows) for rows in task.splits().values()]
    assert len(set().union(*rows)) == sum(map(len, rows)) == 576 == len(task.combinations("all"))
    train = task.splits()["train"]
    assert int((train[:, 2] == 8).sum()) == 64
    pairs, counts = np.unique(train[train[:, 2] < 8][:, 1:], axis=0, return_counts=True)
    assert len(pairs) == 28 and set(counts) == {6} and pairs.max() < 6
    assert (task.splits()["heldout_tables"][:, 1:] >= 6).sum(1).tolist() == [1] * 192
    assert (task.splits()["new_compositions"][:, 1:] >= 6).all()


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_setting_splits_all_pairs_without_overlap(data: st.DataObject) -> None:
    tables, bits = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 3))
    held = data.draw(st.integers(0, tables - 1))
    known = tables - held
    away = data.draw(st.integers(0, known**2 - 1))
    inputs = data.draw(st.integers(0, 2**bits - 1))
    trained = known**2 - away
    validation = data.draw(st.integers(0, trained * inputs))
    task = LookupTables(tables, bits, held, away, inputs, validation, tables_seed=3)
    strings = 2**bits
    wanted = {
        "train": tables * strings + trained * (strings - inputs),
        "validation": validation,
        "heldout_inputs": trained * inputs - validation,
        "heldout_compositions": away * strings,
        "heldout_tables": 2 * held * known * strings,
        "new_compositions": held**2 * strings,
    }
    assert sizes(task) == {name: size for name, size in wanted.items() if size}
    rows = [as_set(rows) for rows in task.splits().values()]
    assert len(set().union(*rows)) == sum(map(len, rows)) == strings * tables * (tables + 1)


def test_a_sentence_and_its_answer_by_hand() -> None:
    task = LookupTables()
    maps = task.content.maps
    z = np.array([[2, 0, 5], [2, 7, 8]])
    inputs = task.render(z, np.zeros((2, 3, 0), np.float32))
    assert task.sentence(inputs[0]) == ("010", "t1", "t6", ".")
    assert task.sentence(inputs[1]) == ("010", "t8", ".")
    once = int(maps[0, 2])
    answers = [[2, once, int(maps[5, once])], [2, int(maps[7, 2]), IGNORE]]
    assert task.targets(z).tolist() == task.oracle(inputs).tolist() == answers
    assert task.decode(task.targets(z)[1]) == ("010", f"{maps[7, 2]:03b}")
    assert task.attention(z).tolist() == [[0, 1, 2], [0, 1, IGNORE]]
    assert isinstance(task, StatesAttention)
    assert np.array_equal(task.encode([("010", "t1", "t6", "."), ("010", "t8", ".")]), inputs)
    assert all(sorted(table) == list(range(8)) for table in maps.tolist())


def test_vocabularies_are_as_large_as_published() -> None:
    task = LookupTables()
    assert (len(task.source_words), len(task.target_words)) == (19, 11)
    assert task.target_words[-1] == "<sos>"


def test_longer_chains_are_splits_of_their_own() -> None:
    task = LookupTables(longest=5, longer=50)
    assert {k: v for k, v in sizes(task).items() if k in PUBLISHED} == PUBLISHED
    for length in (3, 4, 5):
        for kind in ("seen", "incremental", "new"):
            rows = task.splits()[f"longer_{kind}_{length}"]
            assert len(as_set(rows)) == len(rows) == 50
            chain = rows[:, 1 : length + 1]
            assert (chain < 8).all() and (rows[:, length + 1 :] == 8).all()
            new = (chain >= 6).sum(1)
            assert {
                "seen": new == 0,
                "incremental": (new > 0) & (new < length),
                "new": new == length,
            }[kind].all()
    z = task.splits()["longer_seen_4"]
    inputs = task.render(z, np.zeros((50, 6, 0), np.float32))
    assert np.array_equal(task.oracle(inputs), task.targets(z))
    assert (task.targets(z)[:, :5] >= 0).all() and (task.targets(z)[:, 5] == IGNORE).all()


def test_a_chain_ends_at_the_first_none() -> None:
    task = LookupTables(longest=3)
    z = np.array([[1, 0, 8, 4], [1, 0, 8, 8]])
    inputs = task.render(z, np.zeros((2, 4, 0), np.float32))
    assert np.array_equal(inputs[0], inputs[1])
    assert np.array_equal(*task.targets(z))


def test_a_product_too_large_to_list_is_still_drawn_from() -> None:
    task = LookupTables(longest=10)
    examples = task.sample("all", 500, np.random.default_rng(0))
    assert np.array_equal(task.oracle(examples.inputs), examples.targets)
    assert (examples.z.max(0) == np.array(task.sizes) - 1).all()


def test_drawing_from_the_product_is_the_same_listed_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = LookupTables()
    listed = task.draw("all", 100, np.random.default_rng(1))[0]
    monkeypatch.setattr("recombine.tasks.task.LISTED", 10)
    assert np.array_equal(task.draw("all", 100, np.random.default_rng(1))[0], listed)


@pytest.mark.parametrize(
    ("field", "value", "legal"),
    [
        ("tables", 0, "at least 1"),
        ("bits", 0, "from 1 to 10"),
        ("held_tables", 8, "fewer than there are tables"),
        ("held_compositions", 36, "from 0 to 35"),
        ("held_inputs", 8, "from 0 to 7"),
        ("validation", 57, "from 0 to 56"),
        ("longest", 1, "at least 2"),
    ],
)
def test_settings_that_cannot_be_are_refused(field: str, value: int, legal: str) -> None:
    with pytest.raises(BadValue, match=legal):
        replace(LookupTables(), **{field: value})


# Official files


def folder(tmp_path: Path) -> Path:
    """Files of a small sample in the official format, written from one of our own."""
    task = LookupTables(tables=3, held_tables=1, held_compositions=1, validation=2, bits=2)
    for name, z in task.splits().items():
        inputs = task.render(z, np.zeros((len(z), 3, 0), np.float32))
        lines = []
        for source, answer in zip(inputs, task.targets(z), strict=True):
            words = task.sentence(source)
            looks = " ".join(map(str, range(len(words))))
            lines.append(f"{' '.join(words)}\t{' '.join(task.decode(answer))}\t{looks}\n")
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    return tmp_path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    ours = LookupTables(tables=3, held_tables=1, held_compositions=1, validation=2, bits=2)
    theirs = LookupTables(path=str(folder(tmp_path)))
    assert theirs.source_words == ours.source_words and theirs.sizes == ours.sizes
    assert np.array_equal(theirs.content.maps, ours.content.maps)
    for name, rows in ours.splits().items():
        assert np.array_equal(theirs.splits()[name], rows)


@pytest.mark.skipif(not OFFICIAL.exists(), reason="the official sample is not on this machine")
def test_the_official_sample_has_the_published_splits(tmp_path: Path) -> None:
    task = LookupTables(path=str(OFFICIAL))
    assert sizes(task) == PUBLISHED
    assert task.sizes == (8, 8, 9)
    assert (len(task.source_words), len(task.target_words)) == (19, 11)
    longer = sizes(replace(task, longest=3))
    assert longer["longer_compositions_seen"] == 544
    assert longer["longer_compositions_incremental"] == 1084
    with tarfile.open(OFFICIAL) as archive:
        archive.extractall(tmp_path, filter="data")
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
    (place / "other.tsv").write_text("")  # a new name, so that nothing remembered is used
    moved = place.rename(place.parent / "moved")
    with pytest.raises(
        UsageError, match=r"validation.tsv line 1: t1 makes 01 into .* as in .*train"
    ):
        LookupTables(path=str(moved)).splits()


def test_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file or directory"):
        LookupTables(path=str(tmp_path / "nowhere")).splits()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"there is no train.tsv"):
        LookupTables(path=str(tmp_path / "empty")).splits()
    (tmp_path / "bad.tar").write_text("this is no tar file")
    with pytest.raises(UsageError, match="is no tar file"):
        LookupTables(path=str(tmp_path / "bad.tar")).splits()
