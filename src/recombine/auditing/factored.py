"""The table as the audit sees it: factor values as numbers, a label, and which rows are tested.

Values are names: `1`, `2` and `3` are three different things, not an order, and a value is
compared by how it is written. Rows with a missing cell in a column that counts are left out, or,
if asked, a missing factor is one more value of that factor. Every row left out is counted under
the first column that misses a cell.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from jaxtyping import Bool, Int, Shaped

from recombine.auditing.source import Opened, column, open_table
from recombine.errors import BadValue, UnknownName, UsageError

Kind = Literal["classes", "numbers"]
ABSENT = "(missing)"
TRAIN_WORDS = ("train", "training", "tr", "trn")
MOST_FACTORS = 16
MOST_CLASSES = 10
"""A label of whole numbers with more values than this is read as a number."""


@dataclass(frozen=True)
class Asked:
    """What the user named."""

    factors: tuple[str, ...] = ()
    label: str = ""
    split: str = ""
    train: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    kind: Kind | None = None
    missing: Literal["drop", "keep"] = "drop"


@dataclass(frozen=True)
class Factored:
    """Rows of factor values with labels, in two parts."""

    name: str
    factors: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    """The values of each factor, in order of their codes."""
    codes: Int[np.ndarray, "row factor"]
    label: str
    classes: tuple[str, ...]
    """The classes in order of their codes; empty if the label is a number."""
    y: Shaped[np.ndarray, " row"]
    test: Bool[np.ndarray, " row"]
    rows: Int[np.ndarray, " row"]
    """Where each stands in the table: 1 is the first row after the header."""
    split: str
    train_values: tuple[str, ...]
    test_values: tuple[str, ...]
    rows_read: int
    unused: int
    """Rows whose split value is neither train nor test."""
    missing: dict[str, int]
    """Rows with a missing cell by column, each row under the first."""
    kept_missing: bool
    notes: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        return "classes" if self.classes else "numbers"

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.values)

    def shown(self, codes: Int[np.ndarray, " factor"]) -> dict[str, str]:
        """A combination in words."""
        pairs = zip(self.factors, self.values, codes, strict=True)
        return {name: values[int(code)] for name, values, code in pairs}

    def said(self, y: float) -> str | float:
        """A label in words, or the number it is."""
        return self.classes[int(y)] if self.classes else float(y)


def factored(source: Any, asked: Asked) -> Factored:
    """Read, check and code a table; a wrong name or an empty part is refused."""
    if asked.kind not in (None, "classes", "numbers"):
        raise BadValue("labels", asked.kind, "'classes' or 'numbers'")
    if asked.missing not in ("drop", "keep"):
        raise BadValue("missing", asked.missing, "'drop' or 'keep'")
    opened = open_table(source)
    label, split, factors = _columns(opened, asked)
    text = {name: column(opened.frame, name, opened.name) for name in (*factors, label, split)}
    missing, whole = _missing(text, factors, keep=asked.missing == "keep")
    train, test = _sides(text[split].filter(whole), asked, split)
    pooled = _pooled(test, asked, split)
    side = text[split].is_in([*train, *test]).fill_null(False).to_numpy() & whole
    kept = pl.Series(side)
    cells = {name: text[name].filter(kept) for name in text}
    coded = [_coded(cells[name].fill_null(ABSENT)) for name in factors]
    classes, y, notes = _labels(cells[label], label, asked.kind)
    return Factored(
        name=opened.name,
        factors=factors,
        values=tuple(values for values, _ in coded),
        codes=np.stack([codes for _, codes in coded], axis=1),
        label=label,
        classes=classes,
        y=y,
        test=cells[split].is_in(test).to_numpy(),
        rows=np.flatnonzero(side) + 1,
        split=split,
        train_values=train,
        test_values=test,
        rows_read=opened.frame.height,
        unused=int(whole.sum() - side.sum()),
        missing=missing,
        kept_missing=asked.missing == "keep",
        notes=(*opened.notes, *pooled, *notes),
    )


def _columns(opened: Opened, asked: Asked) -> tuple[str, str, tuple[str, ...]]:
    """Which columns are label, split and factors; a task names its own."""
    label = asked.label or (opened.labels[0] if len(opened.labels) == 1 else "")
    split = asked.split or opened.split
    if not label:
        legal = opened.labels or opened.frame.columns
        raise UsageError(f"name the label column with --label (there are: {', '.join(legal)})")
    if not split:
        names = ", ".join(opened.frame.columns)
        raise UsageError(f"name the split column with --split (there are: {names})")
    others = [n for n in opened.frame.columns if n not in (label, split, *opened.labels)]
    asked_for = _listed(asked.factors, opened.frame.columns)
    factors = asked_for or opened.factors or tuple(others)
    for name in (label, split, *factors):
        if name not in opened.frame.columns:
            raise UnknownName("column", name, opened.frame.columns, where=opened.name)
    for name in {name for name in (label, split, *factors) if factors.count(name) > 1}:
        raise UsageError(f"--factors names column '{name}' twice")
    clash = [name for name in factors if name in (label, split)] or [label] * (label == split)
    if clash:
        raise UsageError(f"column '{clash[0]}' cannot be two of factor, label and split at once")
    if not 1 <= len(factors) <= MOST_FACTORS:
        many = f"{len(factors)} ({', '.join(factors[:20])})"
        raise BadValue("number of factors", many, f"1 to {MOST_FACTORS}; name some with --factors")
    return label, split, factors


def _listed(given: tuple[str, ...], legal: Sequence[str]) -> tuple[str, ...]:
    """Names, of which several may stand in one with commas between, unless a legal one has them."""
    names: list[str] = []
    for name in given:
        parts = [part.strip() for part in name.split(",") if part.strip()]
        apart = name not in legal and any(part in legal for part in parts)
        names += parts if apart else [name]
    return tuple(names)


def _missing(
    text: dict[str, pl.Series], factors: tuple[str, ...], *, keep: bool
) -> tuple[dict[str, int], np.ndarray]:
    """Missing cells by column, and which rows are whole; a kept one is counted all the same."""
    whole = np.ones(len(next(iter(text.values()))), dtype=bool)
    counts = {}
    for name, cells in text.items():
        absent = cells.is_null().to_numpy()
        if (absent & whole).any():
            counts[name] = int((absent & whole).sum())
        if not (keep and name in factors):
            whole &= ~absent
    if not whole.any():
        raise UsageError(f"every row misses a cell (by column: {counts}); see --missing keep")
    return counts, whole


def _sides(cells: pl.Series, asked: Asked, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The split values that are training, and those that are tested."""
    there = [str(value) for value in cells.unique().sort()]
    shown = ", ".join(there[:12]) + (" …" if len(there) > 12 else "")
    named, tested = _listed(asked.train, there), _listed(asked.test, there)
    for value in (*named, *tested):
        if value not in there:
            raise UnknownName("split value", value, there[:50], where=f"column '{name}'")
    train = named or tuple(v for v in there if v.casefold() in TRAIN_WORDS)
    if not train:
        counts = dict(cells.value_counts().iter_rows())
        largest = max(there, key=lambda value: counts[value])  # the first of equals
        raise UsageError(
            f"no value of split column '{name}' reads as training (there are: {shown}): "
            f"name it, as in --train {shlex.quote(largest)}"
        )
    test = tested or tuple(v for v in there if v not in train)
    both = sorted(set(train) & set(test))
    if both:
        raise UsageError(f"split value '{both[0]}' cannot be both --train and --test")
    if not test:
        raise UsageError(
            f"the test part is empty: split column '{name}' has only {shown}; name a column "
            "with --split that sets rows apart for testing"
        )
    return train, test


