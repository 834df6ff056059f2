"""Plans: what is wanted minus what is there, in blocks that the same command cuts again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recombine.engine import Job, Plan, execute, plan
from recombine.runs import Store
from recombine.spec import key_of
from toys import Toy


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(str(tmp_path / "log"), together=10)


def blocks(made: Plan) -> list[tuple[int, tuple[int, ...]]]:
    return [(job.block, job.seeds) for job in made.jobs]


def finish(cell: Toy, seeds: range | list[int], store: Store) -> None:
    list(execute(plan({"toy": (cell, seeds)}, store).jobs, store.path, workers=1))


def test_seeds_are_cut_at_multiples_of_the_job_size(store: Store, toy: Toy) -> None:
    made = plan({"toy": (toy, range(5, 25))}, store)
    expected = [(0, range(5, 10)), (1, range(10, 20)), (2, range(20, 25))]
    assert blocks(made) == [(block, tuple(seeds)) for block, seeds in expected]
    assert (made.done, made.missing, made.retried) == (0, 20, 0)


def test_what_is_done_moves_no_block(store: Store, toy: Toy) -> None:
    finish(toy, [0, 1, 2, 12], store)
    made = plan({"toy": (toy, range(14))}, store)
    assert blocks(made) == [(0, tuple(range(3, 10))), (1, (10, 11, 13))]
    assert (made.done, made.missing) == (4, 10)


def test_a_finished_block_makes_no_job(store: Store, toy: Toy) -> None:
    finish(toy, range(10), store)
    assert blocks(plan({"toy": (toy, range(12))}, store)) == [(1, (10, 11))]


def test_failed_seeds_are_planned_again(store: Store, toy: Toy) -> None:
    bad = Toy(toy.log, fails_from=10)
    finish(bad, range(12), store)
    made = plan({"bad": (bad, range(12))}, store)
    assert blocks(made) == [(1, (10, 11))]
    assert (made.done, made.missing, made.retried) == (10, 2, 2)


def test_cells_come_in_the_order_they_were_named(store: Store, toy: Toy) -> None:
    other = Toy(toy.log, together=5)
    made = plan({"b": (toy, range(3)), "a": (other, range(6))}, store)
    assert [job.name for job in made.jobs] == ["b [0–2]", "a [0–4]", "a [5]"]


@pytest.mark.parametrize(
    ("seeds", "name"), [((7,), "toy [7]"), ((7, 8), "toy [7–8]"), ((7, 12), "toy [7–12]")]
)
def test_a_job_is_named_by_its_cell_and_seeds(toy: Toy, seeds: tuple[int, ...], name: str) -> None:
    assert Job("toy", toy, key_of(toy), 0, seeds).name == name


def test_a_claim_is_that_of_the_cell_and_block_whatever_is_missing(toy: Toy) -> None:
    key = key_of(toy)
    assert Job("toy", toy, key, 1, (11, 12)).claim == Job("other", toy, key, 1, (19,)).claim
    assert Job("toy", toy, key, 1, (11,)).claim != Job("toy", toy, key, 2, (21,)).claim
