"""recombine: does your model compose, where does it fail, and why?

import recombine
print(recombine.diagnose("mlp", "corners"))
print(recombine.audit("table.csv", factors=["a", "b"], label="y", split="part"))
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

EVERYDAY = {"audit": "recombine.auditing", "diagnose": "recombine.diagnosis"}
"""Functions for everyday use and the rooms they are in, imported when first asked for: they need
packages that take a while."""


def __getattr__(name: str) -> Any:
    if name in EVERYDAY:
        return getattr(importlib.import_module(EVERYDAY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
