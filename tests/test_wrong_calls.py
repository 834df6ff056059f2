"""A call that is wrong is one line that says what is legal; nothing is touched."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from shell import Launch, Said, call, ended


def refused(said: Said) -> str:
    """The one line of a call that was wrong."""
    assert (said.code, said.out) == (2, "")
    assert said.line.startswith("recombine: ")
    return said.line


WRONG: dict[str, tuple[list[str], list[str]]] = {
    "command": (["reprodce"], ["'reproduce'", "legal: audit, bench, check, data, diagnose, list"]),
    "option": (["reproduce", "--sed", "3"], ["--sed", "--help"]),
    "study": (["reproduce", "gradent"], ["perhaps you meant 'gradient'", "legal: "]),
    "second study": (["reproduce", "gradient", "x"], ["'x'", "legal: ", "gradient"]),
    "part": (["reproduce", "gradient/corner"], ["perhaps you meant 'corners'", "in gradient"]),
    "study to show": (["show", "gradints"], ["perhaps you meant 'gradient'"]),
    "no study to show": (["show"], ["study", "show --help"]),
    "study of status": (["status", "gradent"], ["perhaps you meant 'gradient'"]),
    "study of report": (["report", "gradent"], ["perhaps you meant 'gradient'"]),
    "scale": (
        ["reproduce", "gradient", "--scale", "papr"],
        ["meant 'paper'", "legal: paper, quick"],
    ),
    "empty scale": (["reproduce", "gradient", "--scale", ""], ["legal: paper, quick"]),
    "scale of status": (["status", "gradient", "--scale", ""], ["legal: paper, quick"]),
    "profile": (
        ["reproduce", "gradient", "--profile", "as-rum"],
        ["perhaps you meant 'as-run'", "legal: as-printed, as-run"],
    ),
    "profile of report": (
        ["report", "gradient", "--profile", "as-rum"],
        ["perhaps you meant 'as-run'"],
    ),
    "kind": (["list", "task"], ["meant 'tasks'", "legal: analyses, models, studies, tasks"]),
    "benchmark": (["bench", "lane"], ["perhaps you meant 'lanes'", "audit, ", "store"]),
    "component": (["check", "tasks/corner"], ["perhaps you meant 'corners'"]),
    "second component": (["check", "tasks/corners", "tasks/x"], ["'x'", "legal: ", "corners"]),
    "kind of component": (["check", "task/corners"], ["perhaps you meant 'tasks'"]),
    "no kind": (["check", "corners"], ["perhaps you meant 'tasks/corners'"]),
    "field": (
        ["reproduce", "gradient", "--set", "recipe.step=5"],
        ["perhaps you meant 'steps'", "batch"],
    ),
    "outer field": (
        ["reproduce", "gradient", "--set", "recpe.steps=5"],
        ["perhaps you meant 'recipe'"],
    ),
    "inner field": (
        ["reproduce", "gradient/corners", "--set", "recipe.optimizer.rat=5"],
        ["perhaps you meant 'rate'", "training/sgd"],
    ),
    "field of a number": (
        ["reproduce", "gradient", "--set", "recipe.steps.x=5"],
        ["'x'", "recipe.steps"],
    ),
    "value": (
        ["reproduce", "gradient", "--set", "recipe.steps=many"],
        ["'many'", "a whole number"],
    ),
    "fraction": (["reproduce", "gradient", "--set", "recipe.steps=1.5"], ["1.5", "a whole number"]),
    "no value": (["reproduce", "gradient", "--set", "recipe.steps="], ["a whole number"]),
    "value out of range": (
        ["reproduce", "gradient", "--set", "recipe.steps=-1"],
        ["-1", "0 or more"],
    ),
    "infinite value": (["reproduce", "gradient", "--set", "recipe.clip=1e999"], ["recipe.clip"]),
    "word out of a few": (
        ["reproduce", "gradient", "--set", "recipe.sampling=frsh"],
        ["one of fresh, with-replacement, without-replacement, in-order"],
    ),
    "component as a value": (
        ["reproduce", "gradient", "--set", "task=corners"],
        ["cells/trial.task"],
    ),
    "setting of report": (
        ["report", "gradient", "--set", "recipe.step=5"],
        ["perhaps you meant 'steps'"],
    ),
    "malformed setting": (["reproduce", "gradient", "--set", "recipe.steps"], ["field=value"]),
    "empty setting": (["reproduce", "gradient", "--set", "=5"], ["legal: keep_weights"]),
    "seeds no number": (
        ["reproduce", "gradient", "--seeds", "x"],
        ["'x' is not a whole number", "--seeds"],
    ),
    "no seeds": (["reproduce", "gradient", "--seeds", "0"], ["--seeds = 0", "from 1 to 1,000,000"]),
    "negative seeds": (
        ["reproduce", "gradient", "--seeds", "-3"],
        ["--seeds = -3", "from 1 to 1,000,000"],
    ),
    "no seeds of status": (
        ["status", "gradient", "--seeds", "0"],
        ["--seeds = 0", "from 1 to 1,000,000"],
    ),
    "workers no number": (
        ["reproduce", "gradient", "--workers", "two"],
        ["'two' is not a whole number"],
    ),
    "no workers": (["reproduce", "gradient", "--workers", "0"], ["--workers = 0", "from 1 up"]),
    "negative workers": (["reproduce", "gradient", "--workers", "-1"], ["--workers = -1"]),
    "device": (["reproduce", "gradient", "--device", "gpu"], ["--device = 'gpu'", "cpu, cuda"]),
    "absent device": (["reproduce", "gradient", "--device", "hpu"], ["--device = 'hpu'"]),
    "device without numbers": (
        ["reproduce", "gradient", "--device", "meta"],
        ["--device = 'meta'"],
    ),
    "obsolete device": (["reproduce", "gradient", "--device", "mkldnn"], ["--device = 'mkldnn'"]),
    "action": (["runs", "exprt"], ["perhaps you meant 'export'", "export, import, verify"]),
    "no action": (["runs"], ["ACTION"]),
    "data set": (["data", "get", "mnst"], ["perhaps you meant 'mnist'", "cifar10, fashion-mnist"]),
    "folder to get from": (
        ["data", "get", "mnist", "--data", "d", "--from", "b"],
        ["--from b", "no such folder"],
    ),
    "action on data": (["data", "fetch"], ["legal: get, list, verify"]),
    "study to export": (
        ["runs", "export", "a.jsonl", "--study", "gradent"],
        ["perhaps you meant 'gradient'"],
    ),
    "suffix": (["runs", "export", "a.json"], ["a.json", ".jsonl or .jsonl.gz"]),
    "folder": (["runs", "export", "b/a.jsonl"], ["b/a.jsonl", "there is no folder b"]),
    "store to export": (["runs", "export", "a.jsonl"], ["no store in .recombine", "--store"]),
    "store to verify": (["runs", "verify", "--store", "b"], ["no store in b", "--store"]),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_is_one_line_that_says_what_is_legal(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words, said = WRONG[what]
    line = refused(call(*words))
    assert all(each in line for each in said), line
    assert os.listdir(tmp_path) == [], "nothing was done"


def test_a_wrong_call_is_one_line_in_a_process_of_its_own(launch: Launch, tmp_path: Path) -> None:
    line = refused(ended(launch("reproduce", "gradent", "--store", tmp_path / "store")))
    assert "perhaps you meant 'gradient'" in line


@pytest.mark.parametrize("verb", ["reproduce", "status", "report", "show", "runs verify"])
def test_what_is_no_store_is_not_touched(verb: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "mine.txt", tmp_path / "mine.txt" / "x", "x" * 300):
        study = [] if verb == "runs verify" else ["gradient"]
        line = refused(call(*verb.split(), *study, "--store", place))
        assert str(place) in line and "--store" in line
    assert os.listdir(tmp_path) == ["mine.txt"]


@pytest.mark.parametrize("verb", ["show gradient", "status", "report gradient --out report"])
def test_who_only_looks_makes_no_store(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = call(*verb.split())
    assert (said.code, said.err) == (0, "")
    assert os.listdir(tmp_path) == (["report"] if "report" in verb else [])


def foreign(path: Path) -> None:
    path.write_bytes(gzip.compress(b'{"somebody": "else"}\n'))


def no_gzip(path: Path) -> None:
    path.write_bytes(b"\x1f\x8b but not more than that")


def torn(path: Path) -> None:
    path.write_bytes(gzip.compress(b'{"recombine-runs": 1, "count": 0}\n' * 99)[:-9])


def plain_text(path: Path) -> None:
    path.write_text("no JSON either")


@pytest.mark.parametrize("make", [None, Path.mkdir, foreign, no_gzip, torn, plain_text])
def test_a_file_that_is_no_export_is_refused(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    if make is not None:
        make(path)
    line = refused(call("runs", "import", path, "--store", tmp_path / "store"))
    assert str(path) in line and "export" in line


def test_an_unknown_option_points_to_the_help_of_its_command() -> None:
    assert "see 'recombine audit --help'" in refused(call("audit", "x.csv", "--lable", "y"))
    assert "see 'recombine --help'" in refused(call("--nothing"))
