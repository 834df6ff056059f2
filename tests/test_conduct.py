"""Conduct: from names to requests, from requests to findings, and how far each of them is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recombine import catalog, stats
from recombine.cell import Outcome
from recombine.conduct import (
    Found,
    Planned,
    Request,
    answer,
    conduct,
    everything,
    requests,
    worth_showing,
)
from recombine.engine import Ended, source_of, standing
from recombine.errors import BadValue, RecombineError, UnknownName, UsageError
from recombine.runs import Store, failed, finished, notes
from recombine.spec import key_of
from recombine.stats import Verdict
from recombine.studies.results import Results
from toys import Toy, ToyPart, ran


@pytest.fixture(autouse=True)
def toy_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second study beside the built-in ones, with two parts."""
    entry = catalog.Entry("toys:STUDY", "toys")
    monkeypatch.setitem(catalog.BUILTIN["studies"], "toy", entry)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def run(asked: list[Request], store: Store) -> list[Found]:
    return [each for each in conduct(asked, store, workers=1) if isinstance(each, Found)]


# Requests


def test_no_names_ask_for_every_part_of_every_study() -> None:
    asked = requests([])
    parts = [
        f"{study}/{part.name}"
        for study in catalog.names("studies")
        for part in catalog.find("studies", study).parts
        if part.runs == "always"
    ]
    assert [request.name for request in asked] == parts
    assert {"gradient/corners", "toy/one", "toy/two"} <= set(parts)


def test_what_a_first_look_leaves_out_runs_with_its_study_or_by_name() -> None:
    at_first = {request.name for request in requests([])}
    whole = {request.name for request in requests(["realization", "kernel"])}
    assert "realization/surgery" in whole - at_first
    assert "kernel/architectures" not in whole
    assert [request.name for request in requests(["kernel/architectures"])] == [
        "kernel/architectures"
    ]


@pytest.mark.parametrize(
    ("asked", "answers"),
    [
        (["toy"], ["toy/one", "toy/two"]),
        (["toy/two"], ["toy/two"]),
        (["toy/two", "toy/one"], ["toy/two", "toy/one"]),
        (["toy/two", "toy"], ["toy/two", "toy/one"]),
        (["toy", "toy", "toy/one"], ["toy/one", "toy/two"]),
    ],
)
def test_parts_come_in_the_order_asked_and_once_each(asked: list[str], answers: list[str]) -> None:
    assert [request.name for request in requests(asked)] == answers


def test_what_is_not_said_is_the_default_of_the_part() -> None:
    (request,) = requests(["toy/one"])
    assert (request.scale, request.profile, request.seeds) == ("quick", "plain", 4)
    (request,) = requests(["toy/one"], scale="paper", profile="fancy")
    assert (request.scale, request.profile, request.seeds) == ("paper", "fancy", 8)
    assert requests(["toy/one"], seeds=5)[0].seeds == 5


def test_everything_is_each_scale_and_profile_of_each_part() -> None:
    found = [(each.name, each.scale, each.profile) for each in everything(["toy"])]
    assert found == [
        (f"toy/{part}", scale, profile)
        for scale in ("quick", "paper")
        for part in ("one", "two")
        for profile in ("plain", "fancy")
    ]


def test_settings_change_every_cell() -> None:
    (request,) = requests(["toy/one"], settings=["together=7", "log=a file"])
    assert {need.cell.seeds_per_job for need in request.needs().values()} == {7}
    assert {vars(need.cell)["log"] for need in request.needs().values()} == {"a file"}


def test_a_setting_that_some_cells_have_changes_those() -> None:
    (plain,), (altered,) = requests(["toy/one"]), requests(["toy/one"], settings=["extra=7"])
    assert altered.needs()["main"] == plain.needs()["main"]
    assert vars(altered.needs()["side"].cell)["extra"] == 7


def test_settings_that_do_not_do_what_they_seem_to_are_remarked_on() -> None:
    (request,) = requests(["toy/one"], settings=["extra=7"])
    assert request.remarks() == ["extra is set in side; no other cell has that field"]
    (request,) = requests(["spans/length"], settings=["task.rules=20"])
    assert request.remarks() == [
        f"k{k}-n125, k{k}-n500, k{k}-n2000 are now one and the same run" for k in (2, 4, 8)
    ]
    assert not requests(["spans/length"])[0].remarks()


def test_of_two_settings_of_one_field_the_last_counts() -> None:
    (request,) = requests(["toy/one"], settings=["together=7", "together=8"])
    assert request.needs()["main"].cell.seeds_per_job == 8


def test_a_setting_may_hold_an_equals_sign() -> None:
    (request,) = requests(["toy/one"], settings=["log=a=b"])
    assert vars(request.needs()["main"].cell)["log"] == "a=b"


def test_the_command_of_a_request_asks_for_it_again() -> None:
    (request,) = requests(["toy/one"], seeds=5, settings=["log=a file"])
    assert request.command == (
        "recombine reproduce toy/one --scale quick --profile plain --seeds 5 --set 'log=a file'"
    )


