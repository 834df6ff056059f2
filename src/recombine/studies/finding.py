"""A finding: everything one part of a study gave at one scale and profile, ready to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recombine.stats import Verdict
from recombine.studies.figure import Figure
from recombine.studies.results import Results
from recombine.studies.study import Claim, Part, Study, judge
from recombine.studies.table import Table, plain


@dataclass(frozen=True)
class Finding:
    """Claims with verdicts, tables and figures of a part, from results alone."""

    study: Study
    part: Part
    scale: str
    profile: str
    seeds: int
    """Seeds of the main cell: the one with most of them."""
    claims: tuple[tuple[Claim, Verdict], ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    command: str
    """What to type to get this again."""
    made_with: Mapping[str, str]
    """Versions, machine and commit behind the records."""

    @property
    def name(self) -> str:
        """As typed on the command line: `gradient/corners`."""
        return f"{self.study.name}/{self.part.name}"

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
    """Judge, tabulate and lay out what the results say."""
    verdicts = judge(study, part, results)
    return Finding(
        study=study,
        part=part,
        scale=results.scale,
        profile=results.profile,
        seeds=max(cell.n for cell in results.cells.values()),
        claims=tuple((claim, verdicts[claim.id]) for claim in study.claims_of(part)),
        tables=part.tables(results),
        figures=part.figures(results),
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
