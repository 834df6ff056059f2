"""`realization` on official samples: documented fields reach every task; what lacks is told."""

from dataclasses import replace
from pathlib import Path

import pytest

from recombine.conduct import requests
from recombine.errors import BadValue
from recombine.spec import walk
from recombine.studies.realization import STUDY
from recombine.studies.realization_cells import training
from recombine.tasks.lookup import LookupTables

PAGE = Path(__file__).parents[2] / "docs" / "realization.md"
COMMANDS = [
    line.split()
    for line in PAGE.read_text().splitlines()
    if line.startswith("    recombine reproduce realization/")
]


@pytest.fixture
def sample(tmp_path: Path) -> str:
    """One table on one bit, and nothing held out."""
    (tmp_path / "train.tsv").write_text("0 t1 .\t0 1\n1 t1 .\t1 0\n")
    return str(tmp_path)


def test_every_part_has_its_command() -> None:
    assert [words[2] for words in COMMANDS] == [f"realization/{part.name}" for part in STUDY.parts]


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[2])
def test_the_documented_fields_reach_every_task(words: list[str], scale: str, sample: str) -> None:
    settings = [word.replace("SAMPLE", sample) for word in words if "=" in word]
    (asked,) = requests([words[2]], scale=scale, settings=settings)
    for name, need in asked.needs().items():
        tasks = [spec for spec in walk(need.cell) if isinstance(spec, LookupTables)]
        assert tasks and all(task.path == sample for task in tasks), name


def test_a_sample_without_validation_is_refused_before_training(sample: str) -> None:
    trial = replace(training("quick", "as-run", "guided"), task=LookupTables(path=sample))
    with pytest.raises(BadValue, match=r"training/keep.measure = 'loss/validation' is not legal"):
        trial.ready()
