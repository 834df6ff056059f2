"""Study `realization`: what attentive guidance changes inside a network (Baan et al. 2019)."""

from __future__ import annotations

from recombine.studies.realization_accuracy import AccuracyPart
from recombine.studies.realization_inside import InsidePart
from recombine.studies.realization_surgery import SurgeryPart
from recombine.studies.realization_variants import VariantsPart
from recombine.studies.study import published

STUDY = published("realization", AccuracyPart(), VariantsPart(), InsidePart(), SurgeryPart())
