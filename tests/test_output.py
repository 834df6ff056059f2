"""Where the output goes: outputs that cannot hold a letter, are closed, full, or read by nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recombine.commands.terminal import Quiet
from shell import PATIENCE, Said, call


def written_to(output: Any, words: str) -> Said:
    """Run a command whose standard output is a file or a pipe, buffered as it usually is."""
    environment = {name: v for name, v in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-m", "recombine", *words.split()],
        env=environment,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    return Said(done.returncode, "", done.stderr)


@pytest.mark.parametrize("words", ["--help", "list", "list --json", "status"])
def test_letters_that_the_output_cannot_hold_are_no_error(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    with open(tmp_path / "out", "w+") as out:
        said = written_to(out, words)
    assert (said.code, said.err) == (0, "")
    text = (tmp_path / "out").read_text(encoding="ascii")
    if "--json" in words:
        assert json.loads(text) == call(*words.split()).json


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_output_that_is_closed_is_no_error(closed: str, tmp_path: Path) -> None:
    words = f'"{sys.executable}" -m recombine status --store nowhere {closed}'
    done = subprocess.run(words, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def read_by_nobody(words: str) -> Said:
    """Run a command whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    said = written_to(writer, words)
    os.close(writer)
    return said


@pytest.mark.parametrize("words", ["--help", "list", "list --json", "show gradient"])
def test_a_reader_who_leaves_is_no_error(words: str) -> None:
    said = read_by_nobody(words)
    assert (said.code, said.err) == (0, "")


@pytest.mark.parametrize("options", ["", "--json"])
def test_a_reader_who_leaves_does_not_change_the_exit_code(options: str, tmp_path: Path) -> None:
    table = tmp_path / "leaky.csv"
    table.write_text("a,b,y,part\n1,1,0,train\n1,2,1,train\n2,1,1,train\n1,1,0,test\n")
    words = f"audit {table} --label y --split part --no-predictions {options}"
    assert read_by_nobody(words).code == 0
    assert read_by_nobody(f"{words} --fail-on leak").code == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", ["--help", "list", "list --json"])
def test_output_that_finds_no_room_is_one_line(words: str) -> None:
    with open("/dev/full", "w") as full:
        said = written_to(full, words)
    assert said.code == 1
    assert said.line.startswith("recombine: no room to write the output")


def test_a_console_whose_reader_left_gives_up_its_own_stream_and_no_other() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    before = os.fstat(1)
    with os.fdopen(writer, "w") as stream:
        told = Quiet(file=stream)
        told.print("nobody reads this")
        told.print("nor this")
        assert os.path.samestat(os.fstat(stream.fileno()), os.stat(os.devnull))
    assert os.path.samestat(os.fstat(1), before)
