"""Provenance: the digest follows the source that numbers rest on, and nothing else."""

from __future__ import annotations

import importlib
import platform
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import recombine
from recombine.cell import Cell
from recombine.engine import provenance
from recombine.engine.provenance import environment, source_of
from recombine.models.mlp import MLP
from recombine.tasks.corners import Corners
from recombine.training import Recipe, Trial

SOURCES = {
    "__init__": "",
    "cells": """
        from dataclasses import dataclass
        from typing import ClassVar
        from recombine.cell import Cell
        import strangers_lab.deep.constants
        from strangers_lab.near import double
        from . import beside
        from .parts import piece

        @dataclass(frozen=True)
        class Strange(Cell):
            name: ClassVar[str] = "strange"
            width: int = 1
            seeds_per_job = 1

            def run(self, seeds, context):
                return {}
    """,
    "near": "from strangers_lab.far import two\ndouble = two",
    "far": "two = 2",
    "beside": "three = 3",
    "unrelated": "four = 4",
    "parts/__init__": "",
    "parts/piece": "from ..cousin import six",
    "cousin": "six = 6",
    "deep/__init__": "",
    "deep/constants": "from strangers_lab import cells  # and back again\nfive = 5",
}


def reread() -> None:
    """Read the sources anew: they are read once a process."""
    provenance.source_of_modules.cache_clear()
    provenance._read.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Somebody's package with a cell in it, as files."""
    home = tmp_path / "strangers_lab"
    for name, text in SOURCES.items():
        path = home / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    yield home
    for name in [name for name in sys.modules if name.partition(".")[0] == "strangers_lab"]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    reread()
    yield
    reread()


def strange() -> Cell:
    made: Cell = importlib.import_module("strangers_lab.cells").Strange()
    return made


def digest_after(path: Path) -> str:
    """The digest once a comment has been added to a file."""
    path.write_text(path.read_text() + "\n# another line\n")
    reread()
    return source_of(strange())


@pytest.mark.parametrize(
    "module", ["cells", "near", "far", "beside", "deep/constants", "parts/piece", "cousin"]
)
def test_a_change_in_what_a_cell_rests_on_changes_its_digest(package: Path, module: str) -> None:
    assert source_of(strange()) != digest_after(package / f"{module}.py")


def test_a_change_elsewhere_does_not(package: Path) -> None:
    assert source_of(strange()) == digest_after(package / "unrelated.py")


def test_the_digest_does_not_depend_on_what_is_loaded(package: Path) -> None:
    before = source_of(strange())
    importlib.import_module("strangers_lab.unrelated")
    reread()
    assert source_of(strange()) == before


def test_the_digest_is_that_of_the_source_and_not_of_the_settings() -> None:
    one, other = (Trial(Corners(), MLP(), Recipe(steps=steps)) for steps in (1, 2))
    assert source_of(one) == source_of(other)


def with_another(module: str, monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> str:
    """The digest of a trial if that module of ours had another text."""
    elsewhere.write_text("another = True")
    found = provenance._file
    monkeypatch.setattr(
        provenance, "_file", lambda name: elsewhere if name == module else found(name)
    )
    reread()
    return source_of(Trial(Corners(), MLP(), Recipe()))


@pytest.mark.parametrize(
    "module",
    [
        "training.trial",
        "training.loop",
        "training.lanes",
        "training.feed",
        "training.evaluation",
        "training.losses",
        "training.optimizers",
        "training.schedules",
        "training.stopping",
        "tasks.corners",
        "tasks.splits",
        "tasks.task",
        "models.mlp",
        "models.stack",
        "seeds",
    ],
)
def test_a_trial_rests_on_everything_that_trains_it(
    module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = source_of(Trial(Corners(), MLP(), Recipe()))
    assert with_another(f"recombine.{module}", monkeypatch, tmp_path / "a.py") != before


@pytest.mark.parametrize(
    "module", ["conduct", "runs.store", "engine.jobs", "stats.intervals", "analyses.boundary"]
)
def test_a_trial_does_not_rest_on_what_keeps_and_judges_it(
    module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = source_of(Trial(Corners(), MLP(), Recipe()))
    assert with_another(f"recombine.{module}", monkeypatch, tmp_path / "a.py") == before


def test_the_environment_says_with_what_and_where() -> None:
    found = environment("cpu")
    assert found["recombine"] == recombine.__version__
    assert found["python"] == platform.python_version()
    assert {name: found[name] for name in ("torch", "numpy", "scipy")} == {
        name: version(name) for name in ("torch", "numpy", "scipy")
    }
    assert (found["device"], found["threads"]) == ("cpu", 1)
    assert platform.system() in found["machine"] and "cores" in found["machine"]
    assert environment("cuda:1")["device"] == "cuda:1"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one committed file."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    (tmp_path / "ours.py").write_text("ours")
    for words in (["init", "-q"], ["add", "ours.py"], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return tmp_path


def commit_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(provenance, "__file__", str(path))
    return provenance._commit()


def test_the_commit_is_that_of_the_checkout(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = ["git", "-C", str(checkout), "rev-parse", "--short=12", "HEAD"]
    expected = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    assert commit_of(checkout / "ours.py", monkeypatch) == expected
    (checkout / "ours.py").write_text("edited")
    assert commit_of(checkout / "ours.py", monkeypatch) == f"{expected}-dirty"


def test_installed_inside_a_checkout_it_has_no_commit(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = checkout / ".venv" / "recombine.py"
    installed.parent.mkdir()
    installed.write_text("installed")
    assert commit_of(installed, monkeypatch) == ""


def test_outside_a_checkout_there_is_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert commit_of(tmp_path / "a.py", monkeypatch) == ""
    assert commit_of(tmp_path / "nowhere" / "a.py", monkeypatch) == ""


def test_processors_of_one_name_are_told_apart() -> None:
    path = Path("/proc/cpuinfo")
    if not path.exists() or "stepping" not in path.read_text():
        pytest.skip("this system does not tell what its processor is")
    name, _, kind = environment("cpu")["machine"].partition(" cores, ")[2].partition(" (")
    assert f": {name}\n" in path.read_text()
    assert re.fullmatch(r"family \d+, model \d+, stepping \d+\)", kind)


def test_preloaded_libraries_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = environment.__wrapped__
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert "preloaded" not in fresh("cpu")
    monkeypatch.setenv("LD_PRELOAD", "/opt/fast/libblas.so:/lib/malloc.so libm.so")
    assert fresh("cpu")["preloaded"] == "libblas.so malloc.so libm.so"
