"""The store: a run is there or it is not, whoever writes, dies or edits."""

from __future__ import annotations

import json
import os
import random
import threading
import time

import numpy as np
import pytest
from toy_runs import KEY, broken, done, ended, start

from recombine.errors import BadValue, DamagedRun, StoreError, StoreFull, UsageError
from recombine.runs import Store, disk


def test_what_is_put_is_got(store):
    assert store.put(done(3)) is True
    record, arrays = store.get(KEY, 3)
    assert record == done(3).record
    np.testing.assert_array_equal(arrays["curve"], np.arange(10) + 3)
    assert set(store.get(KEY, 3, weights=True)[1]) == {"curve", "weights/layer"}
    assert set(store.get_many(KEY, [3])) == {3}
    assert not list((store.path / "aside").iterdir())


def test_a_run_that_is_not_there(store):
    for ask in (store.get, store.set_aside):
        with pytest.raises(StoreError, match=f"no run {KEY}/1"):
            ask(KEY, 1)
    with pytest.raises(BadValue):
        store.get("../secret", 1)


def test_the_first_finished_run_stays_and_a_failed_one_gives_way(store):
    assert store.put(broken(1, "first")) and store.put(broken(1, "second"))
    assert store.get(KEY, 1)[0].error == "second"
    assert store.put(done(1, size=5))
    assert not store.put(done(1, size=6))
    assert not store.put(broken(1))
    assert store.get(KEY, 1)[1]["curve"].size == 5
    assert store.has(KEY) == {1: "done"}
    assert not list((store.path / "aside").iterdir())


def test_failed_runs_are_removed(store):
    store.put_many([broken(1), done(2), broken(3)])
    assert store.remove_failed() == 2
    assert store.has(KEY) == {2: "done"}
    assert [path.name for path in (store.path / "runs" / KEY).iterdir()] == ["2"]


def _cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def _edit_record(path):
    record = path.with_name("record.json")
    record.write_text(record.read_text().replace("0.5", "0.9"))


