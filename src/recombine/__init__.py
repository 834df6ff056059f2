"""recombine: does your model compose, where does it fail, and why?"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`recombine.audit(...)`, imported when it is first asked for: it needs polars and SciPy."""
    if name == "audit":
        return importlib.import_module("recombine.auditing").audit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
