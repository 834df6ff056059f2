"""Factored tasks: every example is rendered from factors, every split is a set of combinations."""

from recombine.tasks.task import Examples, Factor, Output, Task

__all__ = ["Examples", "Factor", "Output", "Task"]
