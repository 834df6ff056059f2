"""The engine: what is missing from the store becomes jobs, and jobs become records."""

from recombine.engine.events import Advanced, Ended, Event, Started
from recombine.engine.execution import execute
from recombine.engine.jobs import Job
from recombine.engine.memory import keep_memory
from recombine.engine.plans import Plan, plan
from recombine.engine.provenance import modules_of, source_of
from recombine.engine.standing import Standing, standing

__all__ = [
    "Advanced",
    "Ended",
    "Event",
    "Job",
    "Plan",
    "Standing",
    "Started",
    "execute",
    "keep_memory",
    "modules_of",
    "plan",
    "source_of",
    "standing",
]
