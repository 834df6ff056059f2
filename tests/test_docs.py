"""The documents say what is so: the README's example runs, its tables are generated."""

import re
import shlex
from pathlib import Path

import pytest

import recombine
from recombine import ledger
from recombine.cli import parser
from recombine.report import results, summary

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_readmes_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(example, {})
    assert re.fullmatch(r"Y1's .* Y1: \d+%, with the redundant Y2: \d+%\n", capsys.readouterr().out)


@pytest.mark.parametrize("page", ["own-model.md", "extending.md"])
def test_the_examples_of_the_docs_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    assert examples
    for example in examples:
        exec(example.replace("seeds=3", "seeds=1"), {})


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_the_commands_and_links_of_the_docs_are_legal(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    for line in re.findall(r"^    recombine (.*?)(?:  .*)?$", text, flags=re.MULTILINE):
        parser().parse_args(shlex.split(line))
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / "docs" / target).exists(), target


def test_the_readmes_commands_are_legal() -> None:
    lines = re.findall(r"^    \.venv/bin/recombine (.*?)(?:  .*)?$", README, flags=re.MULTILINE)
    assert len(lines) >= 5
    for line in lines:
        parser().parse_args(shlex.split(line))


def test_the_readmes_two_commands_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"    make {target} " in README
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_results_are_generated_from_the_ledgers() -> None:
    ledgers = ledger.read(ROOT / "results")
    assert ledgers
    assert (ROOT / "RESULTS.md").read_text() == results(ledgers)
    assert f"{ledger.BEGIN}\n{summary(ledgers)}{ledger.END}" in README


def test_every_room_is_described() -> None:
    rooms = {
        path.name + ("/" if path.is_dir() else "")
        for path in (ROOT / "src" / "recombine").iterdir()
        if path.name not in ("__init__.py", "__main__.py", "__pycache__", "py.typed")
    }
    told = set(re.findall(r"`([a-z_]+(?:\.py|/))`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert rooms <= told, rooms - told


def test_the_changelog_knows_this_version() -> None:
    assert f"## {recombine.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_file_opens_with_a_sentence() -> None:
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert path.read_text().startswith('"""'), path
