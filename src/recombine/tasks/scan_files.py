"""Official SCAN files: found in a folder or an archive, read line by line, and not trusted.

`tasks_train_<split>.txt` and `tasks_test_<split>.txt` are looked for anywhere below the path,
whatever the split is called; `mcd1` … are read from `<split>.json`, whose numbers count the lines
of `tasks.txt`. Every command must be one of the grammar, and every answer the right one.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from recombine.errors import UnknownName, UsageError
from recombine.tasks.scan_grammar import commands
from recombine.tasks.scan_meaning import NoCommand, interpret
from recombine.tasks.scan_splits import Rows

PARTS = {"train": "trainIdxs", "dev": "devIdxs", "test": "testIdxs"}
"""Parts of a split, and what an MCD file calls them."""


class BadFile(UsageError):
    """An official file that cannot be read as one."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")


def file_split(path: str, name: str) -> Mapping[str, Rows]:
    """The parts of a split as official files give them."""
    texts = _Texts(Path(path))
    if (listed := f"{name}.json") in texts:
        return _indexed(texts, listed)
    found = {part: f"tasks_{part}_{name}.txt" for part in PARTS}
    present = {part: file for part, file in found.items() if file in texts}
    if len(present) == 1:
        missing = found["test"] if "train" in present else found["train"]
        raise BadFile(path, f"has {next(iter(present.values()))} but no {missing}")
    if "train" not in present:
        raise UnknownName("split", name, texts.splits(), where=path)
    return {part: read_lines(texts.read(file), file) for part, file in present.items()}


def fingerprint(path: str, name: str) -> str:
    """A digest of the files that give a split; nothing where they cannot be read."""
    try:
        texts, found = _Texts(Path(path)), hashlib.sha256()
        for file in (f"{name}.json", "tasks.txt", *(f"tasks_{part}_{name}.txt" for part in PARTS)):
            if file in texts:
                found.update(f"{file}\n{texts.read(file)}".encode())
    except BadFile:
        return ""
    return found.hexdigest()[:16]


def read_lines(text: str, where: str) -> Rows:
    """The rows of `IN: command OUT: actions` lines; a command may stand there more than once."""
    rows, known, right = [], commands().by_text, commands().answer_texts
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        place = f"{where}, line {number}"
        head, colon, answer = line.partition(" OUT:")
        if not colon or not head.startswith("IN:"):
            raise BadFile(place, "expected 'IN: … OUT: …'")
        command = " ".join(head.removeprefix("IN:").split())
        if command not in known:
            raise BadFile(place, _refusal(command))
        if " ".join(answer.split()) != right[known[command]]:
            wanted = right[known[command]]
            raise BadFile(place, f"the answer to '{command}' should be '{wanted}'")
        rows.append(known[command])
    if not rows:
        raise BadFile(where, "holds no commands")
    return np.asarray(rows)


def _refusal(command: str) -> str:
    """Why a sentence is no command, in the interpreter's words."""
    try:
        interpret(command)
    except NoCommand as refusal:
        return str(refusal)
    return f"'{command}' is not among the commands of SCAN"


def _indexed(texts: _Texts, file: str) -> Mapping[str, Rows]:
    """MCD: lists of line numbers of `tasks.txt`, counted from 0."""
    try:
        data = json.loads(texts.read(file))
    except ValueError as error:
        raise BadFile(file, f"is not JSON ({error})") from None
    if not isinstance(data, dict) or not {"trainIdxs", "testIdxs"} <= data.keys():
        raise BadFile(file, "expected an object with trainIdxs and testIdxs")
    if "tasks.txt" not in texts:
        raise BadFile(file, "counts the lines of tasks.txt, which is not beside it")
    every = read_lines(texts.read("tasks.txt"), "tasks.txt")
    parts = {part: data[key] for part, key in PARTS.items() if key in data}
    for part, numbers in parts.items():
        whole = isinstance(numbers, list) and all(type(n) is int for n in numbers)
        if not whole or not numbers or not 0 <= min(numbers) <= max(numbers) < len(every):
            raise BadFile(file, f"{PARTS[part]} should list whole numbers below {len(every)}")
    return {part: every[np.asarray(numbers)] for part, numbers in parts.items()}


class _Texts:
    """The text files below a folder, or in a tar archive, by their last name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._archive: dict[str, bytes] | None = None
        if path.is_dir():
            self._files = {p.name: p for p in sorted(path.rglob("*")) if p.is_file()}
        elif path.is_file():
            self._archive = _unpacked(path)
        else:
            raise BadFile(str(path), "there is no folder or archive of SCAN files here")

    def __contains__(self, name: str) -> bool:
        return name in (self._files if self._archive is None else self._archive)

    def read(self, name: str) -> str:
        try:
            raw = self._files[name].read_bytes() if self._archive is None else self._archive[name]
            return raw.decode("ascii")
        except (UnicodeDecodeError, OSError) as error:
            raise BadFile(name, f"cannot be read as text ({error})") from None

    def splits(self) -> set[str]:
        """What splits the files would give."""
        names: Iterable[str] = self._files if self._archive is None else self._archive
        trains = {n.removeprefix("tasks_train_").removesuffix(".txt") for n in names
                  if n.startswith("tasks_train_") and n.endswith(".txt")}  # fmt: skip
        return trains | {n.removesuffix(".json") for n in names if n.endswith(".json")}


def _unpacked(path: Path) -> dict[str, bytes]:
    """The files of an archive in memory; nothing is written to the disk."""
    try:
        with tarfile.open(path) as archive:
            members = [m for m in archive.getmembers() if m.isfile()]
            opened = {Path(m.name).name: archive.extractfile(m) for m in members}
            return {name: file.read() for name, file in opened.items() if file is not None}
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError) as error:
        raise BadFile(str(path), f"cannot be opened as an archive ({error})") from None
