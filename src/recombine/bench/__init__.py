"""Benchmarks: speed as ratios within one run, each next to what it is measured against."""

from recombine.bench.benchmark import BENCHMARKS, Measured

__all__ = ["BENCHMARKS", "Measured"]