def _pooled(test: tuple[str, ...], asked: Asked, name: str) -> tuple[str, ...]:
    """What is tested together though nobody said so."""
    if asked.test or len(test) < 2:
        return ()
    more = " …" if len(test) > 12 else ""
    together = f"{', '.join(test[:12])}{more}"
    return (f"all of '{name}' but training is tested together: {together} (--test names some)",)


def _coded(cells: pl.Series) -> tuple[tuple[str, ...], Int[np.ndarray, " row"]]:
    """The values in order, and each row's place among them: numbers in order of size."""
    values = cells.unique()
    numbers = values.cast(pl.Float64, strict=False)
    frame = pl.DataFrame({"number": numbers, "value": values})
    ordered = frame.sort("number", "value", nulls_last=True).get_column("value")
    codes = cells.cast(pl.Enum(ordered)).to_physical().to_numpy()
    return tuple(ordered.to_list()), codes.astype(np.int32)


def _labels(
    cells: pl.Series, name: str, kind: Kind | None
) -> tuple[tuple[str, ...], np.ndarray, tuple[str, ...]]:
    """The label as classes or as numbers, and why, if nobody said which."""
    numbers, notes = _numbers(cells)
    if kind == "numbers" and numbers is None:
        plain = cells.cast(pl.Float64, strict=False)
        odd = cells.filter(plain.is_null() | ~plain.is_finite())[0]
        raise UsageError(f"label column '{name}' holds '{odd}', which is no number")
    distinct = cells.n_unique()
    if kind is None and numbers is not None:
        fractions = bool((numbers % 1 != 0).any())
        if fractions or distinct > MOST_CLASSES:
            why = "fractions" if fractions else f"{distinct} different numbers"
            notes += (f"label '{name}' has {why}: read as numbers (--labels classes for classes)",)
            kind = "numbers"
    if kind == "numbers":
        assert numbers is not None
        return (), numbers, notes
    if distinct > len(cells) // 2 and distinct > 100:
        raise UsageError(
            f"label column '{name}' has {distinct:,} classes in {len(cells):,} rows: it names "
            "rows rather than classes"
        )
    classes, codes = _coded(cells)
    return classes, codes.astype(np.int64), ()


def _numbers(cells: pl.Series) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The cells as numbers if all are, also with a comma for the decimal point."""
    for text, notes in (
        (cells, ()),
        (cells.str.replace(",", ".", literal=True), ("decimal commas in the label",)),
    ):
        numbers = text.cast(pl.Float64, strict=False)
        if not numbers.is_null().any() and bool(numbers.is_finite().all()):
            return numbers.to_numpy().astype(float), notes
    return None, ()
