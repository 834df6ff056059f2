"""Faults: whatever is killed, damaged, full or interrupted, the same command ends the same way."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recombine.conduct import requests
from recombine.engine import Ended, execute, plan
from recombine.runs import Store
from recombine.spec import key_of
from shell import CELLS, Launch, call, ended, group, records, reproduce, until, wanted, workers
from toys import Toy, ran

SEEDS = 3
MANY = 40
EVERYTHING = 6 * MANY + 9
"""Records of `MANY` seeds: the portraits are of nine."""

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store made without any fault, and what was printed; tests work on copies of it."""
    store = tmp_path_factory.mktemp("reference") / "store"
    said = reproduce(store, SEEDS, "--json")
    assert said.code == 0
    return store, said.out


@pytest.fixture(scope="module")
def long_reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the longer command prints when nothing happens to it."""
    said = reproduce(tmp_path_factory.mktemp("long") / "store", MANY, "--json")
    assert said.code == 0
    return said.out


@pytest.fixture
def whole(reference: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy of the finished store, known to its index."""
    copy = Path(shutil.copytree(reference[0], tmp_path / "store"))
    Store.open(copy).close()
    return copy


# Kill


@linux
def test_a_kill_at_any_moment_loses_nothing_and_repeats_nothing(
    launch: Launch, long_reference: str, tmp_path: Path
) -> None:
    store, chance = tmp_path / "store", random.Random(0)
    kept: dict[str, tuple[int, int]] = {}
    for moment in (0, chance.randint(1, 60), chance.randint(1, 60)):
        process = launch(*wanted(store, MANY, "--workers", 2))
        enough = len(kept) + moment
        until(lambda p=process: bool(workers(p.pid)), process)
        until(lambda least=enough: len(records(store)) >= least, process)
        process.kill()
        until(lambda p=process: not group(p.pid), within=20)
        said = ended(process)
        assert not said.err or f" {len(kept)} seeds done" in said.err
        after = records(store)
        assert kept.items() <= after.items()
        kept = after
    assert 0 < len(kept) < EVERYTHING
    said = reproduce(store, MANY)
    assert f" {len(kept)} seeds done, {EVERYTHING - len(kept)} to run" in said.err
    assert kept.items() <= records(store).items()
    assert reproduce(store, MANY, "--json").out == long_reference
    assert call("runs", "verify", "--store", store).code == 0


