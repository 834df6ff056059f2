"""The dependence matrix D[i, j]: how much output i of a model leans on factor j.

An output that composes leans only on its own factors; everything else is a redundant input that
training may have come to use. Examples are drawn from the full product of the factors (so that
each factor is independent of the others), and three estimators look at the same examples:

1. *intervention*: factor j is moved to another value while the rest of the example is held.
   `flip` is the share of examples whose predicted class changes; `variation` the mean total
   variation ½ Σ_c |p(c) − p'(c)| between the output distributions before and after.
2. *gradient*: the mean over examples of ‖∂p_i/∂x_j‖, the Frobenius norm of the derivative of the
   class probabilities of output i in the entries of the input that factor j is rendered into.
3. *information*: I(Ŷ_i ; Z_j | Z_own) in bits, where Z_own are the factors that output i should
   depend on: what the prediction tells about factor j beyond them. For j among its own factors
   it is conditioned on the remaining ones only. From counts, with the Miller-Madow correction, or
   as the gain of a prediction that leaves each example out, which stays near zero where there is
   nothing to tell even when most cells of the table are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from recombine.analyses.analysis import ANALYSIS_SEED, Analysis, shown
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.seeds import stream
from recombine.spec import later
from recombine.tasks.task import EVERYTHING, Examples, Task
from recombine.theory.information import conditional_information, predictive_information

INFORMATION: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "miller-madow": conditional_information,
    "predictive": predictive_information,
}


@dataclass(frozen=True)
class Dependence(Analysis):
    """Measures the dependence matrix with all three estimators."""

    name: ClassVar[str] = "dependence"

    examples: int = 500
    """Examples the estimate rests on."""
    gradient_examples: int | None = later(None)
    """So many of them for the gradient, which costs a backward pass a class; none: all."""
    information: Literal["miller-madow", "predictive"] = later("miller-madow")
    """How the information is corrected: `predictive` where factors have many values."""

    def validate(self) -> None:
        if self.examples < 1:
            raise BadValue("analyses/dependence.examples", self.examples, "at least 1")
        few = self.gradient_examples
        if few is not None and not 1 <= few <= self.examples:
            legal = f"from 1 to {self.examples}, or none"
            raise BadValue("analyses/dependence.gradient_examples", few, legal)

    def measure(
        self, stack: Stack, task: Task, model: Model
    ) -> Mapping[str, Float[np.ndarray, "seed output factor"]]:
        rng = stream(ANALYSIS_SEED, "dependence")
        examples = task.sample(EVERYTHING, self.examples, rng)
        moved = [task.resample(examples, j, rng) for j in range(len(task.factors))]
        with torch.no_grad():
            before = model.probabilities(stack(shown(examples, stack)))
            after = [model.probabilities(stack(shown(m, stack))) for m in moved]
        guesses = before.argmax(-1)
        flips = [(guesses != p.argmax(-1)).double().mean(1) for p in after]
        variations = [0.5 * (before - p).abs().sum(-1).double().mean(1) for p in after]
        return {
            "dependence/flip": torch.stack(flips, dim=-1).cpu().numpy(),
            "dependence/variation": torch.stack(variations, dim=-1).cpu().numpy(),
            "dependence/gradient": gradient_norms(
                stack, task, model, first(examples, self.gradient_examples)
            ),
            "dependence/information": predicted_information(
                guesses.cpu().numpy(), task, examples.z, INFORMATION[self.information]
            ),
        }


def first(examples: Examples, n: int | None) -> Examples:
    """The first n of examples."""
    return Examples(examples.z[:n], examples.noise[:n], examples.inputs[:n], examples.targets[:n])


def gradient_norms(
    stack: Stack, task: Task, model: Model, examples: Examples
) -> Float[np.ndarray, "seed output factor"]:
    """The mean of ‖∂p_i/∂x_j‖ over examples."""
    columns = []
    for i in range(len(task.outputs)):
        squares = sum(d**2 for d in slopes(stack, model, examples, output=i))
        assert isinstance(squares, Tensor)
        norms = [
            squares[..., torch.from_numpy(task.part(j)).to(squares.device)].sum(-1).sqrt()
            for j in range(len(task.factors))
        ]
        columns.append(torch.stack([norm.double().mean(1) for norm in norms], dim=-1))
    return torch.stack(columns, dim=1).cpu().numpy()


def slopes(
    stack: Stack, model: Model, examples: Examples, *, output: int
) -> list[Float[Tensor, "seed n *shape"]]:
    """For each class, the derivative of its probability in every entry of the input."""
    inputs = shown(examples, stack).expand(stack.lanes, *examples.inputs.shape)
    x = inputs.clone().requires_grad_()
    p = model.probabilities(stack(x))[:, :, output]
    # Examples and lanes do not mix, so the derivative of the sum is each one's own.
    return [
        torch.autograd.grad(p[..., c].sum(), x, retain_graph=c + 1 < p.shape[-1])[0]
        for c in range(p.shape[-1])
    ]


def predicted_information(
    guesses: Int[np.ndarray, "seed n output"],
    task: Task,
    z: Int[np.ndarray, "n factor"],
    estimate: Callable[[np.ndarray], np.ndarray] = conditional_information,
) -> Float[np.ndarray, "seed output factor"]:
    """I(Ŷ_i ; Z_j | the other factors that output i should depend on), in bits."""
    values = np.zeros((len(guesses), len(task.outputs), len(task.factors)))
    for i, output in enumerate(task.outputs):
        for j, size in enumerate(task.sizes):
            given = [f for f in output.factors if f != j]
            shape = tuple(task.sizes[f] for f in given)
            context = np.ravel_multi_index(z[:, given].T, shape) if given else np.zeros(len(z), int)
            table = _counts(guesses[:, :, i], context, z[:, j], output.classes, size)
            values[:, i, j] = estimate(table)
    return values


def _counts(
    guesses: Int[np.ndarray, "seed n"],
    context: Int[np.ndarray, " n"],
    value: Int[np.ndarray, " n"],
    classes: int,
    size: int,
) -> Int[np.ndarray, "seed context class value"]:
    """How often each class was predicted in each context with each value, lane by lane."""
    contexts = int(context.max()) + 1
    cells = contexts * classes * size
    code = (context * classes + guesses) * size + value
    lane = np.arange(len(guesses))[:, None] * cells
    counts = np.bincount((lane + code).ravel(), minlength=len(guesses) * cells)
    return counts.reshape(len(guesses), contexts, classes, size)
