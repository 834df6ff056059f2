"""Small tables with known properties, for the tests of the audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from recombine.auditing import Audit, audit
from recombine.auditing.combinations import Combinations, combine
from recombine.auditing.conjunctions import Conjunctions, conjunctions
from recombine.auditing.factored import Asked, factored
from recombine.tasks.splits import product

Rule = Callable[[np.ndarray], np.ndarray]


def columns(
    sizes: Sequence[int], label: Rule, held_out: Rule, *, names: Sequence[str] = "abcdefgh"
) -> dict[str, list[Any]]:
    """The full grid, labelled and split."""
    z = product(sizes)
    made: dict[str, list[Any]] = {names[i]: z[:, i].tolist() for i in range(len(sizes))}
    made["y"] = np.asarray(label(z)).tolist()
    made["split"] = np.where(held_out(z), "test", "train").tolist()
    return made


def audited(table: Any, **options: Any) -> Audit:
    """An audit of a table with columns `y` and `split`."""
    return audit(table, label="y", split="split", **options)


def laid(table: Any, **options: Any) -> tuple[Combinations, Conjunctions]:
    """The combinations and conjunctions of such a table."""
    found = combine(factored(table, Asked(label="y", split="split", **options)))
    return found, conjunctions(found)


def kinds(done: Audit) -> set[str]:
    """Kinds of findings that are more than a note."""
    return {each.kind for each in done.findings if each.weight != "note"}


def found(done: Audit, kind: str) -> str:
    """The text of the one finding of a kind."""
    (finding,) = [each for each in done.findings if each.kind == kind]
    return finding.text


def corner(sizes: Sequence[int], factors: Sequence[int] = (0, 1)) -> Rule:
    """Hold out where each of these factors is in its upper half."""
    return lambda z: np.all([z[:, f] >= sizes[f] // 2 for f in factors], axis=0)


XOR = columns((4, 4), lambda z: z.sum(1) % 2, corner((4, 4)))
SUM = columns((5, 5), lambda z: z[:, 0] + 2.5 * z[:, 1], corner((5, 5)))
CONTEXT = columns(
    (2, 6, 6),
    lambda z: np.where(z[:, 0] == 0, z[:, 1] > 2, z[:, 2] > 2),
    lambda z: (z[:, 1] < 3) & (z[:, 2] > 2),
)
"""CD-3 of the kernel study."""
