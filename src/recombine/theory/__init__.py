"""Closed forms and exact estimators in NumPy; every formula is tested against something else."""

from recombine.theory.information import conditional_information, entropy, information

__all__ = ["conditional_information", "entropy", "information"]
