"""Tests of the room as a whole: what it exports, and that it stands alone."""

import ast
import subprocess
import sys
from pathlib import Path

from recombine import stats


def test_exports_are_there_and_sorted() -> None:
    assert stats.__all__ == sorted(stats.__all__)
    assert all(hasattr(stats, name) for name in stats.__all__)


def test_the_room_imports_nothing_else_of_ours_and_no_torch() -> None:
    allowed = {"recombine.stats", "numpy", "scipy"}
    standard = {"ast", "collections", "dataclasses", "itertools", "math", "typing"}
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


def test_scipys_statistics_are_not_imported() -> None:
    """They take a second, a quarter of a repeated `recombine reproduce`."""
    code = "import sys, recombine.stats; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
