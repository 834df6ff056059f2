"""Where data sets are kept: an option, the environment, or the user's cache directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "RECOMBINE_DATA"


def directory(given: str | os.PathLike[str] | None = None) -> Path:
    """The data directory: what was given, else $RECOMBINE_DATA, else the user's cache."""
    chosen = given or os.environ.get(VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else _cache() / "recombine"


def _cache() -> Path:
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]).absolute()
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"])
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
