"""Unpacks an archive: its files, and nothing that reaches outside of the folder.

tarfile's own filter for this came with Python 3.11.4; earlier ones are still about.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path


def unpack(archive: Path, into: Path) -> None:
    """Write the plain files of a tar archive into a folder; links and devices are passed over."""
    inside = into.resolve()
    with tarfile.open(archive) as opened:
        for member in opened:
            place = (inside / member.name).resolve()
            content = opened.extractfile(member) if member.isfile() else None
            if content is None:
                continue
            if not place.is_relative_to(inside):
                raise tarfile.TarError(f"'{member.name}' lies outside of the archive")
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("wb") as file:
                shutil.copyfileobj(content, file)
