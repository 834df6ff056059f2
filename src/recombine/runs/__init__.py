"""Records of runs, and the store that keeps them whole and finds them again by key and seed."""

from recombine.runs.asked import Asked, AskedCell, note, notes
from recombine.runs.checkpoint import StoredCheckpoint
from recombine.runs.index import Index, Row
from recombine.runs.record import Record, Run, failed, finished
from recombine.runs.store import Store
from recombine.runs.transfer import Transfer, export, load

__all__ = [
    "Asked",
    "AskedCell",
    "Index",
    "Record",
    "Row",
    "Run",
    "Store",
    "StoredCheckpoint",
    "Transfer",
    "export",
    "failed",
    "finished",
    "load",
    "note",
    "notes",
]
