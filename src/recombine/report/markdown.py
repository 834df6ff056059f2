"""Generates RESULTS.md from ledgers: every claim and table measured, with what made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recombine.report.cells import (
    NOTHING,
    SYMBOLS,
    in_common,
    numeric,
    revived,
    words,
)
from recombine.stats import Interval

HEAD = """# Results

Generated from the ledgers in `results/`; do not edit. Each row sets what a paper reports beside
what was measured here, with an interval over seeds. A verdict follows from the interval by the
rule printed with the claim: ✓ reproduced, ✗ contradicted, ? inconclusive.
"""


def results(ledgers: Sequence[Mapping[str, Any]]) -> str:
    """RESULTS.md as text, by name of study whatever the order of the ledgers."""
    ordered = sorted(ledgers, key=lambda ledger: str(ledger["study"]))
    body = [_study(ledger) for ledger in ordered] or ["Nothing has been measured yet.\n"]
    return "\n".join([HEAD, *body])


def summary(ledgers: Sequence[Mapping[str, Any]]) -> str:
    """One row a claim, for a README."""
    rows = [
        [
            f"`{ledger['study']}`",
            _inline(finding["profile"]),
            f"{_inline(claim['id'])}: {_inline(claim['statement'])}",
            _inline(claim["published"]),
            f"{_inline(_ours(claim))} ({claim['n']:,} seeds)",
            f"{SYMBOLS.get(claim['verdict'], '')} {claim['verdict']}",
        ]
        for ledger in sorted(ledgers, key=lambda ledger: str(ledger["study"]))
        for finding in ledger["findings"]
        for claim in finding["claims"]
    ]
    header = ["study", "profile", "claim", "published", "ours", "verdict"]
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _study(ledger: Mapping[str, Any]) -> str:
    parts = [f"## {_inline(ledger['title'])} (`{ledger['study']}`)\n"]
    if ledger.get("paper"):
        parts.append(f"{_inline(ledger['paper'])}\n")
    findings = ledger["findings"]
    parts.append(_claims(findings))
    parts.extend(_finding(finding) for finding in findings)
    return "\n".join(parts)


def _claims(findings: Iterable[Mapping[str, Any]]) -> str:
    rows = [
        [
            claim["id"],
            claim["statement"],
            claim["published"],
            _ours(claim),
            f"{claim['n']:,}",
            f"{SYMBOLS.get(claim['verdict'], '')} {claim['verdict']}",
            f"{finding['profile']} ({finding['scale']})",
        ]
        for finding in findings
        for claim in finding["claims"]
    ]
    header = ["claim", "statement", "published", "ours", "n", "verdict", "profile"]
    return _grid(header, rows, right={4})


def _ours(claim: Mapping[str, Any]) -> str:
    low, high = claim["interval"]
    return words(revived({"estimate": claim["effect"], "low": low, "high": high}))


def _finding(finding: Mapping[str, Any]) -> str:
    """The tables of one scale and profile, and where they come from."""
    heading = f"### {_inline(finding['scale'])} scale, {_inline(finding['profile'])}\n"
    rules = [
        _rule(claim) for claim in finding["claims"] if claim.get("rule") or claim.get("caveat")
    ]
    notes = ["What counts as reproduced:\n\n" + "\n".join(rules) + "\n"] if rules else []
    return "\n".join([heading, _made(finding), *notes, *map(_table, finding["tables"])])


def _rule(claim: Mapping[str, Any]) -> str:
    said = [claim.get("rule", ""), claim.get("caveat", "")]
    return f"- {_inline(claim['id'])}: {_inline('. '.join(text for text in said if text))}"


def _made(finding: Mapping[str, Any]) -> str:
    with_ = ", ".join(f"{k} {v}" for k, v in sorted((finding.get("made_with") or {}).items()))
    lines = {
        "command": f"`{finding['command']}`" if finding.get("command") else "",
        "commit": f"`{finding['commit']}`" if finding.get("commit") else "",
        "machine": _inline(finding["machine"]) if finding.get("machine") else "",
        "made with": _inline(with_) if with_ else "",
        "seeds": f"{finding['seeds']:,}" if finding.get("seeds") else "",
    }
    return "\n".join(f"- {name}: {value}" for name, value in lines.items() if value) + "\n"


def _table(table: Mapping[str, Any]) -> str:
    rows = [[revived(cell) for cell in row] for row in table["rows"]]
    told = _inline(table["note"]) if table.get("note") else ""
    rests, differ = in_common((value for row in rows for value in row), told)
    right = {i for i in range(len(table["columns"])) if any(numeric(row[i]) for row in rows)}
    said = [
        [
            f"{words(v)} (n = {v.n:,})" if isinstance(v, Interval) and differ else words(v)
            for v in row
        ]
        for row in rows
    ]
    where = f" ({_inline(table['where'])})" if table.get("where") else ""
    note = " ".join(part for part in (rests, told) if part)
    grid = _grid(table["columns"], said, right=right)
    return f"**{_inline(table['title'])}**{where}\n\n{grid}" + (f"\n{note}\n" if note else "")


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: set[int]) -> str:
    rule = ["---:" if i in right else "---" for i in range(len(header))]
    lines = [[_inline(cell) for cell in header], rule]
    lines += [[_inline(cell) for cell in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _inline(text: str) -> str:
    """Text that stays in its cell and is read as text."""
    flat = " ".join(str(text).split()) or NOTHING
    for sign in "\\|*_`<>":
        flat = flat.replace(sign, f"\\{sign}")
    return flat
