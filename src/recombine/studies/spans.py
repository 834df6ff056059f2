"""Study `spans`: do LSTMs learn long-range rules through short constituents (Saphra & Lopez)?"""

from __future__ import annotations

from recombine.studies.spans_counting import CountingPart
from recombine.studies.spans_length import LengthPart
from recombine.studies.spans_predictability import PredictabilityPart
from recombine.studies.study import published

STUDY = published("spans", LengthPart(), CountingPart(), PredictabilityPart())
