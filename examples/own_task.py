"""A task of one's own in under sixty lines: is a colour on a shape the agreed one?

recombine diagnose mlp examples/own_task.py:Badges
recombine check examples/own_task.py:Badges
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recombine.tasks import Factor, Output, Task

COLOURS, SHAPES = ("red", "green", "blue"), ("disc", "square", "star")


@dataclass(frozen=True)
class Badges(Task):
    """One-hot colour and shape; say the shape. Some pairs are never trained on."""

    name: ClassVar[str] = "badges"

    noise: float = 0.1

    @property
    def factors(self):
        return Factor("colour", COLOURS), Factor("shape", SHAPES)

    @property
    def outputs(self):
        return (Output("shape", classes=3, factors=(1,)),)  # the colour is redundant

    @property
    def input_shape(self):
        return (6,)

    def splits(self):
        every = np.array([(c, s) for c in range(3) for s in range(3)])
        diagonal = every[:, 0] == every[:, 1]
        return {"train": every[~diagonal], "matching": every[diagonal]}

    def draw_noise(self, n, rng, *, split="all"):
        return rng.normal(size=(n, 2, 3)).astype(np.float32) * self.noise

    def render(self, z, noise):
        return (np.eye(3, dtype=np.float32)[z] + noise).reshape(len(z), 6)

    def targets(self, z):
        return z[:, 1:]

    def oracle(self, inputs):
        return inputs.reshape(-1, 2, 3).argmax(-1)[:, 1:]

    def part(self, factor):
        return np.repeat([0, 1], 3) == factor
