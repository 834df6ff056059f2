"""Study `realization`: what attentive guidance changes inside a network (Baan et al. 2019)."""

from __future__ import annotations

from recombine.studies.realization_accuracy import AccuracyPart
from recombine.studies.study import published

STUDY = published("realization", AccuracyPart())
