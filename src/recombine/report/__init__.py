"""The report: findings in, pages, drawings, numbers and RESULTS.md out; the room that draws."""

from recombine.report.data import csv
from recombine.report.document import Document, Item, publish
from recombine.report.drawing import svg
from recombine.report.markdown import results, summary
from recombine.report.pages import write, write_card

__all__ = [
    "Document",
    "Item",
    "csv",
    "publish",
    "results",
    "summary",
    "svg",
    "write",
    "write_card",
]
