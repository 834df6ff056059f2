"""Study `reuse`: multi-task learning, finetuning and feature reuse (Lippl and Lindsey 2024)."""

from __future__ import annotations

from recombine.studies.reuse_diagonal import DiagonalPart
from recombine.studies.reuse_images import ImagesPart
from recombine.studies.reuse_penalty import PenaltyPart
from recombine.studies.reuse_regimes import RegimesPart
from recombine.studies.reuse_relu import ReluPart
from recombine.studies.study import published

STUDY = published("reuse", PenaltyPart(), DiagonalPart(), ReluPart(), RegimesPart(), ImagesPart())
