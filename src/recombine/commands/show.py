"""`recombine show`: a paper, its claims, published numbers, and what the store has of it."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from rich.markup import escape

from recombine.commands import terminal
from recombine.conduct import Request, everything
from recombine.engine import standing
from recombine.runs import Store


def run(call: Namespace) -> int:
    """Print the study and how far each scale and profile is."""
    asked = everything([call.study])
    study = asked[0].study
    parts = {request.part.name for request in asked}
    claims = [claim for claim in study.claims if claim.part in parts]
    with Store.look(call.store) as store:
        held = [(request, _held(request, store)) for request in asked]
    if call.json:
        terminal.print_json(
            {
                "study": study.name,
                "title": study.title,
                "authors": study.authors,
                "year": study.year,
                "question": study.question,
                "claims": [claim.__dict__ for claim in claims],
                "store": [_plain(request, *counts) for request, counts in held],
            }
        )
        return 0
    out = terminal.console()
    who = escape(f"{study.authors} ({study.year})\n{study.question}")
    out.print(f"[bold]{escape(study.title)}[/], {who}\n")
    for claim in claims:
        where = escape(f"({claim.where})")
        out.print(f"[bold]{claim.id}[/] {escape(claim.statement)} [dim]{where}[/]")
        rule = f"   published: {claim.published}\n   reproduced if: {claim.rule}"
        out.print(rule, markup=False)
        if claim.caveat:
            out.print(f"   [dim]{escape(claim.caveat)}[/]")
    rows = [
        (request.name, request.scale, request.profile, f"{done} of {wanted}", request.command)
        for request, (done, wanted) in held
    ]
    out.print()
    out.print(
        terminal.table("in the store", ("part", "scale", "profile", "seeds", "command"), rows)
    )
    return 0


def _held(request: Request, store: Store) -> tuple[int, int]:
    rows = standing([request.asked()], store)
    done = sum(row.done for row in rows)
    return done, done + sum(row.missing + row.failed for row in rows)


def _plain(request: Request, done: int, wanted: int) -> dict[str, Any]:
    return {
        "part": request.name,
        "scale": request.scale,
        "profile": request.profile,
        "done": done,
        "wanted": wanted,
        "command": request.command,
    }
