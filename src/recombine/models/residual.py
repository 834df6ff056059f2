"""A small residual network with batch normalisation, as a function of a dictionary of weights.

Stages of one block each: two 3 × 3 convolutions and a shortcut, the first of a later stage with
stride 2. Features are the mean over places of the last stage; a linear head a task reads them. The
weights are drawn from the seed's own stream, so nothing touches the global random state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from recombine.seeds import stream

Weights = dict[str, Tensor]
"""Trained ones, and `mean.*` and `variance.*`, the running statistics of the normalisations."""


def draw(seed: int, *, channels: int, widths: Sequence[int], heads: Mapping[str, int]) -> Weights:
    """The first weights of a seed: He's for convolutions, small for heads."""
    rng, weights = stream(seed, "init"), Weights()

    def convolution(name: str, out: int, into: int, size: int) -> None:
        spread = np.sqrt(2 / (into * size * size))
        drawn = rng.standard_normal((out, into, size, size)) * spread
        weights[name] = torch.from_numpy(drawn).float()
        for kind, value in {"gain": 1.0, "bias": 0.0, "mean": 0.0, "variance": 1.0}.items():
            weights[f"{kind}.{name}"] = torch.full((out,), value)

    convolution("stem", widths[0], channels, 3)
    into = widths[0]
    for i, width in enumerate(widths):
        convolution(f"{i}.first", width, into, 3)
        convolution(f"{i}.second", width, width, 3)
        if width != into or i:
            convolution(f"{i}.short", width, into, 1)
        into = width
    for head, classes in heads.items():
        weights |= fresh_head(seed, head, into, classes)
    return weights


def fresh_head(seed: int, head: str, features: int, classes: int) -> Weights:
    """The first weights of a head."""
    drawn = stream(seed, "init", head).standard_normal((classes, features)) / np.sqrt(features)
    return {
        f"head.{head}": torch.from_numpy(drawn).float(),
        f"shift.{head}": torch.zeros(classes),
    }


def trained(weights: Weights) -> list[str]:
    """The names of what training changes."""
    return [name for name in weights if not name.startswith(("mean.", "variance."))]


def rescaled(weights: Weights, c: float) -> Weights:
    """All trained weights times c, with the running statistics that go with them.

    Normalised outputs do not feel a convolution's scale, but the stored means and variances do:
    the stem's outputs grow by c, and by c² where the inputs have grown as well. Features grow by c.
    """
    changed = set(trained(weights))

    def factor(name: str) -> float:
        if name in changed:
            return c
        kind, _, layer = name.partition(".")
        growth = c if layer == "stem" else c * c
        return growth if kind == "mean" else growth**2

    return {name: value * factor(name) for name, value in weights.items()}


def features(
    weights: Weights, images: Float[Tensor, "n channel h w"], *, training: bool
) -> Float[Tensor, "n feature"]:
    """What the heads read; in training, running statistics are updated in place."""

    def layer(name: str, x: Tensor, stride: int = 1) -> Tensor:
        kernel = weights[name]
        x = functional.conv2d(x, kernel, stride=stride, padding=kernel.shape[2] // 2)
        means, variances = weights[f"mean.{name}"], weights[f"variance.{name}"]
        gain, bias = weights[f"gain.{name}"], weights[f"bias.{name}"]
        return functional.batch_norm(x, means, variances, gain, bias, training=training)

    x = layer("stem", images).relu()
    stages = sum(name.endswith(".first") and name[0].isdigit() for name in weights)
    for i in range(stages):
        stride = 2 if i else 1
        inner = layer(f"{i}.second", layer(f"{i}.first", x, stride).relu())
        x = (inner + (layer(f"{i}.short", x, stride) if f"{i}.short" in weights else x)).relu()
    return x.mean((2, 3))


def logits(weights: Weights, head: str, read: Float[Tensor, "n feature"]) -> Tensor:
    """The scores of a head's classes."""
    return functional.linear(read, weights[f"head.{head}"], weights[f"shift.{head}"])
