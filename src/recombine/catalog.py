"""Lazy names → classes: what there is to choose from, without importing any of it.

Built-in components stand in the table below. Another package adds its own through entry points
in the groups `recombine.tasks`, `recombine.models`, `recombine.analyses`, `recombine.studies`:

    [project.entry-points."recombine.tasks"]
    my-task = "my_package.my_task:MyTask"
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from recombine import spec
from recombine.errors import UnknownName, UsageError

KINDS = ("tasks", "models", "analyses", "studies")
"""The shelves a user browses and another package may add to."""

SINGULAR = {"tasks": "task", "models": "model", "analyses": "analysis", "studies": "study"}


@dataclass(frozen=True)
class Entry:
    """One component: where its class is, and a line about it."""

    path: str
    """`module:Class`, imported when first asked for."""
    summary: str
    """One line for `recombine list`."""


BUILTIN: Mapping[str, Mapping[str, Entry]] = {
    "tasks": {
        "corners": Entry(
            "recombine.tasks.corners:Corners",
            "two bits as two coordinates, one of the four combinations held out",
        ),
        "spans": Entry(
            "recombine.tasks.spans:Spans", "after α and any k symbols comes ω: long-range rules"
        ),
    },
    "models": {
        "gated": Entry(
            "recombine.models.gated:Gated", "gated linear, frozen ReLU and ReLU networks"
        ),
        "language-model": Entry(
            "recombine.models.language_model:LanguageModel", "LSTM or GRU language model"
        ),
        "mlp": Entry("recombine.models.mlp:MLP", "multilayer perceptron, stacked by hand"),
    },
    "analyses": {
        "dependence": Entry(
            "recombine.analyses.dependence:Dependence",
            "dependence matrix: which output leans on which factor",
        ),
        "redundancy": Entry(
            "recombine.analyses.redundancy:Redundancy",
            "information and mean slope of a score in each factor, for the first updates",
        ),
        "contribution": Entry(
            "recombine.analyses.contribution:Contribution",
            "contextual decomposition: which factor of a sequence carries the answer",
        ),
        "boundary": Entry(
            "recombine.analyses.boundary:Boundary",
            "decision boundary of a two-dimensional problem: a map and an angle",
        ),
    },
    "studies": {
        "gated": Entry(
            "recombine.studies.gated:STUDY",
            "The Implicit Bias of Gradient Descent on Gated Networks (toy, limit, digits, relu)",
        ),
        "gradient": Entry(
            "recombine.studies.gradient:STUDY",
            "Gradient Descent Resists Compositionality (parts: corners)",
        ),
        "reuse": Entry(
            "recombine.studies.reuse:STUDY",
            "Multi-task learning and finetuning: feature reuse (parts: penalty, diagonal, relu)",
        ),
        "spans": Entry(
            "recombine.studies.spans:STUDY",
            "Do LSTMs Learn Compositionally? (parts: length, counting, predictability)",
        ),
    },
    "training": {
        "recipe": Entry("recombine.training.recipe:Recipe", "how a network is trained"),
        "sgd": Entry("recombine.training.optimizers:SGD", "gradient descent, with momentum"),
        "adam": Entry("recombine.training.optimizers:Adam", "Adam"),
        "constant": Entry("recombine.training.schedules:Constant", "constant learning rate"),
        "exponential": Entry("recombine.training.schedules:Exponential", "decaying rate"),
        "stop": Entry("recombine.training.stopping:Stop", "early stopping, lane by lane"),
        "descent": Entry("recombine.training.normalised:Descent", "plain descent on margins"),
        "normalised": Entry(
            "recombine.training.normalised:Normalised", "normalised descent: the long-time limit"
        ),
        "probe": Entry("recombine.training.trial:Probe", "an analysis at chosen steps"),
        "reading": Entry("recombine.training.language:Reading", "how a language model is trained"),
        "decomposition": Entry(
            "recombine.analyses.decomposition_variant:Variant",
            "variants of contextual decomposition",
        ),
    },
    "cells": {
        "gated-limit": Entry(
            "recombine.studies.gated_cells:Limit", "gated networks against their convex limit"
        ),
        "gated-relu": Entry(
            "recombine.studies.gated_cells:GatedReLU", "a ReLU network against frozen gates"
        ),
        "gated-table": Entry(
            "recombine.studies.gated_cells:GatedTable", "gated networks on images, and machines"
        ),
        "spans": Entry(
            "recombine.studies.spans_cells:SpansRun", "a language model and its decomposition"
        ),
        "trial": Entry("recombine.training.trial:Trial", "train a model on a task, and measure"),
        "reuse-exact": Entry(
            "recombine.studies.reuse_sparse:ExactReuse", "sparse teachers, solved exactly"
        ),
        "reuse-descent": Entry(
            "recombine.studies.reuse_sparse:DescentReuse", "sparse teachers, by gradient descent"
        ),
        "reuse-forms": Entry(
            "recombine.studies.reuse_forms:PenaltyForms", "which penalty predicts finetuning"
        ),
        "reuse-groups": Entry(
            "recombine.studies.reuse_forms:GroupNorms", "how near two tasks come to least l1,2"
        ),
        "reuse-relu": Entry(
            "recombine.studies.reuse_teachers:ReluReuse", "ReLU teachers and students"
        ),
    },
}


def names(kind: str) -> list[str]:
    """Every name on a shelf, built in or added by an installed package."""
    return sorted({*_builtin(kind), *_added(kind)})


def summary(kind: str, name: str) -> str:
    """One line about a component; of an added one, where it comes from."""
    if name in _builtin(kind):
        return _builtin(kind)[name].summary
    return f"from {_added(kind)[name].value}"


def find(kind: str, name: str) -> Any:
    """The class (for studies: the study) of that name, imported now."""
    if name in _builtin(kind):
        module, _, attribute = _builtin(kind)[name].path.partition(":")
        return getattr(importlib.import_module(module), attribute)
    if name in _added(kind):
        try:
            return _added(kind)[name].load()
        except Exception as error:  # a stranger's package may fail in any way
            origin = _added(kind)[name].value
            raise UsageError(f"{kind}/{name} ({origin}) cannot be imported: {error}") from error
    raise UnknownName(SINGULAR.get(kind, kind), name, names(kind))


def resolve(identity: str) -> type[spec.Spec]:
    """From `tasks/corners` to the class, for reading a spec."""
    kind, _, name = identity.partition("/")
    if kind not in BUILTIN:
        raise UnknownName("kind of component", kind, BUILTIN)
    found: type[spec.Spec] = find(kind, name)
    return found


def read(data: Any) -> spec.Spec:
    """The spec that JSON describes, its classes looked up here."""
    return spec.decode(data, resolve)


def _builtin(kind: str) -> Mapping[str, Entry]:
    return BUILTIN.get(kind, {})


@functools.cache
def _added(kind: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"recombine.{kind}")}
