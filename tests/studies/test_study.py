"""Studies join what a paper prints with what is measured; results refuse what they do not have."""

import numpy as np
import pytest

from recombine import catalog
from recombine.cell import Outcome
from recombine.errors import UnknownName
from recombine.stats import Interval
from recombine.studies import Results, Seeds, Study, Table

STUDIES = catalog.names("studies")


@pytest.mark.parametrize("name", STUDIES)
def test_the_published_side_is_complete(name: str) -> None:
    study: Study = catalog.find("studies", name)
    assert study.name == name and study.title and study.authors and study.question
    ids = [claim.id for claim in study.claims]
    assert len(ids) == len(set(ids))
    for claim in study.claims:
        assert claim.statement.endswith(".") and claim.where and claim.published and claim.rule


@pytest.mark.parametrize("name", STUDIES)
def test_every_part_has_both_scales(name: str) -> None:
    for part in catalog.find("studies", name).parts:
        assert set(part.seeds) == {"quick", "paper"} and min(part.seeds.values()) > 0
        assert part.profiles


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(UnknownName, match="perhaps you meant 'corners'"):
        catalog.find("studies", "gradient").part("corner")


def test_results_come_in_order_of_seed() -> None:
    outcomes = {s: Outcome({"x": float(s)}, {"y": np.array([s, s])}) for s in (3, 1, 2)}
    seeds = Seeds(outcomes)
    assert seeds.n == 3
    assert seeds.scalar("x").tolist() == [1, 2, 3]
    assert seeds.array("y").tolist() == [[1, 1], [2, 2], [3, 3]]


def test_results_refuse_what_they_do_not_have() -> None:
    results = Results("quick", "as-run", {"main": Seeds({0: Outcome({"x": 1.0})})})
    with pytest.raises(UnknownName, match="unknown measurement 'z'"):
        results["main"].scalar("z")
    with pytest.raises(UnknownName, match="unknown cell 'mian'; perhaps you meant 'main'"):
        results["mian"]


def test_a_table_is_plain_json_with_intervals_and_gaps() -> None:
    interval = Interval(0.5, 0.4, 0.6, 0.95, 10, "test")
    table = Table("t", "T", ("a", "b", "c"), (("x", interval, None), ("y", float("nan"), 3)))
    assert table.plain()["rows"] == [
        ["x", {"estimate": 0.5, "low": 0.4, "high": 0.6, "n": 10, "level": 0.95}, None],
        ["y", None, 3],
    ]
    with pytest.raises(ValueError, match="2 cells for"):
        Table("t", "T", ("a",), (("x", "y"),))
