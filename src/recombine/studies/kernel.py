"""Study `kernel`: Lippl & Stachenfeld, when does compositional structure yield generalization?"""

from recombine.studies.kernel_architectures import ArchitecturesPart, DistancesPart
from recombine.studies.kernel_dense import DensePart
from recombine.studies.kernel_depth import DepthPart
from recombine.studies.kernel_images import (
    ImagesAddition,
    ImagesContext,
    ImagesEquivalence,
)
from recombine.studies.kernel_images_small import (
    ImagesApart,
    ImagesBeside,
    ImagesFew,
    ImagesNear,
    ImagesSalience,
    ImagesShort,
)
from recombine.studies.kernel_residual import ResidualAddition, ResidualContext
from recombine.studies.kernel_theory import TheoryPart
from recombine.studies.study import published

STUDY = published(
    "kernel",
    TheoryPart(),
    DensePart(),
    DepthPart(),
    ImagesAddition(),
    ImagesContext(),
    ImagesEquivalence(),
    ImagesSalience(),
    ImagesNear(),
    ImagesBeside(),
    ImagesShort(),
    ImagesApart(),
    ImagesFew(),
    DistancesPart(),
    ResidualAddition(),
    ResidualContext(),
    ArchitecturesPart(),
)
