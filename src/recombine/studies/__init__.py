"""Studies: published papers as cells, tables, figures and claims."""

from recombine.studies.figure import Figure
from recombine.studies.finding import Finding, find
from recombine.studies.results import Results, Seeds
from recombine.studies.study import SCALES, Claim, Need, Part, Study, judge, published
from recombine.studies.table import Table

__all__ = [
    "SCALES",
    "Claim",
    "Figure",
    "Finding",
    "Need",
    "Part",
    "Results",
    "Seeds",
    "Study",
    "Table",
    "find",
    "judge",
    "published",
]