@linux
def test_a_killed_worker_ends_the_command_in_one_line(
    launch: Launch, long_reference: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    process = launch(*wanted(store, MANY, "--workers", 2, "--json"))
    until(lambda: len(records(store)) > 0, process)
    os.kill(workers(process.pid)[0], signal.SIGKILL)
    said = ended(process)
    assert said.code == 1 and "a worker process died" in said.line
    kept = records(store)
    assert reproduce(store, MANY, "--json").out == long_reference
    assert kept.items() <= records(store).items()


# Ctrl-C


@linux
@pytest.mark.parametrize("least", [0, 1], ids=["while workers import", "in the middle"])
def test_ctrl_c_says_how_to_continue_and_the_same_command_does(
    launch: Launch, long_reference: str, tmp_path: Path, least: int
) -> None:
    store = tmp_path / "store"
    process = launch(*wanted(store, MANY, "--workers", 2, "--json"))
    until(lambda: len(workers(process.pid)) == 2 and len(records(store)) >= least, process)
    time.sleep(0.0 if least else 0.5)
    os.killpg(process.pid, signal.SIGINT)
    said = ended(process)
    assert (said.code, said.out) == (130, "")
    assert "run the same command again" in said.line
    kept = records(store)
    assert len(kept) < EVERYTHING
    assert reproduce(store, MANY, "--json").out == long_reference
    assert kept.items() <= records(store).items()


# Adding seeds


def test_adding_seeds_trains_only_the_new_ones_and_asking_again_none(
    whole: Path, reference: tuple[Path, str]
) -> None:
    before = records(whole)
    assert f" {SEEDS * CELLS} seeds done, 0 to run" in reproduce(whole, SEEDS).err
    assert records(whole) == before
    assert f" {SEEDS * CELLS} seeds done, {2 * CELLS} to run" in reproduce(whole, SEEDS + 2).err
    assert before.items() <= records(whole).items() and len(records(whole)) == (SEEDS + 2) * CELLS
    assert reproduce(whole, SEEDS, "--json").out == reference[1], "of the seeds asked for only"


# A cell that fails


def test_a_failing_cell_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    good, bad = Toy(str(tmp_path / "good")), Toy(str(tmp_path / "bad"), fails_from=10)
    cells = {"bad": (bad, range(12)), "good": (good, range(12))}
    with Store.open(tmp_path / "store") as store:
        events = list(execute(plan(cells, store).jobs, store.path, workers=1))
        errors = {event.job: event.error for event in events if isinstance(event, Ended)}
        assert errors["bad [10–11]"] == "ArithmeticError: seed 11 [/does not] compose"
        assert [job for job, error in errors.items() if error] == ["bad [10–11]"]
        assert store.has(key_of(good)) == dict.fromkeys(range(12), "done")
        fates = dict.fromkeys(range(10), "done") | {10: "failed", 11: "failed"}
        assert store.has(key_of(bad)) == fates
        record, arrays = store.get(key_of(bad), 11)
        assert "Traceback" in (record.error or "") and "in run" in (record.error or "")
        assert record.scalars == {} and arrays == {}
        again = plan(cells, store)
        assert (again.missing, again.retried) == (2, 2)
        list(execute(again.jobs, store.path, workers=1))
    assert ran(tmp_path / "bad") == [*range(12), 10, 11]
    assert ran(tmp_path / "good") == [*range(12)]


@pytest.mark.parametrize(("gives", "error"), [("texts", "BadValue"), ("nothing", "KeyError: 0")])
def test_an_outcome_that_is_none_is_a_failure_of_the_cell(
    tmp_path: Path, gives: str, error: str
) -> None:
    cell = Toy(str(tmp_path / "log"), gives=gives)
    with Store.open(tmp_path / "store") as store:
        *_, end = execute(plan({"odd": (cell, range(2))}, store).jobs, store.path, workers=1)
        assert isinstance(end, Ended) and error in (end.error or "")
        assert store.has(key_of(cell)) == {0: "failed", 1: "failed"}


def test_a_failure_is_told_and_tried_again(tmp_path: Path) -> None:
    """A batch that no memory holds fails every cell; smaller ones then answer."""
    huge = ("--set", f"recipe.batch={2**50}")
    said = reproduce(tmp_path / "store", 1, *huge)
    assert said.code == 1 and "Traceback" not in said.err
    assert said.err.count(" failed: ") == CELLS
    assert "nothing can be judged" in said.err.splitlines()[-1]
    status = call("status", *wanted(tmp_path / "store", 1, *huge)[1:], "--json").json
    assert {cell["failed"] for cell in status["cells"]} == {1}
    assert len(status["failures"]) == CELLS
    assert all("Traceback" in text for text in status["failures"].values())
    assert f"{CELLS} of them tried again" in reproduce(tmp_path / "store", 1, *huge).err


# Damage


def cut_arrays(place: Path) -> None:
    path = place / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def cut_record(place: Path) -> None:
    path = place / "record.json"
    path.write_bytes(path.read_bytes()[:200])


def edit_record(place: Path) -> None:
    path = place / "record.json"
    record = json.loads(path.read_text())
    record["scalars"]["accuracy/corner"] = 1.0
    path.write_text(json.dumps(record))


def lose_arrays(place: Path) -> None:
    (place / "arrays.safetensors").unlink()


def main_run(store: Path, seed: int) -> Path:
    """Where a run of the main cell is."""
    (asked,) = requests(["gradient/corners"], profile="as-printed", settings=["recipe.steps=36"])
    return store / "runs" / key_of(asked.needs()["main"].cell) / str(seed)


@pytest.mark.parametrize("harm", [cut_arrays, cut_record, edit_record, lose_arrays])
def test_a_damaged_run_is_named_set_aside_and_made_again(
    whole: Path, reference: tuple[Path, str], harm: Callable[[Path], None]
) -> None:
    before, places = records(whole), [main_run(whole, seed) for seed in (0, 2)]
    for place in places:
        harm(place)
    said = reproduce(whole, SEEDS, "--json")
    assert (said.code, said.out) == (1, "")
    assert str(places[0]) in said.line and "runs verify --redo" in said.line
    said = call("runs", "verify", "--store", whole)
    assert said.code == 1 and all(f"damaged: {place} " in said.out for place in places)
    said = call("runs", "verify", "--redo", "--store", whole, "--json")
    assert said.code == 0
    assert [each["path"] for each in said.json["damaged"]] == [str(place) for place in places]
    assert len(os.listdir(whole / "damaged")) == 2
    said = reproduce(whole, SEEDS)
    assert f" {SEEDS * CELLS - 2} seeds done, 2 to run" in said.err
    redone = {str((place / "record.json").relative_to(whole)) for place in places}
    assert {path for path, stamp in records(whole).items() if before[path] != stamp} == redone
    assert reproduce(whole, SEEDS, "--json").out == reference[1]


def test_a_record_that_no_index_could_read_is_named_too(
    whole: Path, reference: tuple[Path, str]
) -> None:
    cut_record(main_run(whole, 1))
    (whole / "index.sqlite").unlink()
    said = reproduce(whole, SEEDS)
    assert said.code == 1 and str(main_run(whole, 1)) in said.line
    assert call("runs", "verify", "--redo", "--store", whole).code == 0
    (aside,) = (whole / "damaged").iterdir()
    assert len((aside / "record.json").read_bytes()) == 200
    assert f" {SEEDS * CELLS - 1} seeds done, 1 to run" in reproduce(whole, SEEDS).err
    assert reproduce(whole, SEEDS, "--json").out == reference[1]


def delete(index: Path) -> None:
    index.unlink()


def spoil(index: Path) -> None:
    index.write_bytes(b"no database at all, but garbage " * 300)


def obstruct(index: Path) -> None:
    """Something that SQLite cannot open, and nobody may remove."""
    index.unlink()
    index.mkdir()


@pytest.mark.parametrize("harm", [delete, spoil, obstruct])
def test_the_index_is_only_a_cache(
    whole: Path, reference: tuple[Path, str], harm: Callable[[Path], None]
) -> None:
    before = records(whole)
    harm(whole / "index.sqlite")
    assert reproduce(whole, SEEDS, "--json").out == reference[1]
    assert records(whole) == before
    said = reproduce(whole, SEEDS + 1)
    assert said.code == 0 and f" {SEEDS * CELLS} seeds done, {CELLS} to run" in said.err


# A full disk


@linux
def test_a_full_disk_is_one_line_and_the_same_command_goes_on(
    launch: Launch, reference: tuple[Path, str], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    said = ended(launch(*wanted(store, SEEDS, "--workers", 2, "--json"), room=15_000))
    assert (said.code, said.out) == (1, "")
    assert "no room to write run" in said.line and str(store) in said.line
    assert "run the same command again" in said.line
    kept = records(store)
    assert len(kept) < SEEDS * CELLS
    assert call("runs", "verify", "--store", store).code == 0
    assert reproduce(store, SEEDS, "--json").out == reference[1]
    assert kept.items() <= records(store).items()


# Several at once


@linux
def test_two_of_the_same_command_at_once(
    launch: Launch, reference: tuple[Path, str], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    both = [launch(*wanted(store, SEEDS, "--workers", 2, "--json")) for _ in range(2)]
    first_seen: dict[str, tuple[int, int]] = {}
    while any(process.poll() is None for process in both):
        for path, stamp in records(store).items():
            assert first_seen.setdefault(path, stamp) == stamp, "written twice"
        time.sleep(0.01)
    for said in map(ended, both):
        assert (said.code, said.err) == (0, "")
        assert said.out == reference[1]
    assert len(records(store)) == SEEDS * CELLS
    assert os.listdir(store / "aside") == os.listdir(store / "damaged") == []


# From machine to machine


def test_halves_made_in_two_stores_are_merged_without_training(
    reference: tuple[Path, str], tmp_path: Path
) -> None:
    settings = ["recipe.steps=36", "keep_weights=true"]
    options = ("--set", "keep_weights=true")
    asked = requests(["gradient/corners"], profile="as-printed", seeds=4, settings=settings)
    needs = asked[0].needs()
    for name, seeds in {"a": range(2), "b": range(2, 4)}.items():
        with Store.open(tmp_path / name) as store:
            cells = {cell: (need.cell, seeds) for cell, need in needs.items()}
            list(execute(plan(cells, store).jobs, store.path, workers=1))
        assert list((tmp_path / name).glob("runs/*/*/weights.safetensors"))
        said = call("runs", "export", tmp_path / f"{name}.jsonl.gz", "--store", tmp_path / name)
        assert said.code == 0
    merged = tmp_path / "merged"
    for name in ("a", "b"):
        said = call("runs", "import", tmp_path / f"{name}.jsonl.gz", "--store", merged, "--json")
        assert said.json == {"added": 2 * CELLS, "already_there": 0, "refused": []}
    assert not list(merged.glob("runs/*/*/weights.safetensors"))
    before = records(merged)
    assert f" {4 * CELLS} seeds done, 0 to run" in reproduce(merged, 4, *options).err
    assert records(merged) == before
    direct = reproduce(tmp_path / "direct", 4, *options, "--json")
    assert reproduce(merged, 4, *options, "--json").out == direct.out
