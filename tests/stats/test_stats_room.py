"""Tests of the room as a whole: what it exports, and that it stands alone."""

import ast
from pathlib import Path

from recombine import stats


def test_exports_are_there_and_sorted() -> None:
    assert stats.__all__ == sorted(stats.__all__)
    assert all(hasattr(stats, name) for name in stats.__all__)


def test_the_room_imports_nothing_else_of_ours_and_no_torch() -> None:
    allowed = {"recombine.stats", "numpy", "scipy"}
    standard = {"ast", "collections", "dataclasses", "math", "typing", "warnings"}
    for path in Path(stats.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for name in names:
                ours = ".".join(name.split(".")[:2]) if name.startswith("recombine") else ""
                assert (ours or name.split(".")[0]) in allowed | standard, f"{path.name}: {name}"
