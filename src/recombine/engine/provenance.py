"""What made a record: versions, machine, commit, and a digest of the source its numbers rest on."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recombine import __version__
from recombine.cell import Cell
from recombine.spec import walk

PACKAGES = ("torch", "numpy", "scipy")
KIND = ("cpu family", "model", "stepping")
"""What tells processors of one name apart."""


@functools.cache
def environment(device: str) -> dict[str, Any]:
    """Where and with what a run was made."""
    return {
        "recombine": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "device": device,
        "threads": 1,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {_cpu()}",
        **_preloaded(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _cpu() -> str:
    """The processor's name and kind where Linux tells them.

    Libraries choose their kernels by the kind, and with it the last bits of every product.
    """
    path = Path("/proc/cpuinfo")
    first = path.read_text().partition("\n\n")[0] if path.exists() else ""
    pairs = (line.partition(":") for line in first.splitlines())
    told = {name.strip(): value.strip() for name, _, value in pairs}
    kind = ", ".join(f"{name.removeprefix('cpu ')} {told[name]}" for name in KIND if name in told)
    name = told.get("model name") or platform.processor() or "unknown processor"
    return f"{name} ({kind})" if kind else name


def _preloaded() -> dict[str, str]:
    """Libraries that LD_PRELOAD puts before all others: they may choose other kernels."""
    names = [Path(word).name for word in os.environ.get("LD_PRELOAD", "").replace(":", " ").split()]
    return {"preloaded": " ".join(names)} if names else {}


def _commit() -> str:
    """The commit of the checkout recombine runs from, or nothing if it was installed."""
    here = Path(__file__)
    # installed into an environment inside somebody's checkout, we are not of that checkout
    if not _git(here.parent, "ls-files", here.name):
        return ""
    return _git(here.parent, "describe", "--always", "--dirty", "--abbrev=12")


def _git(folder: Path, *words: str) -> str:
    """What git says in a folder, or nothing."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def source_of(cell: Cell) -> str:
    """A digest of the source that a cell's numbers rest on.

    That is the modules of every component in its spec and all modules of the same packages which
    these import. Adding a task changes no other task's digest; mending the loop changes all.
    """
    return source_of_modules(modules_of(cell))


def modules_of(cell: Cell) -> tuple[str, ...]:
    """Where the components of a cell's spec are defined."""
    return tuple(sorted({type(part).__module__ for part in walk(cell)}))


@functools.cache
def source_of_modules(modules: tuple[str, ...]) -> str:
    """The digest of these modules and what they import; none of them is imported for it."""
    seen: dict[str, str] = {}
    waiting = list(modules)
    roots = {name.partition(".")[0] for name in waiting}
    while waiting:
        module = waiting.pop()
        if module in seen or (found := _read(module)) is None:
            continue
        seen[module], imported = found
        waiting += [name for name in imported if name.partition(".")[0] in roots]
    listing = "\n".join(f"{name} {digest}" for name, digest in sorted(seen.items()))
    return hashlib.sha256(listing.encode()).hexdigest()[:16]


@functools.cache
def _read(module: str) -> tuple[str, list[str]] | None:
    """The digest of a module's source and what it imports; cells share most of their modules."""
    path = _file(module)
    if path is None:
        return None
    text = path.read_bytes()
    return hashlib.sha256(text).hexdigest(), _imports(text, module)


def _file(module: str) -> Path | None:
    """The source file of a module; none for packages, whose `__init__` only exports.

    Found by its place under the top package and not by importing it, so that the answer does
    not depend on what happens to be loaded.
    """
    top, *rest = module.split(".")
    file, folders = _place(top)
    if not rest and not folders:
        return Path(file) if file else None
    for folder in folders:
        path = Path(folder, *rest).with_suffix(".py")
        if rest and path.is_file():
            return path
    return None


def _place(top: str) -> tuple[str | None, list[str]]:
    """The file of a top module, or the folders of a top package, imported already or not."""
    if top in sys.modules:
        loaded = sys.modules[top]
        return getattr(loaded, "__file__", None), list(getattr(loaded, "__path__", ()))
    try:
        found = find_spec(top)
    except (ImportError, ValueError):
        found = None
    if found is None:
        return None, []
    return found.origin, list(found.submodule_search_locations or ())


def _imports(source: bytes, module: str) -> list[str]:
    """The modules a source names in its imports (`from a import b` names a and perhaps a.b)."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*module.split(".")[: -node.level], *([base] if base else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names
