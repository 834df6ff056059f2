"""Closed forms and exact estimators in NumPy; every formula is tested against something else."""

from recombine.theory.gated import Solution, shallow, svm_gln, svm_l2
from recombine.theory.homogeneous import Stationarity, stationarity
from recombine.theory.information import (
    conditional_information,
    entropy,
    information,
    predictive_information,
)
from recombine.theory.interpolation import Interpolation, interpolate
from recombine.theory.mirror import Mirror

__all__ = [
    "Interpolation",
    "Mirror",
    "Solution",
    "Stationarity",
    "conditional_information",
    "entropy",
    "information",
    "interpolate",
    "predictive_information",
    "shallow",
    "stationarity",
    "svm_gln",
    "svm_l2",
]
