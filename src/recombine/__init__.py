"""recombine: does your model compose, where does it fail, and why?

import recombine
print(recombine.diagnose("mlp", "corners"))
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

EVERYDAY = {"diagnose": "recombine.diagnosis"}
"""Functions for everyday use and the rooms they are in, imported when first asked for."""


def __getattr__(name: str) -> Any:
    if name in EVERYDAY:
        return getattr(import_module(EVERYDAY[name]), name)
    raise AttributeError(f"module 'recombine' has no attribute {name!r}")
