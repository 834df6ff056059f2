"""A finding: everything one part of a study gave at one scale and profile, ready to be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from recombine.errors import RecombineError
from recombine.stats import Verdict
from recombine.studies.figure import Figure
from recombine.studies.results import Results
from recombine.studies.study import Claim, Part, Study, judge
from recombine.studies.table import Table, plain

T = TypeVar("T")


@dataclass(frozen=True)
class Finding:
    """Claims with verdicts, tables and figures of a part, from results alone.

    Verdicts are there from the start; tables and figures are made when they are first looked at.
    """

    study: Study
    part: Part
    scale: str
    profile: str
    seeds: int
    """Seeds of the main cell: the one with most of them."""
    claims: tuple[tuple[Claim, Verdict], ...]
    results: Results
    command: str
    """What to type to get this again."""
    made_with: Mapping[str, str]
    """Versions, machine and commit behind the records."""

    @property
    def name(self) -> str:
        """As typed on the command line: `gradient/corners`."""
        return f"{self.study.name}/{self.part.name}"

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """What is tabulated."""
        return self._made(self.part.tables)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """What is drawn."""
        return self._made(self.part.figures)

    def _made(self, make: Callable[[Results], T]) -> T:
        try:
            return make(self.results)
        except ValueError as error:  # statistics refuse too few seeds, and numbers that are none
            raise RecombineError(
                f"{self.name} cannot be shown with {self.scale}, {self.profile}, {self.seeds} "
                f"seeds: {error}"
            ) from error

    def plain(self) -> dict[str, Any]:
        """The finding as plain JSON values; figures are left to the report."""
        return {
            "scale": self.scale,
            "profile": self.profile,
            "seeds": self.seeds,
            "claims": [_plain_claim(claim, verdict) for claim, verdict in self.claims],
            "tables": [table.plain() for table in self.tables],
        }


def find(
    study: Study, part: Part, results: Results, *, command: str, made_with: Mapping[str, str]
) -> Finding:
    """Judge what the results say."""
    verdicts = judge(study, part, results)
    return Finding(
        study=study,
        part=part,
        scale=results.scale,
        profile=results.profile,
        seeds=max(cell.n for cell in results.cells.values()),
        claims=tuple((claim, verdicts[claim.id]) for claim in study.claims_of(part)),
        results=results,
        command=command,
        made_with=made_with,
    )


def _plain_claim(claim: Claim, verdict: Verdict) -> dict[str, Any]:
    return {
        "id": claim.id,
        "statement": claim.statement,
        "where": claim.where,
        "verdict": verdict.outcome,
        "effect": plain(verdict.effect),
        "interval": [plain(verdict.interval.low), plain(verdict.interval.high)],
        "n": verdict.n,
        "published": claim.published,
        "method": verdict.method,
        "rule": claim.rule,
        "reason": verdict.reason,
        "caveat": claim.caveat,
    }
