"""docs/audit.md says what is so: its examples run and print what it shows."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

from recombine.auditing import KINDS
from recombine.cli import parser
from recombine.commands.audit import _row
from recombine.commands.examples import EXAMPLES

TEXT = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()


def test_the_worked_example_prints_what_is_shown() -> None:
    names: dict[str, Any] = {}
    said, audits = [], []
    for block in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(block, names)
        said.append(out.getvalue())
        audits.append(names["audit"])
    first, clash, second = re.findall(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)
    assert said == [first, second]
    (finding,) = [each for each in audits[0].findings if each.kind == "unlearnable"]
    assert "".join(f"{_row(row)}\n" for row in finding.rows[:4]) == clash
    assert "At least 11 of the 48" in finding.text and "least 11 of the 48" in TEXT
    assert {each.kind for each in audits[0].findings} == set(re.findall(r"([a-z-]+)\n", first))


def test_the_commands_are_legal() -> None:
    lines = re.findall(r"^    (recombine .*?)(?:  .*)?$", TEXT, flags=re.MULTILINE)
    lines += re.findall(r"^  (recombine .*?)(?:   .*)?$", EXAMPLES["audit"], flags=re.MULTILINE)
    assert len(lines) == 8
    for line in lines:
        parser().parse_args(shlex.split(line)[1:])


def test_every_kind_of_finding_is_explained() -> None:
    for kind in KINDS:
        assert f"**{kind}**" in TEXT or f"**{kind}.**" in TEXT, kind
        assert re.search(rf"\b{kind}\b", EXAMPLES["audit"]), kind
