"""The audit: what can be learned from a split at all, and which shortcut it invites."""

from recombine.auditing.audit import Audit, audit
from recombine.auditing.finding import KINDS, Finding

__all__ = ["KINDS", "Audit", "Finding", "audit"]