HARMS = {
    "truncated arrays": ("arrays.safetensors", _cut, "arrays.safetensors does not match"),
    "flipped bit": ("arrays.safetensors", _flip, "arrays.safetensors does not match"),
    "no arrays": ("arrays.safetensors", os.unlink, "arrays.safetensors is missing"),
    "no weights": ("weights.safetensors", os.unlink, "weights.safetensors is missing"),
    "edited record": ("record.json", _edit_record, "does not match its digest"),
    "truncated record": ("record.json", lambda p: p.write_bytes(p.read_bytes()[:99]), "not JSON"),
    "empty record": ("record.json", lambda p: p.write_bytes(b""), "not JSON"),
    "no record": ("record.json", os.unlink, "record.json is missing"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_damage_is_named_set_aside_and_made_again(store, harm):
    name, change, words = HARMS[harm]
    store.put_many([done(1), done(2)])
    place = store.path / "runs" / KEY / "1"
    change(place / name)
    with pytest.raises(DamagedRun, match=words) as caught:
        store.get(KEY, 1)
    assert str(place) in str(caught.value) and "verify --redo" in str(caught.value)
    ((path, wrong),) = store.verify()
    assert path == place and words in wrong
    moved = store.set_aside(KEY, 1)
    assert moved.parent.name == "damaged" and moved.is_dir() and not place.exists()
    assert store.has(KEY) == {2: "done"}
    assert store.put(done(1)) and store.verify() == []


def test_damaged_weights_show_when_they_are_read(store):
    store.put(done(1))
    _cut(store.path / "runs" / KEY / "1" / "weights.safetensors")
    store.get(KEY, 1)
    with pytest.raises(DamagedRun, match="weights"):
        store.get(KEY, 1, weights=True)
    assert len(store.verify()) == 1


def test_a_run_under_another_name_is_damaged(store):
    store.put(done(1))
    os.rename(store.path / "runs" / KEY / "1", store.path / "runs" / KEY / "8")
    with pytest.raises(DamagedRun, match=f"that of run {KEY}/1"):
        store.get(KEY, 8)


def test_a_new_run_sets_a_damaged_one_aside(store):
    store.put(done(1))
    _cut(store.path / "runs" / KEY / "1" / "arrays.safetensors")
    assert store.put(done(1))
    assert store.verify() == []
    assert len(list((store.path / "damaged").iterdir())) == 1


def test_verify_tells_how_far_it_is(store):
    store.put_many(done(seed) for seed in range(3))
    told: list[tuple[int, int]] = []
    store.verify(lambda *numbers: told.append(numbers))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_what_is_not_a_store_is_not_touched(tmp_path):
    with pytest.raises(UsageError, match="no store"):
        Store.open(tmp_path / "nowhere", create=False)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=f"{tmp_path} is not a store"):
        Store.open(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        Store.open(tmp_path / "mine.txt")
    assert os.listdir(tmp_path) == ["mine.txt"]


@pytest.mark.parametrize(
    ("text", "match"), [('{"store": 2}', "upgrade"), ("", "edited or damaged")]
)
def test_a_store_of_another_format(tmp_path, text, match):
    (tmp_path / "store.json").write_text(text)
    with pytest.raises(StoreError, match=match):
        Store.open(tmp_path)


def test_a_store_whose_mark_cannot_be_read(tmp_path):
    (tmp_path / "store.json").mkdir()
    with pytest.raises(StoreError, match=r"cannot read .*store.json"):
        Store.open(tmp_path)


def test_only_what_the_dead_left_is_swept(store):
    dead = start("import os; print(os.getpid())")
    pid = int(ended(dead))
    aside = store.path / "aside"
    ours, theirs = disk.fresh(aside), aside / f"{disk._host()}-{pid}-abc"
    elsewhere, old = aside / f"farhost-{pid}-abc", aside / "farhost-1-old"
    for path in (ours, theirs, elsewhere, old):
        path.mkdir()
        (path / "record.json").write_text("{")
    os.utime(old, (time.time() - 4000,) * 2)
    Store.open(store.path).close()
    assert set(os.listdir(aside)) == {ours.name, elsewhere.name}


WRITE = """
with Store.open(sys.argv[1]) as store:
    print("open", flush=True)
    for seed in range(10**6):
        store.put(toy.broken(seed)) if seed % 3 == 0 else None
        store.put(toy.done(seed, size=3000))
        print(seed, flush=True)
"""


def test_kill_at_any_moment(tmp_path):
    """What was reported finished is there, and what is there is whole."""
    chance = random.Random(0)
    for trial in range(8):
        path = tmp_path / f"store{trial % 2}"
        process = start(WRITE, path)
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        time.sleep(chance.uniform(0, 0.15))
        process.kill()
        out, _ = process.communicate()
        reported = [int(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]
        with Store.open(path) as store:
            assert store.verify() == []
            statuses = store.has(KEY)
            assert all(statuses[seed] == "done" for seed in reported)
            assert statuses == {seed: store.get(KEY, seed)[0].status for seed in statuses}
            assert not os.listdir(path / "aside")


FULL = """
import resource
import numpy as np
from recombine.errors import StoreFull
from recombine.runs import export

with Store.open(sys.argv[1]) as store:
    store.put(toy.done(0))
    store.put(toy.done(0, width=2, size=100_000))
    checkpoint = store.checkpoint("long")
    checkpoint.save({"w": np.ones(10)})
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
    for act in (
        lambda: store.put_many([toy.done(1), toy.done(2, size=100_000), toy.done(3)]),
        lambda: checkpoint.save({"w": np.ones(100_000)}),
        lambda: export(store, sys.argv[2]),
        lambda: [store.put(toy.done(seed)) for seed in range(10, 2000)],  # until the index is full
    ):
        try:
            act()
        except StoreFull as error:
            print(error)
"""


def test_a_full_disk_is_said_and_loses_nothing(tmp_path):
    path = tmp_path / "store"
    said = ended(start(FULL, path, tmp_path / "a.jsonl")).splitlines()
    for line, what in zip(said, (f"{KEY}/2", "checkpoint", "export", "index"), strict=True):
        assert what in line and str(tmp_path) in line
        assert "nothing finished was lost; free space and run the same command again" in line
    assert os.listdir(tmp_path) == ["store"] and os.listdir(path / "aside") == []
    with Store.open(path) as store:
        assert {0, 1, 10} <= set(store.has(KEY)) and not {2, 3} & set(store.has(KEY))
        assert set(store.has(KEY)) == {int(name) for name in os.listdir(path / "runs" / KEY)}
        assert store.verify() == []
        state = store.checkpoint("long").load()
        assert state is not None and state["w"].size == 10
        assert store.put_many([done(2, size=100_000), done(3)]) == [True, True]


def test_a_full_disk_by_quota(store, monkeypatch):
    def refuse(*_):
        raise OSError(122, "Disk quota exceeded")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StoreFull, match="quota"):
        store.put(done(1))
    monkeypatch.undo()
    assert not list((store.path / "aside").iterdir()) and store.has(KEY) == {}


RACE = """
first, last = int(sys.argv[2]), int(sys.argv[3])
with Store.open(sys.argv[1]) as store:
    kept = 0
    for seed in range(first, last):
        if seed % 2:
            store.put(toy.broken(seed))
        kept += store.put(toy.done(seed))
    print(kept)
"""


def test_processes_put_the_same_and_different_runs_at_once(tmp_path):
    path = tmp_path / "store"  # made by whoever comes first
    spans = [(0, 60), (0, 60), (30, 90)]
    processes = [start(RACE, path, *span) for span in spans]
    kept = [int(ended(process)) for process in processes]
    with Store.open(path) as store:
        assert store.has(KEY) == dict.fromkeys(range(90), "done")
        assert store.verify() == []
        assert not list((path / "aside").iterdir()) and not list((path / "damaged").iterdir())
    assert sum(kept) == 90


def test_threads_share_a_store(store):
    threads = [
        threading.Thread(target=lambda: store.put_many(done(seed) for seed in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.has(KEY)) == 20 and store.verify() == []


CLAIM = """
import time
with Store.open(sys.argv[1]) as store:
    for _ in range(40):
        with store.claim("job"):
            path = store.path / "turn"
            count = int(path.read_text())
            time.sleep(0.001)
            path.write_text(str(count + 1))
"""


def test_a_claim_is_held_by_one_at_a_time(store):
    (store.path / "turn").write_text("0")
    for process in [start(CLAIM, store.path) for _ in range(3)]:
        ended(process)
    assert (store.path / "turn").read_text() == "120"
    assert os.listdir(store.path / "locks") == []


def test_who_waits_for_a_claim_is_asked_meanwhile_and_may_give_up(store):
    asked: list[int] = []

    def wait() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with store.claim("job"):
        with pytest.raises(KeyboardInterrupt), store.claim("job", wait):
            pass
        assert os.listdir(store.path / "locks") == ["job"]
    with store.claim("job", wait):
        assert len(asked) == 3


HOLD = """
import time
with Store.open(sys.argv[1]) as store, store.claim("job"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_claim_dies_with_its_process(store):
    process = start(HOLD, store.path)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    process.kill()
    process.communicate()
    with store.claim("job"):
        pass


def test_the_layout_is_as_written(store):
    store.put(done(4))
    assert json.loads((store.path / "store.json").read_text()) == {"store": 1}
    files = sorted(entry.name for entry in (store.path / "runs" / KEY / "4").iterdir())
    assert files == ["arrays.safetensors", "record.json", "weights.safetensors"]
