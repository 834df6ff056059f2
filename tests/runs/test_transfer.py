"""Runs carried from one store to another in a file, each line checked for itself."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from toy_runs import KEY, broken, done

from recombine.errors import DamagedRun, UsageError
from recombine.runs import Store, export, load
from recombine.runs import record as records


@pytest.fixture
def filled(store):
    bare = done(2, width=3, size=0, weights=False)
    store.put_many([done(11), done(2), bare, broken(5), done(1, width=2)])
    return store


@pytest.fixture
def other(tmp_path):
    with Store.open(tmp_path / "other") as opened:
        yield opened


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
def test_there_and_back(filled, other, tmp_path, name):
    path = tmp_path / name
    assert export(filled, path) == 4
    assert load(other, path) == (4, 0, [])
    assert load(other, path) == (0, 4, [])
    for row in filled.index.rows():
        if row.status == "done":
            record, arrays = filled.get(row.cell_key, row.seed)
            copy, copied = other.get(row.cell_key, row.seed, weights=True)
            assert copy == records.without_weights(record)
            assert arrays.keys() == copied.keys()
            for key in arrays:
                np.testing.assert_array_equal(arrays[key], copied[key], strict=True)
    assert other.verify() == []
    again = tmp_path / f"again-{name}"
    export(other, again)
    assert again.read_bytes() == path.read_bytes()


def test_lines_are_sorted_and_counted(filled, tmp_path):
    export(filled, tmp_path / "a.jsonl", [KEY])
    header, *lines = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    assert header == {"recombine-runs": 1, "count": 2}
    assert [line["record"]["seed"] for line in lines] == [2, 11]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "store"]


def test_a_failed_run_gives_way_to_an_imported_one(filled, other, tmp_path):
    export(filled, tmp_path / "a.jsonl")
    other.put(broken(2))
    assert load(other, tmp_path / "a.jsonl").added == 4
    assert other.has(KEY) == {2: "done", 11: "done"}


def _edit(line, change):
    data = json.loads(line)
    change(data)
    return json.dumps(data)


HARMS = {
    "not JSON": lambda line: line[:-10],
    "another number": lambda line: line.replace('"accuracy":0.5', '"accuracy":0.9'),
    "other arrays": lambda line: _edit(line, lambda d: d.update(arrays="AAAA")),
    "no arrays": lambda line: _edit(line, lambda d: d.pop("arrays")),
    "not base64": lambda line: _edit(line, lambda d: d.update(arrays="é")),
    "arrays of no text": lambda line: _edit(line, lambda d: d.update(arrays=[1])),
    "no record": lambda line: "{}",
    "a list": lambda line: "[]",
    "blank": lambda line: "",
    "failed": lambda line: json.dumps({"record": records.to_json(broken(1).record)}),
    "another's key": lambda line: json.dumps({"record": _moved()}),
}


def _moved():
    run = done(1, weights=False)
    stolen = {**vars(run.record), "cell_key": "0" * 24, "files": {}}
    return records.to_json(records.seal(records.Record(**stolen)))


@pytest.mark.parametrize("harm", HARMS)
def test_a_bad_line_is_refused_alone(filled, other, tmp_path, harm):
    path = tmp_path / "a.jsonl"
    export(filled, path)
    lines = path.read_text().splitlines()
    lines[2] = HARMS[harm](lines[2])
    path.write_text("\n".join(lines) + "\n")
    added, already, refused = load(other, path)
    assert (added, already, [number for number, _ in refused]) == (3, 0, [3])
    assert other.verify() == []


def test_a_cut_file_says_how_much_is_missing(filled, other, tmp_path):
    path = tmp_path / "a.jsonl"
    export(filled, path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    assert load(other, path) == (2, 0, [(4, "the file ends after 2 of 4 runs")])


EMPTY = b'{"recombine-runs": 1, "count": 0}\n'


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, "No such file"),
        (b"", "not a file of runs"),
        (b"hello\n", "not a file of runs"),
        (b'{"some": "json"}\n', "not a file of runs"),
        (b'{"recombine-runs": 2, "count": 0}\n', "upgrade"),
        (gzip.compress(EMPTY, mtime=0)[:-6], "export it again"),
        (gzip.compress(EMPTY, mtime=0) + b"junk", "export it again"),
        (b"\x1f\x8bnonsense", "export it again"),
    ],
    ids=["absent", "empty", "text", "json", "newer", "cut off", "junk behind", "no archive"],
)
def test_a_file_that_is_not_ours_is_refused_in_one_line(other, tmp_path, content, match):
    path = tmp_path / "a.jsonl.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=match) as caught:
        load(other, path)
    assert "\n" not in str(caught.value)


def test_a_truncated_archive_adds_nothing(filled, other, tmp_path):
    path = tmp_path / "a.jsonl.gz"
    export(filled, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError):
        load(other, path)
    assert other.index.rows() == []


def test_nothing_to_export_keeps_the_old_file(filled, other, tmp_path):
    path = tmp_path / "a.jsonl"
    export(filled, path)
    before = path.read_bytes()
    for store, keys in ((other, None), (filled, ["unknown"])):
        with pytest.raises(UsageError, match="nothing to export"):
            export(store, path, keys)
    assert path.read_bytes() == before


def test_export_keeps_the_old_file_when_it_fails(filled, tmp_path):
    path = tmp_path / "a.jsonl"
    export(filled, path)
    before = path.read_bytes()
    (filled.path / "runs" / KEY / "11" / "arrays.safetensors").unlink()
    with pytest.raises(DamagedRun):
        export(filled, path)
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.jsonl", "store"]
    with pytest.raises(UsageError, match="jsonl"):
        export(filled, tmp_path / "a.csv")
