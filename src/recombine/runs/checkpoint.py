"""A place in the store where a long cell leaves its state and finds it again after a kill."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from recombine.cell import Arrays
from recombine.runs.disk import replace_file, writing
from recombine.runs.tensors import pack, unpack


@final
@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint in a file, as `recombine.cell.Checkpoint` wants it."""

    path: Path
    aside: Path
    """Where unfinished writes go, on the same disk."""

    def load(self) -> Arrays | None:
        """The state last saved; None if there is none or it cannot be read: then start again."""
        try:
            return unpack(self.path.read_bytes())
        except (OSError, ValueError):
            return None

    def save(self, arrays: Arrays) -> None:
        """Replace the saved state; a kill on the way leaves the one before."""
        with writing("a checkpoint", self.path):
            replace_file(self.path, pack(arrays), aside=self.aside)

    def drop(self) -> None:
        """Forget the state: the cell is done."""
        with writing("a checkpoint", self.path):
            self.path.unlink(missing_ok=True)
