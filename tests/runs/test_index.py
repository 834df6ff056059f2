"""The index: quick answers that never differ from the directory for longer than an open."""

from __future__ import annotations

import os
import shutil
import sqlite3

import pytest
from toy_runs import KEY, broken, done, ended, start

from recombine.errors import StoreError
from recombine.runs import Store

SCRIPTS = {
    "other schema": "PRAGMA user_version = 99",
    "no table": "",
    "other table": "CREATE TABLE runs (mine TEXT); PRAGMA user_version = 0",
}


@pytest.fixture
def filled(store):
    store.put_many([*(done(seed) for seed in range(5)), done(0, width=2), broken(7)])
    return store


def test_queries(filled):
    other = done(0, width=2).record.cell_key
    assert filled.has(KEY) == {0: "done", 1: "done", 2: "done", 3: "done", 4: "done", 7: "failed"}
    assert filled.has("unknown") == {}
    assert filled.index.counts() == {KEY: {"done": 5, "failed": 1}, other: {"done": 1}}
    assert filled.index.sources() == {KEY: {"abc": 5}, other: {"abc": 1}}
    row = filled.index.rows(other)[0]
    assert (row.seed, row.task, row.model, row.seconds) == (0, "corners", None, 0.5)


@pytest.mark.parametrize(
    "harm",
    ["deleted", "zeroed", "text", "torn", "other schema", "no table", "other table", "a page"],
)
def test_a_harmed_index_is_rebuilt_with_the_same_content(filled, harm):
    before = filled.index.rows()
    filled.close()
    path = filled.index.path
    content = path.read_bytes()
    if harm == "deleted":
        path.unlink()
    elif harm in SCRIPTS:
        connection = sqlite3.connect(path)
        connection.executescript(f"DROP TABLE runs; {SCRIPTS[harm]}")
        connection.close()
    else:
        path.write_bytes(
            {
                "zeroed": b"",
                "text": b"not a database at all" * 100,
                "torn": content[: len(content) // 2 + 100],
                "a page": content[:4096] + b"\xff" * (len(content) - 4096),
            }[harm]
        )
    with Store.open(filled.path) as again:
        assert again.index.rows() == before
    assert path.stat().st_size > 4096


def test_runs_that_came_or_went_unseen_are_noticed_at_open(filled, tmp_path):
    runs = filled.path / "runs" / KEY
    with Store.open(tmp_path / "other") as other:
        other.put_many([done(9), done(7)])
        shutil.copytree(other.path / "runs" / KEY / "9", runs / "9")
        shutil.copytree(other.path / "runs" / KEY / "7", tmp_path / "7")
    shutil.rmtree(runs / "3")
    shutil.rmtree(runs / "7")
    os.rename(tmp_path / "7", runs / "7")
    (filled.path / "runs" / "Notes of mine").mkdir()
    (runs / "notes.txt").write_text("mine")
    with Store.open(filled.path) as again:
        assert sorted(again.has(KEY)) == [0, 1, 2, 4, 7, 9]
        assert set(again.has(KEY).values()) == {"done"}


def test_a_damaged_run_is_not_indexed_when_found(filled):
    (filled.path / "runs" / KEY / "2" / "record.json").write_text("{")
    filled.index.drop([(KEY, 2)])
    with Store.open(filled.path) as again:
        assert 2 not in again.has(KEY)
        assert [path.name for path, _ in again.verify()] == ["2"]


def test_an_index_that_cannot_be_written_is_kept_in_memory(filled):
    filled.close()
    filled.index.path.unlink()
    filled.index.path.mkdir()
    with Store.open(filled.path) as again:
        assert len(again.has(KEY)) == 6


def test_errors_are_plain(filled):
    filled.index._connection.execute("DROP TABLE runs")
    with pytest.raises(StoreError, match="run the same command again"):
        filled.has(KEY)


def test_what_another_process_puts_is_seen_at_once(filled):
    ended(start("with Store.open(sys.argv[1]) as s: s.put(toy.done(50))", filled.path))
    assert filled.has(KEY)[50] == "done"
