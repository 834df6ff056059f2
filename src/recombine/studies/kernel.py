"""Study `kernel`: Lippl & Stachenfeld, when does compositional structure yield generalization?"""

from recombine.studies.kernel_architectures import ArchitecturesPart, DistancesPart
from recombine.studies.kernel_dense import DensePart
from recombine.studies.kernel_images import (
    ImagesAddition,
    ImagesContext,
    ImagesEquivalence,
    ImagesNear,
)
from recombine.studies.kernel_theory import TheoryPart
from recombine.studies.study import published

STUDY = published(
    "kernel",
    TheoryPart(),
    DensePart(),
    ImagesAddition(),
    ImagesContext(),
    ImagesEquivalence(),
    ImagesNear(),
    DistancesPart(),
    ArchitecturesPart(),
)
