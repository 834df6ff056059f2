"""Study + scale → plan → results → verdicts, streaming what happens on the way."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import cast

from recombine import catalog
from recombine.cell import Cell, Outcome
from recombine.engine import Ended, Event, Job, Plan, execute, modules_of, plan
from recombine.errors import BadValue, RecombineError, UnknownName, UsageError
from recombine.runs import Asked, AskedCell, Record, Store, note
from recombine.spec import key_of, override, require_field
from recombine.studies import SCALES, Finding, Need, Part, Results, Seeds, Study, find

MOST_SEEDS = 1_000_000
"""More than this is a slip of the finger."""


@dataclass(frozen=True)
class Request:
    """One part of a study, at a scale, in a profile, with so many seeds, perhaps altered."""

    study: Study
    part: Part
    scale: str
    profile: str
    seeds: int
    settings: tuple[tuple[str, str], ...] = ()
    """Fields set by the user: dotted path and text."""

    @property
    def name(self) -> str:
        """As typed: `gradient/corners`."""
        return f"{self.study.name}/{self.part.name}"

    @property
    def command(self) -> str:
        """What to type to get this."""
        words = ["recombine", "reproduce", self.name, "--scale", self.scale]
        words += ["--profile", self.profile, "--seeds", str(self.seeds)]
        for path, text in self.settings:
            words += ["--set", f"{path}={text}"]
        return shlex.join(words)

    def needs(self) -> Mapping[str, Need]:
        """The cells and seeds it takes, the user's settings applied to each cell that has them.

        A setting that no cell has is refused.
        """
        return self._needs

    @functools.cached_property
    def _needs(self) -> Mapping[str, Need]:
        needs = dict(self.part.cells(scale=self.scale, profile=self.profile, seeds=self.seeds))
        mine: dict[str, dict[str, str]] = {name: {} for name in needs}
        for path, text in self.settings:
            unknown: list[UnknownName] = []
            for name, need in needs.items():
                try:
                    require_field(need.cell, path)
                    mine[name][path] = text
                except UnknownName as error:
                    unknown.append(error)
            if len(unknown) == len(needs):
                raise unknown[0]
        return {
            name: replace(need, cell=cast(Cell, override(need.cell, mine[name])))
            for name, need in needs.items()
        }

    def remarks(self) -> list[str]:
        """What a user should know of settings that do not do what they seem to."""
        needs, found = self.needs(), []
        for path, _ in self.settings:
            reached = [name for name, need in needs.items() if _has(need.cell, path)]
            if len(reached) < len(needs):
                found.append(f"{path} is set in {', '.join(reached)}; no other cell has that field")
        twins: dict[str, list[str]] = {}
        for name, need in needs.items():
            twins.setdefault(key_of(need.cell), []).append(name)
        same = [names for names in twins.values() if len(names) > 1] if self.settings else []
        found += [f"{', '.join(names)} are now one and the same run" for names in same]
        return found

    def asked(self) -> Asked:
        """The request as the store remembers it."""
        cells = (
            AskedCell(name, key_of(need.cell), need.seeds, modules_of(need.cell))
            for name, need in self.needs().items()
        )
        return Asked(self.name, self.scale, self.profile, self.command, tuple(cells))


def _has(cell: Cell, path: str) -> bool:
    try:
        require_field(cell, path)
    except UnknownName:
        return False
    return True


@dataclass(frozen=True)
class Planned:
    """A request has been compared with the store."""

    request: Request
    plan: Plan


@dataclass(frozen=True)
class Found:
    """A request has been answered."""

    finding: Finding
    failed: int
    """Seeds that are missing from it because they failed."""


def requests(
    names: Sequence[str],
    *,
    scale: str = "quick",
    profile: str | None = None,
    seeds: int | None = None,
    settings: Sequence[str] = (),
) -> list[Request]:
    """What the names on a command line ask for; no names ask for a first look at every study."""
    if scale not in SCALES:
        raise UnknownName("scale", scale, SCALES)
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise BadValue("--seeds", seeds, f"a whole number from 1 to {MOST_SEEDS:,}")
    pairs = tuple(setting(text) for text in settings)
    asked = []
    for study, part in _parts(names) if names else first_look():
        if profile is not None and profile not in part.profiles:
            raise UnknownName("profile", profile, part.profiles, where=f"{study.name}/{part.name}")
        request = Request(
            study=study,
            part=part,
            scale=scale,
            profile=profile or part.profiles[0],
            seeds=seeds or part.seeds[scale],
            settings=pairs,
        )
        request.needs()  # a wrong setting is refused before anything is run
        asked.append(request)
    return asked


def everything(names: Sequence[str]) -> list[Request]:
    """Every scale and profile of the named studies, at their default sizes.

    Parts that run only on request are among them.
    """
    found = []
    named = [
        f"{head}/{part.name}"
        for head, _, tail in (name.partition("/") for name in names or catalog.names("studies"))
        for part in ([_study(head).part(tail)] if tail else _study(head).parts)
    ]
    for scale in SCALES:
        for request in requests(named, scale=scale):
            for profile in request.part.profiles:
                found += requests([request.name], scale=scale, profile=profile)
    return found


def setting(text: str) -> tuple[str, str]:
    """`field=value` as typed, in two."""
    path, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text}: expected field=value, such as recipe.steps=200")
    return path, value


def _study(name: str) -> Study:
    found: Study = catalog.find("studies", name)
    return found


def first_look() -> Iterator[tuple[Study, Part]]:
    """What is run of every study when none is named."""
    for study, part in _parts(catalog.names("studies")):
        if part.runs == "always":
            yield study, part


def _parts(names: Iterable[str]) -> Iterator[tuple[Study, Part]]:
    """The parts that names such as `gradient` and `gradient/corners` stand for, each once."""
    seen = set()
    for name in names:
        head, _, tail = name.partition("/")
        study = _study(head)
        whole = [part for part in study.parts if part.runs != "by name"]
        for part in [study.part(tail)] if tail else whole:
            if (study.name, part.name) not in seen:
                seen.add((study.name, part.name))
                yield study, part


def conduct(
    asked: Sequence[Request],
    store: Store,
    *,
    workers: int | None = None,
    device: str = "cpu",
    executor: Executor | None = None,
) -> Iterator[Planned | Event | Found]:
    """Answer each request: run what the store lacks, then judge what it has.

    Requests are answered in their order. The jobs of all of them go through one pool, so that no
    worker is idle while the last job of a request runs.
    """
    plans = [_todo(request, store) for request in asked]
    for todo in plans:  # what lacks its data is refused before anything is run
        for job in todo.jobs:
            job.cell.ready()
    jobs: list[Job] = []
    owner: dict[str, int] = {}
    for at, (request, todo) in enumerate(zip(asked, plans, strict=True)):
        where = f"{request.name} " if len(asked) > 1 else ""
        named = [replace(job, cell_name=where + job.cell_name) for job in todo.jobs]
        owner |= {job.name: at for job in named}
        jobs += named
    count = 1 if len(jobs) == 1 else workers or os.cpu_count() or 1
    turn = _Turn(asked, plans, store)
    yield from turn.begin(min(owner.values(), default=-1))
    yield from turn.answers()
    for event in execute(jobs, store.path, workers=count, device=device, executor=executor):
        yield from turn.begin(owner[event.job])
        yield event
        if isinstance(event, Ended):
            yield from turn.ended(owner[event.job])
    yield from turn.begin(len(asked) - 1)
    yield from turn.answers()


class _Turn:
    """Which requests have begun and which are answered, each in its turn."""

    def __init__(self, asked: Sequence[Request], plans: Sequence[Plan], store: Store) -> None:
        self._asked, self._plans, self._store = asked, plans, store
        self._left = [len(todo.jobs) for todo in plans]
        self._begun = self._answered = 0

    def begin(self, last: int) -> Iterator[Planned]:
        """Announce every request up to this one that has not been announced."""
        while self._begun <= last:
            request, todo = self._asked[self._begun], self._plans[self._begun]
            note(self._store.path, request.asked())
            self._begun += 1
            yield Planned(request, todo)

    def ended(self, at: int) -> Iterator[Found]:
        """A job of this request is done: answer whatever can be answered."""
        self._left[at] -= 1
        if not self._left[at]:
            yield from self.answers()

    def answers(self) -> Iterator[Found]:
        """Answer the next requests, as far as they have begun and nothing of them is left."""
        while self._answered < self._begun and not self._left[self._answered]:
            self._store.refresh()
            request = self._asked[self._answered]
            self._answered += 1
            yield answer(request, self._store)


def _todo(request: Request, store: Store) -> Plan:
    return plan({n: (need.cell, need.seeds) for n, need in request.needs().items()}, store)


def answer(request: Request, store: Store, *, available: bool = False) -> Found:
    """What the store says to a request; with `available`, by whatever seeds of it there are."""
    outcomes: dict[str, dict[int, Outcome]] = {}
    records: list[Record] = []
    wanted = 0
    for name, need in request.needs().items():
        key = key_of(need.cell)
        status = store.has(key)
        # A bigger run leaves more seeds than asked for: the report shows all there are.
        seeds = status if available else need.seeds
        loaded = store.get_many(key, sorted(s for s in seeds if status.get(s) == "done"))
        wanted += len(need.seeds)
        records += [record for record, _ in loaded.values()]
        outcomes[name] = {s: Outcome(r.scalars, arrays) for s, (r, arrays) in loaded.items()}
    if empty := [name for name, found in outcomes.items() if not found]:
        raise RecombineError(
            f"{request.name}: no seed of {', '.join(empty)} is done, so nothing can be judged; "
            "'recombine status' says what failed"
        )
    made_with = _made_with(records)
    shared = set.intersection(*(set(found) for found in outcomes.values()))
    paired = {name: {s: found[s] for s in sorted(shared)} for name, found in outcomes.items()}
    # Work that was interrupted, or failed, leaves some cells with other seeds than others have.
    # Where claims pair cells by seed, the finding then rests on the seeds that every cell has.
    # Judges see values in order of seed, without their seeds: where two cells have as many, but
    # not the same, pairs would be wrong, and nobody would notice.
    sets = {frozenset(found) for found in outcomes.values()}
    if len({len(seeds) for seeds in sets}) < len(sets):
        finding = _judged(request, paired, made_with, available=available)
    else:
        try:
            finding = _judged(request, outcomes, made_with, available=available)
        except RecombineError:
            if not shared or len(sets) == 1:
                raise
            finding = _judged(request, paired, made_with, available=available)
    return Found(finding, 0 if available else wanted - len(records))


def _judged(
    request: Request,
    outcomes: Mapping[str, Mapping[int, Outcome]],
    made_with: dict[str, str],
    *,
    available: bool,
) -> Finding:
    """Claims, tables and figures of a request, from these outcomes."""
    cells = {name: Seeds(found) for name, found in outcomes.items()}
    specs = {name: need.cell for name, need in request.needs().items()}
    most = max(cell.n for cell in cells.values())
    if not most:
        raise RecombineError(
            f"{request.name}: no seed is done in every cell, so nothing can be judged; the same "
            "command finishes what is missing"
        )
    try:
        return find(
            request.study,
            request.part,
            Results(request.scale, request.profile, cells, specs),
            command=replace(request, seeds=most).command if available else request.command,
            made_with=made_with,
        )
    except ValueError as error:  # statistics refuse too few seeds, and numbers that are none
        raise RecombineError(
            f"{request.name} cannot be judged with {request.scale}, {request.profile}, {most} "
            f"seeds: {error}; what was run is in the store"
        ) from error


def worth_showing(asked: Sequence[Request], store: Store) -> list[Request]:
    """The requests the store can answer, each set of cells once a profile.

    A profile may read the same runs in another way. Where a scale changes only the number of seeds,
    both scales have the same cells: the larger is shown if all its seeds are there, the smaller
    otherwise.
    """
    shown: dict[tuple[str, frozenset[str]], Request] = {}
    for request in asked:
        wanted = [(need.seeds, key_of(need.cell)) for need in request.needs().values()]
        states = [(seeds, key, store.has(key)) for seeds, key in wanted]
        keys = request.profile, frozenset(key for _, key, _ in states)
        some = all("done" in status.values() for _, _, status in states)
        whole = all(status.get(seed) == "done" for seeds, _, status in states for seed in seeds)
        if (some and keys not in shown) or whole:
            shown[keys] = request
    return list(shown.values())


def _made_with(records: Iterable[Record]) -> dict[str, str]:
    """What the records were made with; several values are listed."""
    seen: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.environment.items():
            seen.setdefault(name, set()).add(str(value))
        seen.setdefault("source", set()).add(record.source)
    return {name: ", ".join(sorted(values)) for name, values in sorted(seen.items())}
