"""The command line: JSON is only JSON, help teaches, and what is light stays light."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recombine import catalog
from recombine.runs import Store
from shell import CELLS, PATIENCE, TINY, call, records, reproduce, wanted

VERBS = (
    "list",
    "show",
    "reproduce",
    "status",
    "report",
    "diagnose",
    "runs",
    "data",
    "audit",
    "check",
    "bench",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three seeds of everything the tiny request needs."""
    home = tmp_path_factory.mktemp("cli") / "store"
    assert reproduce(home, 3).code == 0
    return home


@pytest.fixture
def toy_study(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = catalog.Entry("toys:STUDY", "toys")
    monkeypatch.setitem(catalog.BUILTIN["studies"], "toy", entry)  # type: ignore[arg-type]


# What cannot be done


def test_a_report_that_cannot_be_written_is_one_line(store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for option in ("--out", "--ledger"):
        out = tmp_path / "file" / "inner"
        said = call("report", *TINY, "--store", store, "--out", tmp_path / "ok", option, out)
        assert said.code == 1 and said.out == ""
        assert "cannot write" in said.line and str(tmp_path / "file") in said.line


def test_a_folder_of_other_files_is_no_ledger(store: Path, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    said = call("report", *TINY, "--store", store, "--out", tmp_path / "o", "--ledger", tmp_path)
    assert said.code == 2 and "package.json is no ledger" in said.line
    assert os.listdir(tmp_path) == ["package.json"]


def test_one_seed_is_judged_and_decides_nothing(tmp_path: Path) -> None:
    said = call(*wanted(tmp_path / "store", 1, "--json", "--workers", 1))
    (found,) = said.json["studies"].values()
    assert said.code == 0
    assert {claim["verdict"] for claim in found["claims"]} == {"inconclusive"}


# Help


def test_no_words_print_the_help() -> None:
    said = call()
    assert said.code == 0
    listed = [line.split()[0] for line in said.out.splitlines() if line.startswith("    ")]
    assert [word for word in listed if word in VERBS] == [*VERBS]


@pytest.mark.parametrize(
    "words",
    [
        *([verb] for verb in VERBS),
        *(["runs", each] for each in ("export", "import", "verify")),
        *(["data", each] for each in ("list", "get", "verify")),
    ],
    ids=" ".join,
)
def test_every_verb_has_help(words: list[str]) -> None:
    said = call(*words, "--help")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"usage: recombine {' '.join(words)} ")
    assert "--json" in said.out or words in (["runs"], ["data"])


LIGHT = """
import io, sys, contextlib
from recombine.cli import main
for words in {calls}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(words)
heavy = {{"torch", "numpy", "scipy", "polars", "matplotlib", "jinja2", "safetensors"}}
print(sorted(heavy & set(sys.modules)))
"""


def test_help_and_list_import_nothing_heavy() -> None:
    calls = [[], ["--help"], ["--version"], ["list"], ["list", "studies", "--json"]]
    calls += [[verb, "--help"] for verb in VERBS]
    program = [sys.executable, "-c", LIGHT.format(calls=calls)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("[]\n", "")


# JSON


def test_list_is_one_json_object() -> None:
    said = call("list", "--json")
    assert (said.code, said.err) == (0, "")
    assert set(said.json) == set(catalog.KINDS)
    assert "corners" in said.json["tasks"]
    assert list(call("list", "models", "--json").json) == ["models"]


def test_show_is_one_json_object(store: Path) -> None:
    said = call("show", "gradient", "--store", store, "--json")
    assert (said.code, said.err) == (0, "")
    assert set(said.json) == {
        "study", "title", "authors", "year", "question", "claims", "store"
    }  # fmt: skip
    assert {"D1", "D2", "T1", "T2"} <= {claim["id"] for claim in said.json["claims"]}


def test_status_is_one_json_object(store: Path) -> None:
    said = call("status", *TINY, "--seeds", 4, "--store", store, "--json")
    assert (said.code, said.err) == (0, "")
    assert set(said.json) == {"cells", "failures", "other"}
    assert len(said.json["cells"]) == CELLS
    for cell in said.json["cells"]:
        assert (cell["done"], cell["missing"], cell["failed"], cell["stale"]) == (3, 1, 0, 0)


def test_status_tells_of_what_was_asked_without_importing_torch(store: Path) -> None:
    code = (
        "import sys; from recombine.cli import main; code = main(sys.argv[1:]); "
        "assert 'torch' not in sys.modules and 'scipy' not in sys.modules; sys.exit(code)"
    )
    words = [sys.executable, "-c", code, "status", "--json", "--store", str(store)]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    asked = call("status", *TINY, "--seeds", 3, "--store", store, "--json").json
    remembered = json.loads(said.stdout)
    assert remembered["cells"] == asked["cells"] and remembered["other"] == {}


def test_status_names_the_studies_never_asked_for(store: Path) -> None:
    said = call("status", "--store", store)
    assert "not begun: recombine reproduce reuse" in said.out
    assert "not begun: recombine reproduce gradient" not in said.out
    said = call("status", "reuse/penalty", "--store", store)
    assert "not begun: recombine reproduce reuse/penalty --scale quick" in said.out


def test_status_tells_what_is_begun_but_not_done(store: Path, tmp_path: Path) -> None:
    asked = call("status", *TINY, "--seeds", 4, "--store", store, "--json").json["cells"]
    own = tmp_path / "store"
    shutil.copytree(store, own)
    with Store.open(own) as opened:
        opened.checkpoint(f"{asked[0]['key']}-1").save({"step": np.array(7)})
    said = call("status", *TINY, "--seeds", 4, "--store", own, "--json")
    assert [cell["begun"] for cell in said.json["cells"]] == [1] + [0] * (CELLS - 1)
    said = call("status", *TINY, "--seeds", 4, "--store", own)
    assert said.out.count("1 (1 begun)") == 1 and "the same command continues them" in said.out
    assert "begun: jobs" not in call("status", "--store", store).out


def test_status_says_what_to_type_and_fits_a_narrow_terminal(store: Path) -> None:
    said = call("status", "--store", store)
    assert f"store {store}\n" in said.out
    assert f"recombine reproduce {TINY[0]} --scale quick --profile as-printed --seeds 3" in said.out
    rows = [line for line in said.out.splitlines() if line.startswith(("│", "┃"))]
    assert len(rows) == 1 + CELLS and all(len(line) < 72 for line in rows)


def test_report_is_one_json_object(store: Path, tmp_path: Path) -> None:
    said = call("report", *TINY, "--store", store, "--out", tmp_path / "report", "--json")
    assert (said.code, said.err) == (0, "")
    assert said.json["ledger"] == [] and Path(said.json["report"]).is_file()


def test_check_is_one_json_object() -> None:
    said = call("check", "tasks/corners", "--json")
    assert said.code == 0
    assert set(said.json) == {"checks", "broken"} and said.json["broken"] == 0
    assert {check["ok"] for check in said.json["checks"]} == {True}


def test_runs_are_one_json_object(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    said = call("runs", "export", path, "--store", store, "--json")
    assert said.json == {"path": str(path), "exported": 3 * CELLS}
    said = call("runs", "--store", store, "import", path, "--json")
    assert said.json == {"added": 0, "already_there": 3 * CELLS, "refused": []}
    said = call("runs", "verify", "--store", store, "--json")
    assert said.json == {"damaged": [], "set_aside": False} and said.err == ""


def test_a_refused_line_is_told_by_its_number(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    call("runs", "export", path, "--store", store)
    header, first, *_ = path.read_text().splitlines(keepends=True)
    path.write_text(header + first.replace('"seed":', '"sed":'))
    said = call("runs", "import", path, "--store", tmp_path / "other")
    assert said.code == 1
    assert "refused: line 2: the record does not match its digest\n" in said.out
    assert f"refused: line 3: the file ends after 1 of {3 * CELLS} runs\n" in said.out


CLAIM = {
    "id": str,
    "statement": str,
    "where": str,
    "verdict": str,
    "effect": float,
    "interval": list,
    "n": int,
    "published": str,
    "method": str,
    "rule": str,
    "reason": str,
    "caveat": str,
}


def test_reproduce_is_one_json_object_of_the_promised_schema(store: Path) -> None:
    said = reproduce(store, 3, "--json")
    assert (said.code, said.err) == (0, "")
    assert list(said.json) == ["studies"] and list(said.json["studies"]) == ["gradient/corners"]
    found = said.json["studies"]["gradient/corners"]
    assert list(found) == ["scale", "profile", "seeds", "claims", "tables"]
    assert (found["scale"], found["profile"], found["seeds"]) == ("quick", "as-printed", 3)
    assert [claim["id"] for claim in found["claims"]] == ["D1", "D2", "T1", "T2"]
    for claim in found["claims"]:
        assert {name: type(value) for name, value in claim.items()} == CLAIM
        assert claim["verdict"] in ("reproduced", "contradicted", "inconclusive")
        low, high = claim["interval"]
        assert low <= claim["effect"] <= high and claim["n"] == 3
    for table in found["tables"]:
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_numbers_that_json_does_not_know_are_null(toy_study: None, tmp_path: Path) -> None:
    said = call("reproduce", "toy/one", "--seeds", 1, "--workers", 1, "--json",
                "--store", tmp_path / "store")  # fmt: skip
    (claim,) = said.json["studies"]["toy/one"]["claims"]
    assert claim["effect"] == 0.0 and claim["interval"] == [None, None]


# Settings


def test_a_setting_makes_other_runs(store: Path) -> None:
    def cells(steps: int) -> dict[str, tuple[str, int]]:
        words = ("gradient/corners", "--profile", "as-printed", "--seeds", 3, "--json")
        said = call("status", *words, "--set", f"recipe.steps={steps}", "--store", store)
        return {cell["cell"]: (cell["key"], cell["done"]) for cell in said.json["cells"]}

    ours, others = cells(36), cells(37)
    assert {done for _, done in ours.values()} == {3}
    assert {done for _, done in others.values()} == {0}
    assert not {key for key, _ in ours.values()} & {key for key, _ in others.values()}


def test_the_store_may_be_named_by_the_environment(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOMBINE_STORE", str(store))
    said = call("reproduce", *TINY, "--seeds", 3, "--workers", 1)
    assert f" {3 * CELLS} seeds done, 0 to run" in said.err
    assert os.listdir(tmp_path) == []


def test_an_empty_variable_is_none_and_home_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value, place in {"": ".recombine", "~/runs": str(tmp_path / "home" / "runs")}.items():
        monkeypatch.setenv("RECOMBINE_STORE", value)
        assert f"no store in {place}:" in call("runs", "verify").line


# What people read


@pytest.mark.parametrize("words", ["data list --data", "report gated --out", "status --store"])
def test_a_path_in_brackets_is_shown(words: str, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "a[/b] [red]"
    if "--store" in words:
        path.mkdir(parents=True)
        path = Path(shutil.copytree(store, path / "store"))
    options = ("--store", tmp_path / "none") if "report" in words else ()
    said = call(*words.split(), path, *options)
    assert (said.code, said.err) == (0, "")
    assert str(path) in said.out.replace("\n", "")


def test_claims_are_shown_with_their_verdicts(store: Path) -> None:
    said = reproduce(store, 3)
    assert said.code == 0
    for claim in reproduce(store, 3, "--json").json["studies"]["gradient/corners"]["claims"]:
        (row,) = [line for line in said.out.splitlines() if line.startswith(f"│{claim['id']} ")]
        assert claim["verdict"] in row


def test_words_in_brackets_are_shown(toy_study: None, tmp_path: Path) -> None:
    words = ("toy/one", "--seeds", 1, "--store", tmp_path / "store", "--workers", 1)
    assert "[no interval]" in call("reproduce", *words).out


def test_failures_are_told_letter_by_letter(toy_study: None, tmp_path: Path) -> None:
    words = ("toy/one", "--seeds", 12, "--set", "fails_from=11", "--store", tmp_path / "store")
    message = "ArithmeticError: seed 11 [/does not] compose"
    said = call("reproduce", *words, "--workers", 1)
    assert said.code == 1
    assert f"main [10–11] failed: {message}" in said.err
    assert "2 seeds failed; 'recombine status' shows why" in said.err
    assert message in call("status", *words).out
    said = call("reproduce", *words, "--workers", 1, "--json")
    assert said.code == 1 and said.json["studies"]["toy/one"]["seeds"] == 10
    assert "2 seeds failed" in said.line


# Where the output goes


def test_progress_goes_to_standard_error(store: Path) -> None:
    said = call(*wanted(store, 3, "--json", "--workers", 1))
    before = records(store)
    assert json.loads(said.out) and said.err == ""
    assert "seeds done" in reproduce(store, 3).err
    assert records(store) == before
