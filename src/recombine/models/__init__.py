"""Models as blueprints, and stacks: many seeds of one network held in one module."""

from recombine.models.model import Model
from recombine.models.stack import Stack, Tap, Vmapped, read_sites

__all__ = ["Model", "Stack", "Tap", "Vmapped", "read_sites"]
