"""Training: recipes, lanes (a stack of seeds trained at once) and the loop."""

from recombine.training.interventions import Guidance
from recombine.training.loop import train
from recombine.training.optimizers import SGD, Adam
from recombine.training.recipe import Recipe
from recombine.training.schedules import Constant, Exponential
from recombine.training.stopping import Keep, Stop
from recombine.training.trial import Probe, Trial

__all__ = [
    "SGD",
    "Adam",
    "Constant",
    "Exponential",
    "Guidance",
    "Keep",
    "Probe",
    "Recipe",
    "Stop",
    "Trial",
    "train",
]
