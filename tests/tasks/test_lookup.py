"""Lookup tables: the published split sizes, any other setting, and the oracle."""

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import BadValue
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


@pytest.mark.parametrize(
    ("tables", "held", "longer"), [(8, 0, 64), (20, 1, 15_000), (6, 1, 500), (3, 2, 64), (1, 0, 64)]
)
def test_there_are_as_many_longer_chains_as_asked_for_or_all(
    tables: int, held: int, longer: int
) -> None:
    task = LookupTables(
        tables, held_tables=held, held_compositions=0, validation=0, longest=3, longer=longer
    )
    known = tables - held
    chains = {
        "seen": known**3,
        "incremental": sum(  # by brute force
            0 < sum(t >= known for t in chain) < 3
            for chain in itertools.product(range(tables), repeat=3)
        ),
        "new": held**3,
    }
    wanted = {f"longer_{kind}_3": min(longer, 8 * n) for kind, n in chains.items() if n}
    found = {name: rows for name, rows in task.splits().items() if name.startswith("longer")}
    assert {name: len(as_set(rows)) for name, rows in found.items()} == wanted
    assert {name: len(rows) for name, rows in found.items()} == wanted


def test_the_drawn_chains_are_what_they_always_were() -> None:
    task = LookupTables(longest=4)
    rows = np.concatenate([z for n, z in task.splits().items() if n.startswith("longer")])
    assert hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest()[:16] == "6e3155363f35ed76"


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
