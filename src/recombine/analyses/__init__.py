"""Analyses: ways to read a trained model, each usable on any stack and task it fits."""

from recombine.analyses.analysis import Analysis

__all__ = ["Analysis"]
