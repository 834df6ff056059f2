"""RESULTS.md from ledgers: complete, deterministic, with text that stays in its cell."""

from __future__ import annotations

import json
from typing import Any

import specimen

from recombine.report import results


def ledger(study: str = "gradient/corners") -> dict[str, Any]:
    finding = specimen.finding(scale="paper")
    entry = {
        **finding.plain(),
        "command": finding.command,
        "commit": "abc123",
        "machine": "x86_64, 2 cores",
        "made_with": dict(finding.made_with),
    }
    made = {"study": study, "title": "Three corners", "paper": "Li (2022).", "findings": [entry]}
    return json.loads(json.dumps(made))


def test_a_claim_has_its_row() -> None:
    text = results([ledger()])
    rows = [line for line in text.splitlines() if line.startswith("| D1 ")]
    assert len(rows) == 1
    for said in ("shown as one picture", "0.500 [", "| 30 |", "✓ reproduced", "as-printed"):
        assert said in rows[0]
    assert "## Three corners (`gradient/corners`)" in text and "`abc123`" in text
    assert "- command: `recombine reproduce gradient/corners --scale paper" in text


def test_tables_follow_with_intervals_and_dashes() -> None:
    text = results([ledger()])
    assert "| angle of the boundary | about 45° | 45.000 [" in text
    assert "| one seed only | −1.5 | 0.250 (n = 1) | 1 |" in text
    assert "| share of seeds that err on more than 5% | — | 0.967 [" in text
    assert "<script>" not in text


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    block: list[str] = []
    for line in [*results([ledger()]).splitlines(), ""]:
        if line.startswith("|"):
            block.append(line.replace("\\|", ""))
        else:
            assert len({row.count("|") for row in block}) <= 1
            block = []


def test_the_order_of_ledgers_changes_nothing() -> None:
    a, b = ledger("gradient/corners"), ledger("kernel/addition")
    assert results([a, b]) == results([b, a])


def test_without_ledgers_it_says_so() -> None:
    assert "Nothing has been measured yet." in results([])
