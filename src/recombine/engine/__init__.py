"""The engine: what is missing from the store becomes jobs, and jobs become records."""

from recombine.engine.events import Advanced, Ended, Event, Started
from recombine.engine.execution import execute
from recombine.engine.jobs import Job
from recombine.engine.plans import Plan, plan
from recombine.engine.provenance import source_of

__all__ = [
    "Advanced",
    "Ended",
    "Event",
    "Job",
    "Plan",
    "Started",
    "execute",
    "plan",
    "source_of",
]
