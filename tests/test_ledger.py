"""The ledger: files written from findings, and documents generated from the files alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from recombine import ledger
from recombine.errors import UsageError

CLAIM: dict[str, Any] = {
    "id": "D1", "statement": "It errs.", "where": "Figure 5", "verdict": "reproduced",
    "effect": 0.25, "interval": [0.2, 0.3], "n": 1000, "published": "a picture",
    "rule": "above 0.2", "caveat": "",
}  # fmt: skip
FINDING = {"scale": "paper", "profile": "as-run", "seeds": 1000, "claims": [CLAIM], "tables": []}


def folder_with(tmp_path: Path, readme: str) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    made = {"study": "gradient/corners", "title": "Corners", "paper": "Li", "findings": [FINDING]}
    (folder / "gradient-corners.json").write_text(json.dumps(made))
    (tmp_path / "README.md").write_text(readme)
    return folder


def test_the_table_in_the_readme_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, f"before\n{ledger.BEGIN}\nold\n{ledger.END}\nafter\n")
    ledger.publish(folder)
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "old" not in text and "| `gradient/corners` | as-run | D1: It errs." in text
    ledger.publish(folder)
    assert (tmp_path / "README.md").read_text() == text


def test_a_readme_without_marks_is_left_alone(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "mine\n")
    assert ledger.publish(folder) == [tmp_path / "RESULTS.md"]
    assert (tmp_path / "README.md").read_text() == "mine\n"
    assert "0.250 [0.200, 0.300]" in (tmp_path / "RESULTS.md").read_text()


def test_nothing_at_paper_scale_writes_no_ledger(tmp_path: Path) -> None:
    assert ledger.write(tmp_path / "results", []) == [tmp_path / "RESULTS.md"]
    assert not list((tmp_path / "results").iterdir())


@pytest.mark.parametrize("text", ["{cut", '{"name": "package"}', "[]"])
def test_a_file_that_is_no_ledger_is_refused_before_anything_is_written(
    text: str, tmp_path: Path
) -> None:
    folder = folder_with(tmp_path, f"{ledger.BEGIN}{ledger.END}")
    (folder / "other.json").write_text(text)
    with pytest.raises(UsageError, match=r"other\.json is"):
        ledger.write(folder, [])
    assert not (tmp_path / "RESULTS.md").exists()


def test_a_ledger_keeps_the_profiles_that_were_not_measured_again(tmp_path: Path) -> None:
    path = folder_with(tmp_path, "") / "gradient-corners.json"
    again = [FINDING | {"profile": "as-printed"}, FINDING | {"profile": "as-run", "seeds": 7}]
    merged = ledger._merged(path, again[1:])
    assert [(f["profile"], f["seeds"]) for f in merged] == [("as-run", 7)]
    merged = ledger._merged(path, again[:1])
    assert [(f["profile"], f["seeds"]) for f in merged] == [("as-printed", 1000), ("as-run", 1000)]
