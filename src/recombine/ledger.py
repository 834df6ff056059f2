"""The ledger: what was measured at paper scale, as files that a repository keeps.

`results/<study>-<part>.json` holds the findings with command, commit and machine; `RESULTS.md`
beside the folder is generated from all of them. Numbers come from findings, and findings come
from the store.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recombine.report import results
from recombine.studies import Finding


def write(folder: Path, findings: Sequence[Finding]) -> list[Path]:
    """Write the ledger of every part that has paper-scale findings, and RESULTS.md."""
    folder.mkdir(parents=True, exist_ok=True)
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.scale == "paper":
            grouped.setdefault(finding.name, []).append(finding)
    written = []
    for name, found in grouped.items():
        path = folder / f"{name.replace('/', '-')}.json"
        _replace(path, json.dumps(_ledger(name, found), indent=1, ensure_ascii=False) + "\n")
        written.append(path)
    summary = folder.parent / "RESULTS.md"
    _replace(summary, results(read(folder)))
    return [*written, summary]


def read(folder: Path) -> list[dict[str, Any]]:
    """Every ledger in a folder, by name."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def _ledger(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    study = findings[0].study
    return {
        "study": name,
        "title": f"{study.title}: {findings[0].part.title}",
        "paper": f"{study.authors} ({study.year}), {study.title}",
        "findings": [
            {
                **finding.plain(),
                "command": finding.command,
                "commit": finding.made_with.get("commit", ""),
                "machine": finding.made_with.get("machine", ""),
                "made_with": dict(finding.made_with),
            }
            for finding in findings
        ],
    }


def _replace(path: Path, text: str) -> None:
    """Put a whole file in place of another."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text)
    aside.replace(path)