@pytest.mark.parametrize(
    ("names", "options", "error", "words"),
    [
        (["tory"], {}, UnknownName, "perhaps you meant 'toy'"),
        (["toy/won"], {}, UnknownName, "perhaps you meant 'two'|perhaps you meant 'one'"),
        (["toy"], {"scale": "papers"}, UnknownName, "perhaps you meant 'paper'"),
        (["toy"], {"profile": "fance"}, UnknownName, "perhaps you meant 'fancy'"),
        (["toy"], {"seeds": 0}, BadValue, "from 1 to"),
        (["toy"], {"settings": ["together"]}, UsageError, "field=value"),
        (["toy"], {"settings": ["togethr=1"]}, UnknownName, "perhaps you meant 'together'"),
        (["toy"], {"settings": ["together=few"]}, BadValue, "a whole number"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_run(
    names: list[str], options: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        requests(names, **options)  # type: ignore[arg-type]


# Answers


def test_requests_are_answered_in_order_each_with_its_plan_first(store: Store) -> None:
    events = conduct(requests(["toy"]), store, workers=1)
    told = [each for each in events if isinstance(each, Planned | Found)]
    # the second may begin before the first is answered, but not before the first has begun
    said = [(type(e), e.request.name if isinstance(e, Planned) else e.finding.name) for e in told]
    for name in ("toy/one", "toy/two"):
        assert said.index((Planned, name)) < said.index((Found, name))
    assert [each.plan.missing for each in told if isinstance(each, Planned)] == [6, 6]
    found = [each for each in told if isinstance(each, Found)]
    assert [each.finding.name for each in found] == ["toy/one", "toy/two"]
    assert [each.failed for each in found] == [0, 0]


def test_no_worker_waits_for_the_last_job_of_a_request(store: Store) -> None:
    """Jobs of several requests are told apart by the name of their part."""
    ends = [e for e in conduct(requests(["toy"]), store, workers=1) if isinstance(e, Ended)]
    assert {end.job.split()[0] for end in ends} == {"toy/one", "toy/two"}
    (alone,) = requests(["toy/one"], seeds=7)
    (end,) = [e for e in conduct([alone], store, workers=1) if isinstance(e, Ended)]
    assert not end.job.startswith("toy/one")


def test_a_finding_is_of_the_seeds_asked_for(store: Store) -> None:
    run(requests(["toy/one"], seeds=6), store)
    found = answer(requests(["toy/one"], seeds=4)[0], store)
    assert found.finding.seeds == 4 and found.finding.tables[0].rows == ((4,),)
    assert found.finding.claims[0][1].n == 4


def test_what_is_available_is_every_seed_there_is(store: Store) -> None:
    run(requests(["toy/one"], seeds=6), store)
    (asked,) = requests(["toy/one"], seeds=4)
    found = answer(asked, store, available=True)
    assert found.finding.seeds == 6 and found.failed == 0
    assert found.finding.command == replace(asked, seeds=6).command
    (asked,) = requests(["toy/one"], seeds=9)
    assert answer(asked, store, available=True).finding.seeds == 6


def test_seeds_that_failed_are_counted_and_left_out(store: Store) -> None:
    (found,) = run(requests(["toy/one"], seeds=12, settings=["fails_from=11"]), store)
    assert found.failed == 2, "a block fails as a whole"
    assert found.finding.seeds == 10


def test_nothing_is_judged_where_a_cell_has_no_seed(store: Store) -> None:
    asked = requests(["toy/one"], seeds=2, settings=["fails_from=0"])
    with pytest.raises(RecombineError, match="no seed of main, side is done"):
        run(asked, store)


def test_what_statistics_refuse_is_said_in_one_line(store: Store) -> None:
    (asked,) = requests(["toy/one"], seeds=2)
    for need in asked.needs().values():
        for seed in need.seeds:
            put(store, need.cell, seed, value=float("nan"))  # type: ignore[arg-type]
    with pytest.raises(RecombineError, match=r"toy/one cannot be judged .* NaN"):
        answer(asked, store)


@pytest.mark.parametrize(
    ("main", "side", "n"), [((0, 1, 2), (0, 2), 2), ((0, 2, 3), (0, 1, 3), 2), ((1, 2), (1, 2), 2)]
)
def test_cells_are_paired_by_the_seeds_that_all_have(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    main: tuple[int, ...],
    side: tuple[int, ...],
    n: int,
) -> None:
    def exceeds(results: Results, level: float) -> Verdict:
        cells = (results[name].scalar("twice") for name in ("main", "side"))
        return stats.above(stats.paired(*cells, level=level).difference, 0.0)

    monkeypatch.setattr(ToyPart, "judges", lambda part: {"A1": exceeds})
    (asked,) = requests(["toy/one"], seeds=4)
    for (name, need), seeds in zip(asked.needs().items(), (main, side), strict=True):
        for seed in seeds:
            put(store, need.cell, seed, value=10.0**seed + (name == "main"))  # type: ignore[arg-type]
    (_, verdict), *_ = answer(asked, store, available=True).finding.claims
    assert verdict.n == n and verdict.effect == pytest.approx(1.0)


def test_cells_without_a_seed_in_common_are_not_paired(store: Store) -> None:
    (asked,) = requests(["toy/one"], seeds=2)
    for seed, need in enumerate(asked.needs().values()):
        put(store, need.cell, seed, value=1.0)  # type: ignore[arg-type]
    with pytest.raises(RecombineError, match="no seed is done in every cell"):
        answer(asked, store, available=True)


def test_a_finding_says_what_made_its_records(store: Store) -> None:
    (asked,) = requests(["toy/one"], seeds=2)
    put(store, asked.needs()["main"].cell, 0, source="old")  # type: ignore[arg-type]
    (found,) = run([asked], store)
    new = source_of(asked.needs()["main"].cell)
    assert found.finding.made_with["source"] == ", ".join(sorted({"old", new}))
    assert found.finding.made_with["threads"] == "1"


def test_asking_again_runs_nothing(store: Store, tmp_path: Path) -> None:
    asked = requests(["toy/one"], settings=[f"log={tmp_path / 'log'}"])
    first, again = run(asked, store), run(asked, store)
    assert first[0].finding.plain() == again[0].finding.plain()
    assert sorted(ran(tmp_path / "log")) == [0, 0, 1, 1, 2, 3]


def showing(store: Store) -> list[tuple[str, str, str]]:
    shown = worth_showing(everything(["toy"]), store)
    return [(request.name, request.scale, request.profile) for request in shown]


def test_what_the_store_cannot_answer_is_not_shown(store: Store) -> None:
    assert showing(store) == []
    (asked,) = requests(["toy/one"])
    put(store, asked.needs()["main"].cell, 0)  # type: ignore[arg-type]
    assert showing(store) == [], "the other cell has no seed"


def test_of_two_scales_of_the_same_cells_the_larger_whole_one_is_shown(store: Store) -> None:
    run(requests(["toy/one"]), store)
    assert showing(store) == [("toy/one", "quick", "plain")]
    run(requests(["toy/one"], seeds=7), store)
    assert showing(store) == [("toy/one", "quick", "plain")]
    run(requests(["toy/one"], scale="paper"), store)
    assert showing(store) == [("toy/one", "paper", "plain")]


def test_profiles_are_shown_side_by_side(store: Store) -> None:
    for profile in ("fancy", "plain"):
        run(requests(["toy/two"], profile=profile), store)
    assert showing(store) == [("toy/two", "quick", "plain"), ("toy/two", "quick", "fancy")]


# Standing


def put(store: Store, cell: Toy, seed: int, *, value: float = 1.0, source: str = "") -> None:
    made = {"environment": {"threads": 1}, "source": source or source_of(cell), "seconds": 0.1}
    store.put(finished(cell, seed, Outcome({"twice": value}), **made))  # type: ignore[arg-type]


def test_standing_counts_done_missing_failed_and_stale(store: Store) -> None:
    (asked,) = requests(["toy/one"], seeds=5)
    cell: Toy = asked.needs()["main"].cell  # type: ignore[assignment]
    put(store, cell, 0)
    put(store, cell, 1, source="another")
    store.put(failed(cell, 2, "it broke", environment={}, source="another", seconds=0.1))
    main, side = standing([asked.asked()], store)
    assert (main.cell, main.key) == ("main", key_of(cell))
    assert (main.done, main.missing, main.failed, main.stale) == (2, 2, 1, 1)
    assert (side.done, side.missing, side.failed, side.stale) == (0, 2, 0, 0)


def test_standing_is_of_the_seeds_asked_for(store: Store) -> None:
    (asked,) = requests(["toy/one"], seeds=2)
    cell: Toy = asked.needs()["main"].cell  # type: ignore[assignment]
    for seed in range(6):
        put(store, cell, seed, source="another")
    main, _ = standing([asked.asked()], store)
    assert (main.done, main.missing, main.stale) == (2, 0, 2)


def test_a_store_remembers_what_was_asked_of_it(store: Store) -> None:
    run(requests(["toy/one"], seeds=4), store)
    run(requests(["toy/one"], seeds=2), store)
    (asked,) = notes(store.path)
    assert asked == requests(["toy/one"], seeds=4)[0].asked(), "the larger of the two"
    assert [row.done for row in standing([asked], store)] == [4, 2]


def test_a_note_that_cannot_be_read_is_passed_over(store: Store) -> None:
    run(requests(["toy/one"], seeds=1), store)
    (path,) = (store.path / "asked").glob("*.json")
    for text in ("", "[]", "{}", '{"cells": [{}]}', '{"cells": 3}'):
        path.write_text(text)
        assert notes(store.path) == []
    run(requests(["toy/one"], seeds=1), store)
    assert len(notes(store.path)) == 1
