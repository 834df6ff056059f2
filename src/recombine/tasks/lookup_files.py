"""Reads lookup tables in the official format: a directory or tar file of `<split>.tsv`.

A line is a source, an answer and, in the original, where to look, with tabs between them:

    010 t1 t6 .<tab>010 101 000<tab>0 1 2 3

Empty lines are passed over. The tables themselves are nowhere written: they follow from the
answers, which must agree. A row stands once in a split, and a row trained on in no other split;
held-out splits may share rows, as two of the official ones do.
"""

from __future__ import annotations

import functools
import hashlib
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recombine.errors import UsageError
from recombine.tasks.lookup_sample import Sample

TABLE = re.compile(r"t[0-9]+")
STRING = re.compile(r"[01]+")


@dataclass(frozen=True)
class Line:
    """One line of one file, taken apart."""

    where: str
    """File and line, for messages."""
    tables: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def source(self) -> str:
        """What is asked."""
        return " ".join([self.answers[0], *self.tables, "."])


def fingerprint(path: str) -> str:
    """A digest of the files of a sample: other files make another sample."""
    return _digest(_files(path))


def _digest(files: Mapping[str, bytes]) -> str:
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        found.update(f"{name}.tsv {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]


@functools.lru_cache(maxsize=16)
def read(path: str, digest: str) -> Sample:
    """The sample in a directory or tar file that has this fingerprint; every `.tsv` is a split."""
    files = _files(path)
    if _digest(files) != digest:
        raise UsageError(
            f"{path}: its files are not those that were asked for, they have changed since; "
            "run the same command again"
        )
    lines = {
        name: [
            _parse(f"{path}: {name}.tsv line {at}", text)
            for at, text in enumerate(rows, start=1)
            if text.strip()
        ]
        for name, rows in _texts(path, files).items()
    }
    if not lines["train"]:
        raise UsageError(f"{path}: train.tsv has no lines, but expected some to train on")
    every = [line for rows in lines.values() for line in rows]
    bits = {len(answer) for line in every for answer in line.answers}
    if len(bits) != 1:
        raise UsageError(
            f"{path}: strings have {sorted(bits)} bits, but all must have equally many"
        )
    names = sorted({table for line in every for table in line.tables}, key=lambda t: int(t[1:]))
    maps = _maps(path, every, names, bits.pop())
    _check_apart(lines)
    longest = max(len(line.tables) for line in every)
    number = {name: i for i, name in enumerate(names)}

    def row(line: Line) -> list[int]:
        tables = [number[table] for table in line.tables]
        return [int(line.answers[0], 2), *tables, *[len(names)] * (longest - len(tables))]

    splits = {name: np.array([row(line) for line in rows]) for name, rows in lines.items() if rows}
    bits_of = len(every[0].answers[0])
    return Sample(bits_of, tuple(names), maps, splits)


def _files(path: str) -> Mapping[str, bytes]:
    """What stands in every `.tsv`, by split."""
    try:
        place = Path(path).expanduser()
        if place.is_dir():
            found = {file.stem: file.read_bytes() for file in sorted(place.glob("*.tsv"))}
        elif place.is_file():
            found = dict(_unpacked(place))
        else:
            raise UsageError(f"tasks/lookup-tables.path: there is no file or directory {path}")
    except OSError as error:
        raise UsageError(
            f"tasks/lookup-tables.path: {error.filename} cannot be read ({error.strerror}), but "
            "expected a directory or tar file in which every .tsv is a file"
        ) from error
    except RuntimeError as error:  # ~somebody who has no home
        raise UsageError(f"tasks/lookup-tables.path: {path}: {error}") from error
    if "train" not in found:
        raise UsageError(
            f"{path}: there is no train.tsv in it (found: {', '.join(found) or 'no .tsv at all'}); "
            "expected the directory or tar file of one official sample"
        )
    return found


def _texts(path: str, found: Mapping[str, bytes]) -> Mapping[str, list[str]]:
    """The lines of every file; train first."""
    texts = {}
    for name in ["train", *(name for name in found if name != "train")]:
        try:
            texts[name] = found[name].decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: {name}.tsv is no text: {error}") from error
    return texts


def _unpacked(place: Path) -> Iterator[tuple[str, bytes]]:
    """Every `.tsv` of a tar file; two of one name are refused."""
    try:
        with tarfile.open(place) as archive:
            seen: dict[str, str] = {}
            for member in archive:
                name = Path(member.name)
                if name.suffix != ".tsv" or not member.isfile() or name.name.startswith("."):
                    continue
                if name.stem in seen:
                    raise UsageError(
                        f"{place} holds both {seen[name.stem]} and {member.name}: expected one "
                        "sample; unpack it and give the directory of one"
                    )
                seen[name.stem] = member.name
                opened = archive.extractfile(member)
                assert opened is not None  # a file is a file
                yield name.stem, opened.read()
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise UsageError(
            f"{place} is no tar file that can be read ({reason}): expected one of a sample; or "
            "give the directory that holds the sample's .tsv files"
        ) from error


def _parse(where: str, text: str) -> Line:
    """One line, checked word by word."""
    columns = text.split("\t")
    if len(columns) not in (2, 3):
        raise UsageError(
            f"{where}: {len(columns)} columns, but expected source, answer and (perhaps) attention "
            "with tabs between them"
        )
    source, answers = columns[0].split(), tuple(columns[1].split())
    tables = tuple(source[1:-1])
    if len(source) < 3 or source[-1] != "." or not STRING.fullmatch(source[0]):
        raise UsageError(
            f"{where}: source '{columns[0]}', but expected a bit string, tables and '.'"
        )
    for table in tables:
        if not TABLE.fullmatch(table):
            raise UsageError(f"{where}: '{table}' is no table; expected a name such as t1")
    for answer in answers:
        if not STRING.fullmatch(answer):
            raise UsageError(f"{where}: answer '{answer}' is no bit string; expected 0s and 1s")
    if len(answers) != len(tables) + 1:
        raise UsageError(
            f"{where}: {len(answers)} answers to {len(tables)} tables, but expected a copy of the "
            f"input and one a table: {len(tables) + 1}"
        )
    if answers[0] != source[0]:
        raise UsageError(
            f"{where}: the answer begins with {answers[0]}, but expected a copy of {source[0]}"
        )
    if len(columns) == 3:
        _check_attention(where, columns[2], len(answers))
    return Line(where, tables, answers)


def _check_attention(where: str, text: str, answers: int) -> None:
    """The diagonal; the original has one position more, for the end of the answer."""
    diagonal = [" ".join(map(str, range(n))) for n in (answers, answers + 1)]
    if " ".join(text.split()) not in diagonal:
        raise UsageError(f"{where}: attention '{text}', but expected '{diagonal[1]}'")


def _check_apart(lines: Mapping[str, list[Line]]) -> None:
    """No row stands twice in a split, and none that is trained on stands in another."""
    trained: dict[str, str] = {}
    for rows in lines.values():  # train comes first
        seen: dict[str, str] = {}
        for line in rows:
            if twin := seen.get(line.source) or trained.get(line.source):
                raise UsageError(
                    f"{line.where}: '{line.source}' stands in {twin} as well, but expected a row "
                    "once in a split, and one trained on in no other: take out one of the two"
                )
            seen[line.source] = line.where
        trained = trained or seen


def _maps(path: str, lines: list[Line], names: list[str], bits: int) -> np.ndarray:
    """What each table makes of each string, from every line; all of it must be told, and agree."""
    told: dict[tuple[str, str], tuple[str, str]] = {}
    for line in lines:
        steps = zip(line.tables, line.answers[:-1], line.answers[1:], strict=True)
        for table, before, after in steps:
            known, first = told.setdefault((table, before), (after, line.where))
            if known != after:
                raise UsageError(
                    f"{line.where}: {table} makes {before} into {after}, but expected {known} "
                    f"as in {first}"
                )
    maps = np.zeros((len(names), 2**bits), dtype=np.int64)
    for i, name in enumerate(names):
        for value in range(2**bits):
            string = f"{value:0{bits}b}"
            if (name, string) not in told:
                raise UsageError(
                    f"{path}: no line says what {name} makes of {string}, but expected {name} with "
                    "every input"
                )
            maps[i, value] = int(told[name, string][0], 2)
        if len(set(maps[i])) != 2**bits:
            raise UsageError(
                f"{path}: {name} makes two strings into the same, but expected a bijection"
            )
    return maps
