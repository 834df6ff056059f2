"""Study `gradient`: gradient descent resists compositionality (Li 2022)."""

from __future__ import annotations

from recombine.studies.gradient_corners import CornersPart
from recombine.studies.gradient_pairs import PairsPart
from recombine.studies.study import published

STUDY = published("gradient", PairsPart(), CornersPart())
