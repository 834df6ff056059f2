"""The recipe: how a network is trained, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recombine.errors import BadValue
from recombine.spec import Spec, later
from recombine.training.interventions import Guidance
from recombine.training.optimizers import SGD, Adam
from recombine.training.schedules import Constant, Exponential
from recombine.training.stopping import Keep, Stop

Sampling = Literal["fresh", "with-replacement", "without-replacement", "in-order", "each-once"]
Loss = Literal[
    "cross-entropy",
    "squared-sign",
    "categorical-hinge",
    "token-cross-entropy",
    "sequence-cross-entropy",
    "logistic-sign",
    "squared",
]


@dataclass(frozen=True)
class Recipe(Spec):
    """Everything about training that is not the task or the model."""

    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "recipe"

    steps: int = 1024
    """Updates."""
    batch: int = 10
    """Examples an update."""
    sampling: Sampling = "fresh"
    """`fresh`: new examples each step. `each-once`: the combinations of the training split
    themselves, each once an epoch, shuffled anew (the last batch may be smaller). The others draw
    from a fixed set of `examples`: with replacement; without, shuffled every epoch; or in the
    order they were drawn, over and over."""
    examples: int | None = None
    """Size of the fixed training set; none with fresh samples and with each once."""
    loss: Loss = "cross-entropy"
    """`squared`: on the numbers that the classes stand for. `…-sign`: of a single unit, ±1."""
    optimizer: SGD | Adam = SGD()
    schedule: Constant | Exponential = Constant()
    clip: float | None = None
    """Largest gradient norm of a lane; none: no clipping."""
    stop: Stop | None = None
    """Early stopping, checked at each evaluation."""
    evaluate_at: tuple[int, ...] = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    """Steps at which every split is evaluated; the last step always is."""
    evaluation_examples: int = 1000
    """Examples a split, the same for all seeds and steps."""
    lanes: Literal["stacked", "looped"] = "stacked"
    """All seeds of a job in one stack, or one after another."""
    forced: bool = later(False)
    """Sequence models: feed the right word back in training, not the network's own."""
    guidance: Guidance | None = later(None)
    """Attentive guidance, for models with attention on tasks that state where to look."""
    evaluate_whole: bool = later(False)
    """Evaluate on every combination of a split once, not on drawn examples."""
    evaluate_forced: bool = later(False)
    """Sequence models: also measure with the right words fed back, as `forced-…/<split>`."""
    keep: tuple[Keep, ...] = later(())
    """Weights to be kept from along the way, each the best by its own measure."""

    def validate(self) -> None:
        if self.steps < 0:
            raise BadValue("training/recipe.steps", self.steps, "0 or more")
        if self.batch < 1:
            raise BadValue("training/recipe.batch", self.batch, "at least 1")
        if self.evaluation_examples < 1:
            raise BadValue(
                "training/recipe.evaluation_examples", self.evaluation_examples, "at least 1"
            )
        if self.clip is not None and self.clip <= 0:
            raise BadValue("training/recipe.clip", self.clip, "a positive number, or none")
        if (self.sampling in ("fresh", "each-once")) != (self.examples is None):
            legal = "none with fresh samples and each-once, a number with any other sampling"
            raise BadValue("training/recipe.examples", self.examples, legal)
        if self.examples is not None and self.examples < self.batch:
            legal = f"at least one batch ({self.batch})"
            raise BadValue("training/recipe.examples", self.examples, legal)

    @property
    def evaluation_steps(self) -> tuple[int, ...]:
        """The steps of `evaluate_at` that training reaches, and the last one."""
        return tuple(sorted({s for s in self.evaluate_at if 0 <= s <= self.steps} | {self.steps}))
