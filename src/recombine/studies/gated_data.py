"""What the cells of `gated` are made of: points, labels and contexts of one seed, and its lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from recombine.models.gated import Gated, StackedGated
from recombine.seeds import stream
from recombine.tasks.digits import Source, count, digits
from recombine.theory import gates
from recombine.theory.gated import respond
from recombine.training.normalised import Points

VALIDATION = 12_000
"""Images the error is measured on, where there are so many."""
GAP = 0.25
"""Toy: every point has | |x1| + |x2| − 1 | above this. Small margins take long to converge."""
TOY_UNITS = 2


@dataclass(frozen=True)
class Sample:
    """The points of one seed: inputs with their constant, labels ±1, contexts a gated layer."""

    x: Float[np.ndarray, "n dim"]
    y: Float[np.ndarray, " n"]
    on: tuple[Float[np.ndarray, "n unit context"], ...]


def toy(seed: int) -> Sample:
    """Figure 1: four points a quadrant, two inside the diamond and two outside.

    Unit 1 sees the sign of x1 and unit 2 that of x2; the reference (∓1, 0, −½), (0, ∓1, −½) gives
    |x1| + |x2| − 1 from two units.
    """
    rng, places = stream(seed, "data"), []
    for side in np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        for inside in (True, True, False, False):
            places.append(side * _place(rng, inside))
    x = np.column_stack([np.array(places), np.ones(len(places))])
    on = gates.indicators((x[:, :TOY_UNITS] > 0).astype(np.int64), 2)
    return Sample(x, np.sign(np.abs(x[:, :2]).sum(1) - 1), (on,))


def _place(rng: np.random.Generator, inside: bool) -> np.ndarray:
    while True:
        place = rng.uniform(0.05, 1.2, 2)
        beyond = float(place.sum()) - 1
        if (beyond < -GAP) if inside else (beyond > GAP):
            return place


def toy_reference() -> Float[np.ndarray, "unit context dim"]:
    """The predictors the toy was made from."""
    return np.array([[[-1, 0, -0.5], [1, 0, -0.5]], [[0, -1, -0.5], [0, 1, -0.5]]])


def synthetic(seed: int, *, n: int, dim: int, model: Gated) -> Sample:
    """Normal points, median gates, and labels of a random teacher with the first layer's gates."""
    rng = stream(seed, "data")
    x = np.column_stack([rng.standard_normal((n, dim)), np.ones(n)])
    on = contexts(seed, model, x, x, "median")
    teacher = rng.standard_normal((*on[0].shape[1:], dim + 1))
    return Sample(x, np.where(respond(teacher, x, on[0]) > 0, 1.0, -1.0), on)


def images(
    seed: int, *, source: Source, n: int, model: Gated, cut: Literal["median", "random"]
) -> tuple[Sample, Sample]:
    """Training and validation images of a seed: 0–4 against 5–9."""
    order = stream(seed, "data").permutation(count(source))[: n + VALIDATION]
    pixels, digit = digits(source, order)
    x = np.column_stack([pixels, np.ones(len(order))])
    y = np.where(digit >= 5, 1.0, -1.0)
    on = contexts(seed, model, x, x[:n], cut) if model.gates == "random" else ()
    train = Sample(x[:n], y[:n], tuple(o[:n] for o in on))
    return train, Sample(x[n:], y[n:], tuple(o[n:] for o in on))


def contexts(
    seed: int,
    model: Gated,
    x: Float[np.ndarray, "n dim"],
    train: Float[np.ndarray, "m dim"],
    cut: Literal["median", "random"],
) -> tuple[Float[np.ndarray, "n unit context"], ...]:
    """The contexts of points at every gated layer, thresholds at the training points' median."""
    rng, every = stream(seed, "gates"), []
    for width in model.widths or (1,):
        normals, thresholds = gates.hyperplanes(width, model.planes, x.shape[1], rng)
        if cut == "median":
            thresholds = gates.medians(normals, train)
        index = gates.contexts(x, normals, thresholds)
        every.append(gates.indicators(index, 2**model.planes))
    return tuple(every)


def lanes(
    model: Gated, seeds: Sequence[int], samples: Sequence[Sample], dtype: torch.dtype
) -> tuple[StackedGated, Points]:
    """The networks of these seeds at their first weights, and their points."""
    dim = samples[0].x.shape[1]
    drawn = [model.draw(seed, dim) for seed in seeds]
    stack = StackedGated(model, [np.stack(layer) for layer in zip(*drawn, strict=True)]).to(dtype)

    def tensor(arrays: Sequence[np.ndarray]) -> torch.Tensor:
        return torch.from_numpy(np.stack(arrays)).to(dtype)

    layers = zip(*(s.on for s in samples), strict=True)
    points = Points(
        tensor([s.x for s in samples]),
        tensor([s.y for s in samples]),
        tuple(tensor(layer) for layer in layers),
    )
    return stack, points


def predictors(stack: StackedGated, lane: int) -> Float[np.ndarray, "unit context dim"]:
    """The effective predictors ζ of a network with gates in one layer."""
    first = stack.layers[0][lane].detach().double().numpy()
    if len(stack.layers) == 1:
        return np.asarray(first)
    readout = stack.layers[1][lane, 0].detach().double().numpy()
    return np.asarray(first * readout[:, None, None])
