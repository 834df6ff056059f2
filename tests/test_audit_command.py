"""`recombine audit` as a new user meets it: strange files, wrong calls, JSON, pages, exit codes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from factor_tables import CONTEXT, SUM, XOR, columns, corner
from shell import Said, call

THIRD_PARTY = '''\ufeffForme ; Couleur;"Taille; cm";Étiquette;Jeu
cercle;rouge;"petit; 1";oui;apprentissage
cercle; bleu ;"petit; 1";non;apprentissage
carré;rouge;"petit; 1";oui;apprentissage
carré;"bleu";"grand ""2""";non;essai
'''


def written(folder: Path, table: dict[str, list[object]], name: str = "table.csv") -> Path:
    path = folder / name
    frame = pl.DataFrame(table, strict=False)
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


def audit(path: object, *words: object) -> Said:
    return call("audit", path, "--label", "y", "--split", "split", *words)


def refused(said: Said) -> str:
    assert (said.code, said.out) == (2, "")
    assert said.line.startswith("recombine: ")
    return said.line


def test_a_table_is_told_in_words_and_tables(tmp_path: Path) -> None:
    said = audit(written(tmp_path, XOR))
    assert (said.code, said.err) == (0, "")
    flat = " ".join(said.out.split())
    assert "12 training and 4 test rows" in flat and "problem unlearnable" in flat
    assert "clash 1: row 11: a = 2, b = 2 → 0" in flat and "whatever its features" in flat
    assert "Coverage by order" in flat and "ReLU, depth 4" in flat


@pytest.mark.parametrize(
    "words",
    [
        ("--factors", "a", "b", "--test", "test", "val"),
        ("--factors", "a,b", "--test", "test,val"),
        ("--factors", "a, b", "--test", "test, val"),
        ("--factors", "a", "--factors", "b", "--test", "test", "--test", "val"),
    ],
)
def test_several_names_stand_apart_by_blanks_commas_or_options(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    marks = ["train", "train", "test", "val", "other", "train"]
    cells = {"a": [*"xxyyxy"], "b": [*"uvuvuv"], "c": [*"123456"], "y": [0, 1, 1, 0, 0, 1]}
    path = written(tmp_path, {**cells, "split": marks})
    found = json.loads(audit(path, *words, "--json").out)
    assert [each["name"] for each in found["factors"]] == ["a", "b"]
    assert found["split"]["test"] == ["test", "val"]
    path = written(tmp_path, {"a,b": [*"xxyyxy"], **cells, "split": marks})
    found = json.loads(audit(path, "--factors", "a,b", "c", "--json").out)
    assert [each["name"] for each in found["factors"]] == ["a,b", "c"]
    assert "unknown column 'd'" in refused(audit(path, "--factors", "a,d"))


@pytest.mark.parametrize(
    "name", ["table.csv", "table.parquet", "table.tsv", "table.csv.gz", "table-cr.csv"]
)
def test_every_kind_of_file_gives_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    text = pl.DataFrame(CONTEXT).write_csv(separator="\t" if name.endswith("tsv") else ",")
    if name.endswith("parquet"):
        pl.DataFrame(CONTEXT).write_parquet(path)
    elif name.endswith("gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif "cr" in name:
        path.write_bytes(text.replace("\n", "\r").encode())
    else:
        path.write_text(text)
    found = audit(path, "--json").json
    assert found["notes"] == ["columns are separated by tabs"] * name.endswith("tsv")
    plain = audit(written(tmp_path, CONTEXT, "plain.csv"), "--json").json
    for each in (found, plain):
        del each["table"], each["summary"], each["notes"]
    assert found == plain


def test_json_is_one_object_with_everything(tmp_path: Path) -> None:
    said = audit(written(tmp_path, XOR), "--json")
    assert (said.code, said.err) == (0, "")
    assert {"table", "summary", "findings", "coverage", "combinations", "shortcuts", "additivity",
            "orders", "prediction", "sampled", "failed", "page"} <= set(said.json)  # fmt: skip
    assert said.json["additivity"]["answer"] == "impossible"
    (clash,) = said.json["additivity"]["clashes"]
    assert [row["row"] for row in clash] == [11, 12, 15, 16]


@pytest.mark.parametrize(
    ("kinds", "code"),
    [("leak", 0), ("unlearnable", 1), ("leak, unlearnable", 1), ("any", 1), ("constant", 0)],
)
def test_the_exit_code_says_if_what_was_named_was_found(
    kinds: str, code: int, tmp_path: Path
) -> None:
    said = audit(written(tmp_path, XOR), "--fail-on", kinds)
    assert said.code == code and ("failed: unlearnable" in said.out) == (code == 1)
    again = audit(tmp_path / "table.csv", "--fail-on", "leak", "--fail-on", kinds, "--json")
    assert again.code == code and ("unlearnable" in again.json["failed"]) == (code == 1)


def test_names_and_values_may_be_in_any_language(tmp_path: Path) -> None:
    path = tmp_path / "donnees.csv"
    path.write_text(THIRD_PARTY, encoding="utf-8")
    words = ("--label", "Étiquette", "--split", "Jeu", "--train", "apprentissage", "--json")
    found = call("audit", path, *words).json
    assert [factor["name"] for factor in found["factors"]] == ["Forme", "Couleur", "Taille; cm"]
    assert found["rows"] == {"read": 4, "train": 3, "test": 1, "unused": 0, "missing": {}}
    (new,) = [each for each in found["findings"] if each["kind"] == "unseen"]
    assert 'grand "2"' in new["text"]
    assert "separated by ';'" in found["notes"][0]
    path.write_bytes(THIRD_PARTY.lstrip("\ufeff").encode("cp1252"))
    plain = call("audit", path, *words).json
    assert "Windows-1252" in plain["notes"][0]
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert call("audit", path, *words).json == plain


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    rows = zip(SUM["a"], SUM["b"], SUM["y"], SUM["split"], strict=True)
    lines = [f"{a};{b};{str(y).replace('.', ',')};{s}" for a, b, y, s in rows]
    path.write_text("a;b;y;split\n" + "\n".join(lines))
    found = audit(path, "--json").json
    assert found["label"]["kind"] == "numbers" and found["additivity"]["answer"] == "possible"


WRONG: dict[str, tuple[list[str], list[str]]] = {
    "label": (["--label", "yy", "--split", "split"], ["unknown column 'yy'", "meant 'y'"]),
    "split": (["--label", "y", "--split", "spilt"], ["perhaps you meant 'split'"]),
    "factor": (["--label", "y", "--split", "split", "--factors", "a", "c"], ["'c'", "legal: a, b"]),
    "no label": (["--split", "split"], ["--label", "a, b, y, split"]),
    "no split": (["--label", "y"], ["--split", "a, b, y, split"]),
    "one column twice": (["--label", "y", "--split", "y"], ["'y'", "two of factor, label"]),
    "factor twice": (["--label", "y", "--split", "split", "--factors", "a", "a"], ["'a' twice"]),
    "split value": (
        ["--label", "y", "--split", "split", "--train", "trian"],
        ["unknown split value 'trian'", "perhaps you meant 'train'"],
    ),
    "no training": (["--label", "y", "--split", "a"], ["reads as training", "0, 1", "--train 0"]),
    "both": (
        ["--label", "y", "--split", "split", "--train", "test", "--test", "test"],
        ["both --train and --test"],
    ),
    "finding": (
        ["--label", "y", "--split", "split", "--fail-on", "leek"],
        ["unknown finding 'leek' in --fail-on", "perhaps you meant 'leak'"],
    ),
    "no finding": (["--label", "y", "--split", "split", "--fail-on", ""], ["unknown finding ''"]),
    "page": (["--label", "y", "--split", "split", "--out", "/proc/x"], ["--out /proc/x"]),
    "kind of label": (
        ["--label", "y", "--split", "split", "--labels", "text"],
        ["labels = 'text'", "'classes' or 'numbers'"],
    ),
    "missing": (
        ["--label", "y", "--split", "split", "--missing", "foo"],
        ["missing = 'foo'", "'drop' or 'keep'"],
    ),
    "seed": (["--label", "y", "--split", "split", "--seed", "-1"], ["seed = -1", "from 0 up"]),
    "order": (["--label", "y", "--split", "split", "--order", "-1"], ["order = -1", "from 0 up"]),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_is_one_line(what: str, tmp_path: Path) -> None:
    words, said = WRONG[what]
    line = refused(call("audit", written(tmp_path, XOR), *words))
    assert all(each in line for each in said), line


def test_an_empty_test_part_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {**XOR, "split": ["train"] * 16})
    assert "the test part is empty" in refused(audit(path))


def test_the_larger_part_is_suggested_as_training(tmp_path: Path) -> None:
    path = written(tmp_path, {**XOR, "split": [part == "train" for part in XOR["split"]]})
    assert refused(audit(path)).endswith("as in --train true")


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    path = written(tmp_path, XOR)
    path.write_text(path.read_text().replace("\n", "\n\n") + "\n\n")
    said = audit(path, "--fail-on", "missing", "--json")
    assert said.code == 0 and said.json["rows"]["read"] == 16
    clash = said.json["additivity"]["clashes"][0]
    assert [row["row"] for row in clash] == [11, 12, 15, 16]


def test_parts_that_are_tested_together_are_told(tmp_path: Path) -> None:
    table = dict(XOR, split=["train"] * 12 + ["Dev"] * 2 + ["test"] * 2)
    path = written(tmp_path, table)
    assert "is tested together: Dev, test (--test names some)" in " ".join(audit(path).out.split())
    assert "tested together" not in audit(path, "--test", "test").out


def test_a_label_that_is_no_number_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {**XOR, "y": ["big", *["1"] * 15]})
    assert "'big', which is no number" in refused(audit(path, "--labels", "numbers"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"a,b,y,split\n", "no rows"),
        (b"\x00\x01\x02\x03" * 9, "neither text nor Parquet"),
        (b"PAR1 and no more", "cannot be read"),
        (b"a,a,y,split\n1,2,3,train\n", "more than one column 'a'"),
        (b"a,b,y,split\n,,,\n", "every row misses a cell"),
        (b"a,b,y,split\n1,2,3,train\n1,2,3,train,9,9\n", "6 cells in line 3 and 4 in the header"),
        (b"\xef\xbb\xbf\n", "is empty"),
        (gzip.compress(b"a,b,y,split\n1,2,3,train\n" * 99, mtime=0)[:-12], "is cut off or damaged"),
        (
            gzip.compress(b"a,b,y,split\n" * 99, mtime=0)[:12] + b"\xff" * 30,
            "is cut off or damaged",
        ),
    ],
)
def test_a_file_that_is_no_table_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert said in refused(audit(path))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    written(tmp_path, XOR)
    assert "perhaps you meant" in refused(audit(tmp_path / "tabel.csv"))
    assert "is a folder" in refused(audit(tmp_path))
    assert "perhaps you meant 'corners'" in refused(call("audit", "corner"))


def test_a_task_is_audited_by_name() -> None:
    said = call("audit", "corners", "--json")
    assert said.code == 0 and said.json["additivity"]["held_out"] == 1
    assert said.json["table"] == "tasks/corners"


def test_a_page_stands_by_itself(tmp_path: Path) -> None:
    evil = {**XOR, "<b>&": XOR["a"]}
    said = audit(written(tmp_path, evil), "--out", tmp_path / "page", "--json")
    page = Path(said.json["page"])
    text = page.read_text()
    assert "<link" not in text and "<style>" in text and "<script" not in text
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "") and "https:" not in text
    assert "&lt;b&gt;&amp;" in text and "<b>&" not in text
    names = {path.name for path in page.parent.rglob("*")}
    assert {"audit.json", "rows.csv", "audit-coverage.csv", "audit-prediction.svg"} <= names
    assert json.loads((page.parent / "audit.json").read_text())["findings"]
    again = audit(tmp_path / "table.csv", "--out", tmp_path / "page")
    assert again.code == 0 and page.read_text() == text.replace(" --json", "")
    assert "not a recombine report" in refused(audit(tmp_path / "table.csv", "--out", tmp_path))


def test_numbers_and_two_factors_are_drawn(tmp_path: Path) -> None:
    said = audit(written(tmp_path, SUM), "--out", tmp_path / "page")
    assert said.code == 0 and "Page: " in said.out
    assert (tmp_path / "page" / "figures" / "audit-grid.svg").is_file()


def test_one_held_out_number_is_drawn(tmp_path: Path) -> None:
    table = columns((3, 3), lambda z: z[:, 0] + 0.5 * z[:, 1], lambda z: z.sum(1) == 4)
    said = audit(written(tmp_path, table), "--out", tmp_path / "page")
    assert said.code == 0 and "Page: " in said.out


def test_a_million_would_be_sampled_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recombine.auditing.prediction.MOST_TRAIN", 60)
    sizes = (6, 6, 6)
    table = columns(sizes, lambda z: z[:, 0] > 2, corner(sizes))
    said = audit(written(tmp_path, table), "--json").json
    (note,) = said["sampled"]
    assert "of 162 training combinations" in note and said["prediction"]["train"] <= 60
