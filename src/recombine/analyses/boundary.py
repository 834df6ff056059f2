"""The decision boundary of a two-dimensional problem: a map, the error it makes, its angle.

The *error* is the share of the unseen corner's area that is answered wrongly, on a regular grid:
free of the chance that a sample of examples would add, which all seeds would share.

The *angle* says where the boundary leaves the origin into the unseen quadrant X1 > 0, X2 > 0. On
the quarter arc of radius r, let the share predicted as class 1 be q(r); a straight boundary
through the origin that leaves the same share stands at 90° · q(r) from the X1 axis. The angle
is the mean over radii. 90° is the boundary that composes (the X2 axis); 45° is the diagonal that
halves the unseen quadrant; 0° gives all of it away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, UInt16

from recombine.analyses.analysis import Analysis
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.tasks.corners import Corners
from recombine.tasks.task import Task

MOST = 65535
"""A probability of 1 in a map: two bytes a point are enough for any picture of it."""


@dataclass(frozen=True)
class Boundary(Analysis):
    """Maps P(class 1) over the plane and measures the boundary's error and angle."""

    name: ClassVar[str] = "boundary"

    resolution: int = 33
    """Points a side of the map."""
    radii: int = 20
    """Arcs the angle is averaged over."""
    fineness: int = 64
    """Points a side of the grid that the error is read on."""
    directions: int = 180
    """Points an arc: the angle of one arc is exact to 90° / directions."""

    def validate(self) -> None:
        if min(self.resolution, self.fineness, self.radii, self.directions) < 2:
            raise BadValue("analyses/boundary", "a size below 2", "at least 2 points each way")

    def measure(self, stack: Stack, task: Task, model: Model) -> Mapping[str, np.ndarray]:
        if not isinstance(task, Corners):
            raise BadValue("analyses/boundary", f"tasks/{task.name}", "a two-dimensional task")
        return {
            "boundary/map": self._map(stack, model, task.extent),
            "boundary/error": self._error(stack, model, task),
            "boundary/angle": self._angle(stack, model, task.extent),
        }

    def _map(self, stack: Stack, model: Model, extent: float) -> UInt16[np.ndarray, "seed x2 x1"]:
        """P(class 1) in 65,535ths on a square grid over the inputs, the first row at the bottom."""
        line = np.linspace(-extent, extent, self.resolution)
        x1, x2 = np.meshgrid(line, line)
        p = probability(stack, model, np.stack([x1.ravel(), x2.ravel()], axis=1))
        return np.round(p * MOST).astype(np.uint16).reshape(-1, *x1.shape)

    def _error(self, stack: Stack, model: Model, task: Corners) -> Float[np.ndarray, " seed"]:
        line = (np.arange(self.fineness) + 0.5) / self.fineness
        noise = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
        corner = np.ones(noise.shape, dtype=np.int64)
        p = probability(stack, model, task.render(corner, noise))
        return np.asarray((p <= 0.5).mean(axis=1))

    def _angle(self, stack: Stack, model: Model, extent: float) -> Float[np.ndarray, " seed"]:
        theta = (np.arange(self.directions) + 0.5) / self.directions * np.pi / 2
        radius = (np.arange(self.radii) + 0.5) / self.radii * extent
        r, t = np.meshgrid(radius, theta, indexing="ij")
        p = probability(
            stack, model, np.stack([(r * np.cos(t)).ravel(), (r * np.sin(t)).ravel()], 1)
        )
        return np.asarray(90.0 * (p > 0.5).mean(axis=1))


@torch.no_grad()
def probability(
    stack: Stack, model: Model, points: Float[np.ndarray, "n 2"]
) -> Float[np.ndarray, "seed n"]:
    """P(class 1) of every lane at these points of the plane."""
    device = next(stack.parameters()).device
    inputs = torch.from_numpy(points.astype(np.float32)).unsqueeze(0).to(device)
    p = model.probabilities(stack(inputs))[:, :, 0, 1].cpu().numpy()
    return np.asarray(np.nan_to_num(p, nan=0.5))  # a network that diverged says nothing
