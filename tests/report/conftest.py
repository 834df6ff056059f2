"""A report of two findings, written once for all tests that only read it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Tests, and the processes they start, import `specimen` by name.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report with two findings of one study."""
    from specimen import finding

    from recombine.report import write

    folder = tmp_path_factory.mktemp("written") / "report"
    write(folder, [finding(), finding(scale="paper", profile="as-run")])
    return folder
