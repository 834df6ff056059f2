"""What a task of lookup tables is made of: the tables, and which chains each split holds.

Of the pairs of trained tables some are held out whole, and of every other pair some inputs:

    train                   every table by itself, and the pairs trained on with their inputs
    validation              drawn from the held-out inputs of those pairs
    heldout_inputs          the rest of these
    heldout_compositions    the pairs of trained tables held out, all inputs
    heldout_tables          pairs of one trained table and one held-out table, all inputs
    new_compositions        pairs of held-out tables, all inputs
    longer_seen_<length>, longer_incremental_<length>, longer_new_<length>
                            longer chains of trained tables, of both kinds, of held-out tables
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from recombine.seeds import stream
from recombine.tasks.splits import product

Rows = Int[np.ndarray, "n factor"]


@dataclass(frozen=True)
class Sample:
    """Tables and splits, drawn or read."""

    bits: int
    names: tuple[str, ...]
    """What the tables are called."""
    maps: Int[np.ndarray, "table string"]
    """What each table makes of each string."""
    splits: Mapping[str, Rows]
    """Rows (input, table 1, …); the number of tables stands for none. Empty splits are absent."""


@dataclass(frozen=True)
class Setting:
    """What a sample is drawn by; the fields of the task of the same names."""

    tables: int
    bits: int
    held_tables: int
    held_compositions: int
    held_inputs: int
    validation: int
    longest: int
    longer: int
    seed: int


@functools.lru_cache(maxsize=64)
def generate(setting: Setting) -> Sample:
    """Draw tables and splits; which tables there are does not depend on what is held out."""
    rng = stream(setting.seed, "lookup", "tables")
    strings = 2**setting.bits
    maps = np.stack([rng.permutation(strings) for _ in range(setting.tables)])
    names = tuple(f"t{i}" for i in range(1, setting.tables + 1))
    splits = {**_pairs(setting), **_longer(setting)}
    present = {name: rows for name, rows in splits.items() if len(rows)}
    return Sample(setting.bits, names, maps, present)


def _pairs(setting: Setting) -> dict[str, Rows]:
    """The splits of chains of one and two tables."""
    rng = stream(setting.seed, "lookup", "splits")
    known = setting.tables - setting.held_tables
    pairs = product((setting.tables, setting.tables))
    held = (pairs >= known).sum(1)
    order = rng.permutation(np.flatnonzero(held == 0))
    apart, trained = np.sort(order[: setting.held_compositions]), order[setting.held_compositions :]
    trained = np.sort(trained)
    # for each pair trained on, its own inputs to hold out
    inputs = rng.permuted(np.tile(np.arange(2**setting.bits), (len(trained), 1)), axis=1)
    away, shown = inputs[:, : setting.held_inputs], inputs[:, setting.held_inputs :]
    left = rng.permutation(_with_inputs(pairs[trained], away))
    chosen = np.zeros(len(left), dtype=bool)
    chosen[: setting.validation] = True
    return {
        "train": np.concatenate([_single(setting), _with_inputs(pairs[trained], np.sort(shown))]),
        "validation": left[chosen],
        "heldout_inputs": left[~chosen],
        "heldout_compositions": _all_inputs(setting, pairs[apart]),
        "heldout_tables": _all_inputs(setting, pairs[held == 1]),
        "new_compositions": _all_inputs(setting, pairs[held == 2]),
    }


def _single(setting: Setting) -> Rows:
    """Every table by itself, with every input."""
    tables = np.arange(setting.tables)
    ended = np.full(setting.tables, setting.tables)
    return _all_inputs(setting, np.stack([tables, ended], axis=1))


def _all_inputs(setting: Setting, chains: Int[np.ndarray, "chain table"]) -> Rows:
    inputs = np.tile(np.arange(2**setting.bits), (len(chains), 1))
    return _with_inputs(chains, inputs)


def _with_inputs(
    chains: Int[np.ndarray, "chain table"], inputs: Int[np.ndarray, "chain input"]
) -> Rows:
    """Each chain with each of its own inputs."""
    repeated = np.repeat(chains, inputs.shape[1], axis=0)
    return np.concatenate([inputs.reshape(-1, 1), repeated], axis=1)


def _longer(setting: Setting) -> dict[str, Rows]:
    """For each length from 3, rows drawn without repetition from three kinds of chains."""
    splits = {}
    for length in range(3, setting.longest + 1):
        for kind in ("seen", "incremental", "new"):
            rng = stream(setting.seed, "lookup", kind, length)
            rows = _draw_chains(setting, kind, length, rng)
            rest = np.full((len(rows), setting.longest - length), setting.tables)
            splits[f"longer_{kind}_{length}"] = np.concatenate([rows, rest], axis=1)
    return splits


def _draw_chains(setting: Setting, kind: str, length: int, rng: np.random.Generator) -> Rows:
    """Up to `longer` chains of a kind, all there are if they are fewer."""
    known, strings = setting.tables - setting.held_tables, 2**setting.bits
    low = {"seen": 0, "incremental": 0, "new": known}[kind]
    high = {"seen": known, "incremental": setting.tables, "new": setting.tables}[kind]
    within, there = (high - low) ** length * strings, _count(setting, kind, length)
    if not there:
        return np.empty((0, length + 1), dtype=np.int64)
    # few enough to list, or fewer than can be drawn
    if within <= 4 * setting.longer or there < setting.longer:
        rows = product((strings, *[high - low] * length))
        rows[:, 1:] += low
        rows = rng.permutation(rows[_is(kind, rows, known)])
        return rows[: setting.longer]
    found: dict[tuple[int, ...], None] = {}
    while len(found) < setting.longer:
        tables = rng.integers(low, high, size=(setting.longer, length))
        rows = np.concatenate([rng.integers(strings, size=(setting.longer, 1)), tables], axis=1)
        found |= dict.fromkeys(map(tuple, rows[_is(kind, rows, known)].tolist()))
    return np.asarray(list(found)[: setting.longer])


def _count(setting: Setting, kind: str, length: int) -> int:
    """How many chains of a kind there are, with all their inputs."""
    seen = (setting.tables - setting.held_tables) ** length
    new = setting.held_tables**length
    both = setting.tables**length - seen - new
    chains: dict[str, int] = {"seen": seen, "incremental": both, "new": new}
    strings: int = 2**setting.bits
    return chains[kind] * strings


def _is(kind: str, rows: Rows, known: int) -> Bool[np.ndarray, " n"]:
    """Chains of both kinds of tables have at least one of each; the others are so by range."""
    new = rows[:, 1:] >= known
    both = new.any(1) & ~new.all(1)
    return np.asarray(both if kind == "incremental" else np.ones(len(rows), dtype=bool))
