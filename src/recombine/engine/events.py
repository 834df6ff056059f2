"""What the engine says while it works; whoever listens may draw a bar or write a log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Started:
    """A job has begun."""

    job: str
    seeds: int


@dataclass(frozen=True)
class Advanced:
    """A job has come this far."""

    job: str
    done: int
    total: int


@dataclass(frozen=True)
class Ended:
    """A job is over: its seeds are in the store, or their failure is."""

    job: str
    seeds: int
    seconds: float
    error: str | None = None
    """The last line of the traceback, if the seeds failed."""


Event = Started | Advanced | Ended
