"""The catalog finds components lazily, built in or added by another package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recombine import catalog
from recombine.errors import UnknownName, UsageError
from recombine.spec import Spec

TOY = """
from dataclasses import dataclass
from typing import ClassVar
from recombine.tasks.corners import Corners

@dataclass(frozen=True)
class Mine(Corners):
    name: ClassVar[str] = "mine"
"""


@pytest.mark.parametrize("kind", [k for k in catalog.BUILTIN if k != "studies"])
def test_every_entry_names_the_class_of_that_name(kind: str) -> None:
    for name in catalog.BUILTIN[kind]:
        found = catalog.find(kind, name)
        assert issubclass(found, Spec)
        assert (found.kind, found.name) == (kind, name)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown task 'corner'; perhaps you meant 'corners'"):
        catalog.find("tasks", "corner")
    with pytest.raises(UnknownName, match="unknown kind of component 'taks'"):
        catalog.resolve("taks/corners")


@pytest.fixture
def toy_package(tmp_path: Path) -> Path:
    """An installed package with a task of its own, and one that cannot be imported."""
    (tmp_path / "toy_tasks.py").write_text(TOY)
    info = tmp_path / "toy_tasks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-tasks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[recombine.tasks]\nmine = toy_tasks:Mine\nbroken = no_such_module:X\n"
    )
    return tmp_path


def recombine(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(path)}
    command = [sys.executable, "-m", "recombine", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_another_package_adds_a_task_that_passes_the_checks(toy_package: Path) -> None:
    listed = recombine(toy_package, "list", "tasks")
    assert "mine" in listed.stdout and "toy_tasks:Mine" in listed.stdout
    checked = recombine(toy_package, "check", "tasks/mine")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "resampling changes one factor only" in checked.stdout


def test_a_component_that_cannot_be_imported_is_named_in_one_line(toy_package: Path) -> None:
    checked = recombine(toy_package, "check", "tasks/broken")
    assert checked.returncode == 2
    assert checked.stderr.count("\n") == 1
    assert "tasks/broken (no_such_module:X) cannot be imported" in checked.stderr


def test_importing_the_catalog_imports_no_component() -> None:
    program = (
        "import sys, recombine.catalog; print(sorted(m for m in sys.modules if 'recombine' in m))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    modules = {"recombine", "recombine.catalog", "recombine.errors", "recombine.spec"}
    assert set(eval(done.stdout)) == modules


def test_a_failing_import_is_a_usage_error() -> None:
    assert issubclass(UnknownName, UsageError)
