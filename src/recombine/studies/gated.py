"""Study `gated`: what gradient descent prefers in gated linear networks (Lippl et al. 2022)."""

from __future__ import annotations

from recombine.studies.gated_digits import DigitsPart
from recombine.studies.gated_limit import LimitPart, ToyPart
from recombine.studies.gated_relu import ReLUPart
from recombine.studies.study import published

STUDY = published("gated", ToyPart(), LimitPart(), DigitsPart(), ReLUPart())
