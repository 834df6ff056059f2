"""Getting a set: sources tried in order, every file verified before it is moved into place.

All work is done in a folder aside, within the data directory, so that the last step of each file is
one rename: a reader finds a whole file or none. What a killed process leaves aside is removed by
the next that gets anything.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from recombine.data.material import prepare
from recombine.data.places import directory
from recombine.data.sets import DataSet, File
from recombine.data.sources import Folder, NoAnswer, Source, digest
from recombine.data.verifying import path_of, verify
from recombine.errors import NoSource

PREFIX = ".unfinished"


def get(
    wanted: DataSet,
    where: str | os.PathLike[str] | None = None,
    *,
    folders: Sequence[str | os.PathLike[str]] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> str:
    """Make sure that a set is there and whole; the source it came from, or "" if nothing was done.

    The user's folders are tried first, then the sources that the set names.
    """
    missing = verify(wanted, where)
    if not missing:
        return ""
    if not wanted.files:
        raise NoSource("; ".join(f"{name}: {problem}" for name, problem in missing.items()))
    files = [file for file in wanted.files if file.name in missing]
    sources: list[Source] = [*(Folder(Path(each)) for each in folders), *wanted.sources]
    tried = []
    try:
        for source in sources:
            tell(f"{wanted.name}: trying {source.title} …")
            try:
                _take(wanted, source, files, where)
            except NoAnswer as reason:
                tried.append(f"{source.title} ({reason})")
            else:
                return source.title
    except OSError as error:
        raise NoSource(
            f"cannot write {wanted.name} to {directory(where)}: {error.strerror or error}; choose "
            "another place with --data or RECOMBINE_DATA"
        ) from error
    raise NoSource(
        f"no source of {wanted.name} answered: {'; '.join(tried)}. By hand: put {wanted.by_hand} "
        f"into any folder and run 'recombine data get {wanted.name} --from FOLDER'"
    )


def _take(
    wanted: DataSet, source: Source, files: Sequence[File], where: str | os.PathLike[str] | None
) -> None:
    """Fetch, prepare, verify, and only then move into place."""
    with _aside(directory(where)) as aside:
        raw, ready = aside / "raw", aside / "ready"
        raw.mkdir()
        ready.mkdir()
        prepare(wanted, source.fetch(raw), ready)
        for file in files:
            if digest(ready / file.name) != file.sha256:
                raise NoAnswer(f"its {file.name} has another hash than the one known")
        for file in files:
            _flush(ready / file.name)
            target = path_of(wanted, file, where)
            target.parent.mkdir(exist_ok=True)
            os.replace(ready / file.name, target)


@contextlib.contextmanager
def _aside(home: Path) -> Iterator[Path]:
    """A folder for unfinished work; it goes, whatever happens, and so do those of the dead."""
    home.mkdir(parents=True, exist_ok=True)
    for left in home.glob(f"{PREFIX}-{socket.gethostname()}-*"):
        pid = left.name.rpartition("-")[0].rpartition("-")[2]
        if pid.isdecimal() and not _alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    prefix = f"{PREFIX}-{socket.gethostname()}-{os.getpid()}-"
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=home))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (
        PermissionError,
        OverflowError,
    ):  # not ours to judge
        return True
    return True


def _flush(path: Path) -> None:
    """Let a file reach the disk before its name does."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
