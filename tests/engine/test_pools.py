"""Pools: whoever runs the jobs, the records are the same; all of them can be stopped."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recombine.engine import Advanced, Ended, Started, execute, plan
from recombine.engine.pools import SharedFlag, deaf
from recombine.errors import Interrupted, StoreFull
from recombine.models.mlp import MLP
from recombine.runs import Store
from recombine.spec import key_of
from recombine.tasks.corners import Corners
from recombine.training import Recipe, Trial
from toys import Toy, look, ran


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(str(tmp_path / "log"), together=5)


SHORT = Trial(Corners(), MLP(), Recipe(steps=5, evaluate_at=(0,), evaluation_examples=20))


def test_no_jobs_need_no_pool(store: Store) -> None:
    assert list(execute((), store.path, workers=2)) == []


def test_inline_jobs_tell_of_their_beginning_and_end(store: Store, toy: Toy) -> None:
    events = list(execute(plan({"toy": (toy, range(7))}, store).jobs, store.path, workers=1))
    assert [event.job for event in events if isinstance(event, Started)] == [
        "toy [0–4]",
        "toy [5–6]",
    ]
    assert sum(event.seeds for event in events if isinstance(event, Ended)) == 7


@pytest.mark.parametrize(("silence", "heard"), [(0.0, [*range(1, 6)]), (1000.0, [])])
def test_a_job_is_silent_for_a_while_between_its_words(
    store: Store, monkeypatch: pytest.MonkeyPatch, silence: float, heard: list[int]
) -> None:
    monkeypatch.setattr("recombine.engine.pools.SILENCE", silence)
    events = list(execute(plan({"short": (SHORT, [0])}, store).jobs, store.path, workers=1))
    assert [event.done for event in events if isinstance(event, Advanced)] == heard


def test_an_executor_the_caller_brings(store: Store, toy: Toy) -> None:
    cells = {"toy": (toy, range(12)), "short": (SHORT, range(2))}
    with ThreadPoolExecutor(2) as mine:
        jobs = plan(cells, store).jobs
        events = list(execute(jobs, store.path, workers=9, executor=mine))
        assert mine.submit(lambda: "open").result() == "open", "it is not ours to shut"
    assert {event.job for event in events if isinstance(event, Ended)} == {j.name for j in jobs}
    assert sorted(ran(Path(toy.log))) == [*range(12)]
    assert store.has(key_of(SHORT)) == {0: "done", 1: "done"}


def test_processes_give_the_bits_that_inline_gives(store: Store, tmp_path: Path) -> None:
    cells = {f"short {steps}": (Trial(**{**vars(SHORT), "recipe": Recipe(steps=steps)}), range(2))
             for steps in (3, 4)}  # fmt: skip
    list(execute(plan(cells, store).jobs, store.path, workers=2))
    with Store.open(tmp_path / "other") as other:
        list(execute(plan(cells, other).jobs, other.path, workers=1))
        for cell, _ in cells.values():
            for seed in range(2):
                ours, theirs = (s.get(key_of(cell), seed)[0] for s in (store, other))
                assert (ours.scalars, ours.files) == (theirs.scalars, theirs.files)
                assert ours.environment == theirs.environment


def test_the_store_giving_out_stops_the_rest(
    store: Store, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreFull("no room")

    monkeypatch.setattr(Store, "put_many", refuse)
    with pytest.raises(StoreFull, match="no room"):
        list(execute(plan({"toy": (toy, range(500))}, store).jobs, store.path, workers=1))
    assert len(ran(Path(toy.log))) < 500


def test_ctrl_c_stops_what_runs_and_starts_nothing_more(store: Store, tmp_path: Path) -> None:
    cells = {name: (Trial(**{**vars(SHORT), "recipe": Recipe(steps=10**6 + i)}), [0])
             for i, name in enumerate("abc")}  # fmt: skip
    events = execute(plan(cells, store).jobs, store.path, workers=1)
    assert isinstance(next(events), Started)
    with pytest.raises(Interrupted, match="what was finished is in the store"):
        events.throw(KeyboardInterrupt())
    assert all(store.has(key_of(cell)) == {} for cell, _ in cells.values())
    assert len(list((store.path / "checkpoints").iterdir())) == 1


def test_ctrl_c_held_back_is_heard_afterwards() -> None:
    went_on = False
    with pytest.raises(KeyboardInterrupt), deaf():
        signal.raise_signal(signal.SIGINT)
        went_on = True
    assert went_on
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_flag_is_seen_by_a_process_started_before_it_was_raised() -> None:
    context = multiprocessing.get_context("spawn")
    flag, seen = SharedFlag(context), context.Event()
    process = context.Process(target=look, args=(flag, seen))
    process.start()
    assert not seen.wait(0.1)
    flag.set()
    assert seen.wait(60)
    process.join()


def test_what_is_started_deaf_stays_deaf() -> None:
    masks: list[set[int]] = []
    with deaf():
        thread = threading.Thread(
            target=lambda: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        )
        thread.start()
    thread.join()
    assert signal.SIGINT in masks[0]
