"""What an audit says: findings with their weight, their rows, and what to do about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Weight = Literal["problem", "caution", "note"]
ORDER: Mapping[str, int] = {"problem": 0, "caution": 1, "note": 2}

KINDS: Mapping[str, str] = {
    "leak": "test combinations that training shows",
    "contradiction": "one combination with several labels",
    "unlearnable": "held-out rows that no kernel model can get right together",
    "misled": "held-out rows that every kernel tried gets wrong",
    "shortcut": "a factor or pair that predicts the label in training and not in the test",
    "single-factor": "one factor is enough, so that nothing needs to be composed",
    "unseen": "test rows with a factor value or class that training lacks",
    "imbalance": "training has nearly one label",
    "shift": "labels are spread differently over training and test",
    "constant": "a factor with one value",
    "identifier": "a factor with a value for every row, or for every other",
    "missing": "rows left out because a cell is missing",
    "lookalike": "values that differ only in case or blanks",
    "duplicates": "rows that repeat",
}
"""What `--fail-on` may name."""


@dataclass(frozen=True)
class Finding:
    """One thing a user should know."""

    kind: str
    weight: Weight
    text: str
    advice: str
    rows: tuple[Mapping[str, Any], ...] = ()
    """Examples: the row of the table, its factors and its label."""

    def plain(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "kind": self.kind,
            "weight": self.weight,
            "text": self.text,
            "advice": self.advice,
            "rows": [dict(row) for row in self.rows],
        }
