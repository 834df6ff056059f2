"""Salience of conjunctions in a representation: how much a layer is about factors, pairs, triples.

All combinations are shown, items that two combinations share by the *same* example (the same
image), and h(z)·h(z') is averaged over the pairs that agree on just these factors, for each set of
factors, and then over sets of equal size. From these C + 1 means follow the saliences S(1;C) …
S(C;C) of `theory/salience.py`, for networks trained or untrained. (With three factors or more this
is not the mean over all pairs that agree on as many: there factors with many values count more.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from recombine.analyses.analysis import ANALYSIS_SEED, Analysis
from recombine.errors import BadValue, UnknownName
from recombine.models.model import Model
from recombine.models.stack import Stack, read_sites
from recombine.seeds import stream
from recombine.tasks.task import EVERYTHING, Task
from recombine.theory.salience import measured_salience


@dataclass(frozen=True)
class Salience(Analysis):
    """Measures the salience of a site."""

    name: ClassVar[str] = "salience"

    site: str = ""
    """Where; empty: the last site before the output."""
    repeats: int = 1
    """Draws of an example for each item; more than 1 is of use where a task has noise."""

    def validate(self) -> None:
        if self.repeats < 1:
            raise BadValue("analyses/salience.repeats", self.repeats, "at least 1")

    @torch.no_grad()
    def measure(
        self, stack: Stack, task: Task, model: Model
    ) -> Mapping[str, Float[np.ndarray, "seed order"]]:
        site = self.site or [name for name in stack.sites if name != "output"][-1]
        if site not in stack.sites:
            raise UnknownName("site", site, stack.sites, where="analyses/salience")
        z = task.combinations(EVERYTHING)
        device = next(stack.parameters()).device
        gram = np.zeros((stack.lanes, len(z), len(z)))
        for repeat in range(self.repeats):
            rng = stream(ANALYSIS_SEED, "salience", repeat)
            of_items = task.draw_noise(max(task.sizes), rng)
            noise = np.stack([of_items[z[:, c], c] for c in range(z.shape[1])], axis=1)
            inputs = torch.from_numpy(task.render(z, noise)).unsqueeze(0).to(device)
            hidden = read_sites(stack, inputs, [site])[site].flatten(2).double()
            gram += np.stack([(h @ h.T).cpu().numpy() for h in hidden])
        return {"salience": measured_salience(gram / self.repeats, z)}
