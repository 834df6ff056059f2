"""recombine: does your model compose, where does it fail, and why?

import recombine
print(recombine.diagnose("mlp", "corners"))
"""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Functions for everyday use, imported when first asked for: torch takes a while."""
    if name == "diagnose":
        from recombine.diagnosis import diagnose

        return diagnose
    raise AttributeError(f"module 'recombine' has no attribute {name!r}")
