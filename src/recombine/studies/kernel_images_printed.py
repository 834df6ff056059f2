"""What the paper prints of networks on images: on MNIST by task and distance, on CIFAR-10.

Numbers are read from figures, but for those of CIFAR-10. A slope is that of the value given to item
+4 (extrapolation) or to items ±3 (interpolation); on CIFAR-10 that between the values given to the
two outermost held-out items.
"""

from __future__ import annotations

from dataclasses import dataclass

NEAR, FAR = 0, 20
"""Pixels by which images are apart in cells called near and far, at paper scale."""
AT = (0, 5, 10, 15, 20)
"""All distances of the paper."""


@dataclass(frozen=True)
class Printed:
    """Of one task and distance; None where nothing is printed."""

    score: float | None = None
    """Slope of sums, or accuracy on held-out combinations."""
    error: float | None = None
    """Mean squared error on held-out pairs."""
    trained: float | str | None = None
    """Error or accuracy on unseen images of trained combinations; some only as a range."""
    additivity: float | str | None = None
    """R² on held-out combinations."""


Row = tuple[float | str | None, ...]
NOTHING: Row = (None,) * len(AT)


def _over_distance(
    score: Row, error: Row, trained: float | str | Row, additivity: str | Row
) -> tuple[Printed, ...]:
    columns = (
        values if isinstance(values, tuple) else (values,) * len(AT)
        for values in (score, error, trained, additivity)
    )
    return tuple(Printed(*each) for each in zip(*columns, strict=True))


SUMS, CONTEXT = "1.9 to 3.0", ".945 to .976"
"""Trained combinations: squared error of sums, accuracy of context dependence."""
ADDS = ".992 to .996"


def _ends(near: float, far: float) -> Row:
    return near, None, None, None, far


MNIST: dict[str, tuple[Printed, ...]] = {
    "extrapolation": _over_distance(
        (0.557, 0.617, 0.70, 0.752, 0.779),
        (5.49, 4.91, 3.87, 3.33, 3.10),
        SUMS,
        _ends(0.9849, 0.9894),
    ),
    "interpolation": _over_distance(
        _ends(0.64, 0.83), (4.92, 4.31, 3.15, 2.69, 2.46), SUMS, _ends(0.9877, 0.9904)
    ),
    "both": _over_distance(
        _ends(0.67, 0.84), (4.62, 4.14, 3.30, 2.87, 2.72), SUMS, _ends(0.9892, 0.9907)
    ),
    "asymmetric": _over_distance(NOTHING, (17.9, 16.0, 11.7, 9.0, 8.0), SUMS, ".982 to .985"),
    "CD-3": _over_distance(
        (0.503, 0.424, 0.363, 0.288, 0.229), NOTHING, CONTEXT, _ends(0.952, 0.992)
    ),
    "CD-2": _over_distance((0.839, 0.870, 0.913, 0.942, 0.944), NOTHING, CONTEXT, ADDS),
    "CD-1": _over_distance((0.894, 0.910, 0.940, 0.953, 0.963), NOTHING, CONTEXT, ADDS),
    "equivalence q=4": _over_distance(
        (0.53, 0.58, 0.76, 0.83, 0.89), NOTHING, (0.70, 0.73, 0.82, 0.87, 0.885), NOTHING
    ),
}
"""The convolutional network on MNIST, ten seeds, by distance in the order of AT."""
POOLED = (0.51, 0.54, 0.67, 0.73, 0.785)
"""Equivalence on MNIST over distance, q = 1 and q = 4 taken together: held-out accuracy."""
KINDS = ("right", "wrong", "sensory", "context", "memorization")
SHARES: dict[str, tuple[float, ...]] = {
    "CD-3": (0.261, 0.120, 0.177, 0.381, 0.061),
    "CD-2": (0.542, 0.232, 0.128, 0.021, 0.078),
    "CD-1": (0.546, 0.248, 0.115, 0.008, 0.083),
}
"""Relative magnitudes of KINDS of conjunctions on MNIST at d = 20."""


def on_mnist(task: str, distance: int) -> Printed:
    """What is printed of a task at a distance."""
    if task not in MNIST or distance not in AT:
        return Printed()
    return MNIST[task][AT.index(distance)]


def of_cell(name: str) -> Printed:
    """What is printed of a cell such as `CD-3 far`; equivalence is that of q = 4."""
    task, where = name.rsplit(" ", 1)
    task = "equivalence q=4" if task == "equivalence" else task
    return on_mnist(task, {"near": NEAR, "far": FAR}[where])


RESNET_ADDS, VIT_ADDS = ".967 to .984", ".94 to .965"
RESNET_KNOWS, VIT_KNOWS = ".79 to .82", ".69 to .75"
ITEMS: dict[str, tuple[float, float]] = {
    "resnet extrapolation": (1.84, -1.61),
    "resnet both": (2.20, -1.79),
    "resnet interpolation": (1.26, -1.71),
    "vit extrapolation": (1.19, -1.08),
    "vit both": (1.68, -1.21),
    "vit interpolation": (0.83, -1.32),
}
"""On CIFAR-10: values given to the two outermost held-out items, ±3 for interpolation, else ±4."""
CIFAR: dict[str, Printed] = {
    **{
        name: Printed(
            (high - low) / (6 if name.endswith("interpolation") else 8),
            additivity=RESNET_ADDS if name.startswith("resnet") else VIT_ADDS,
        )
        for name, (high, low) in ITEMS.items()
    },
    "resnet CD-3": Printed(0.47, trained=RESNET_KNOWS),
    "resnet CD-2": Printed(0.64, trained=RESNET_KNOWS),
    "resnet CD-1": Printed(0.75, trained=RESNET_KNOWS),
    "vit CD-3": Printed(0.46, trained=VIT_KNOWS),
    "vit CD-2": Printed(0.58, trained=VIT_KNOWS),
    "vit CD-1": Printed(0.58, trained=VIT_KNOWS),
}
"""Residual network and vision transformer on CIFAR-10, d = 0."""
