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
        "addition": Entry(
            "recombine.tasks.addition:Addition", "add the values of two items, most pairs held out"
        ),
        "context-dependence": Entry(
            "recombine.tasks.context:ContextDependence",
            "a context says which of two features gives the answer",
        ),
        "digit-pairs": Entry(
            "recombine.tasks.digit_pairs:DigitPairs",
            "images side by side, name the first; the others may tell about it in training",
        ),
        "corners": Entry(
            "recombine.tasks.corners:Corners",
            "two bits as two coordinates, one of the four combinations held out",
        ),
        "scan": Entry(
            "recombine.tasks.scan:Scan", "SCAN: commands to actions, with every official split"
        ),
        "lookup-tables": Entry(
            "recombine.tasks.lookup:LookupTables",
            "apply lookup tables one after another; pairs, tables and inputs held out",
        ),
        "equivalence": Entry(
            "recombine.tasks.relations:Equivalence",
            "are two items of one class? pairs without a linking item held out",
        ),
        "invariance": Entry(
            "recombine.tasks.exposure:Invariance", "the sign of one item, the other one new"
        ),
        "ordering": Entry(
            "recombine.tasks.relations:Ordering", "which of two items comes first? neighbours seen"
        ),
        "partial-exposure": Entry(
            "recombine.tasks.exposure:PartialExposure",
            "the sign of one item, three of four combinations seen",
        ),
        "spans": Entry(
            "recombine.tasks.spans:Spans", "after α and any k symbols comes ω: long-range rules"
        ),
    },
    "models": {
        "convnet": Entry(
            "recombine.models.convnet:ConvNet", "two convolutions and dense layers, for images"
        ),
        "attentive": Entry(
            "recombine.models.attentive:Attentive",
            "bidirectional LSTM encoder, LSTM decoder with attention",
        ),
        "deep-conv": Entry(
            "recombine.models.deep_conv:DeepConv", "convolutions with batch norm, dense layers"
        ),
        "gated": Entry(
            "recombine.models.gated:Gated", "gated linear, frozen ReLU and ReLU networks"
        ),
        "language-model": Entry(
            "recombine.models.language_model:LanguageModel", "LSTM or GRU language model"
        ),
        "own": Entry("recombine.models.own:Own", "a torch.nn.Module of your own"),
        "transformer": Entry(
            "recombine.models.transformer:Transformer",
            "transformer encoder and decoder, absolute or relative positions",
        ),
        "mlp": Entry("recombine.models.mlp:MLP", "multilayer perceptron, stacked by hand"),
        "resnet": Entry("recombine.models.resnet:ResNet", "residual network of basic blocks"),
        "seq2seq": Entry(
            "recombine.models.seq2seq:Seq2Seq",
            "recurrent encoder and decoder (GRU or LSTM) with attention between them",
        ),
        "vit": Entry("recombine.models.vit:ViT", "vision transformer on patches"),
    },
    "analyses": {
        "answer-dependence": Entry(
            "recombine.analyses.answers:AnswerDependence",
            "how often whole answers change when a factor is moved",
        ),
        "breakdown": Entry(
            "recombine.analyses.breakdown:Breakdown",
            "what is answered to each item: errors by factor and combination",
        ),
        "dependence": Entry(
            "recombine.analyses.dependence:Dependence",
            "dependence matrix: which output leans on which factor",
        ),
        "redundancy": Entry(
            "recombine.analyses.redundancy:Redundancy",
            "information and mean slope of a score in each factor, for the first updates",
        ),
        "additivity": Entry(
            "recombine.analyses.additivity:Additivity",
            "answers by combination, and how far they add up over seen conjunctions",
        ),
        "alignment": Entry(
            "recombine.analyses.alignment:Alignment",
            "do the weights of items of one class agree, unit by unit",
        ),
        "salience": Entry(
            "recombine.analyses.salience:Salience",
            "salience of conjunctions in a layer's representation",
        ),
        "activations": Entry(
            "recombine.analyses.activations:Activations",
            "how units of a recurrent model use their range: ranges and entropies",
        ),
        "diagnostics": Entry(
            "recombine.analyses.diagnostics:Diagnostics",
            "diagnostic classifiers on a recurrent model, and its functional groups of units",
        ),
        "gates": Entry(
            "recombine.analyses.gates:Gates",
            "gate saturation of a recurrent model, as what happens to the state",
        ),
        "weights": Entry(
            "recombine.analyses.weights:Weights",
            "weight matrices: concentration, polarity, modularity of the strongest edges",
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
            "Gradient Descent Resists Compositionality (parts: pairs, scan, corners)",
        ),
        "realization": Entry(
            "recombine.studies.realization:STUDY",
            "On the Realization of Compositionality in Neural Networks "
            "(parts: accuracy, inside, surgery)",
        ),
        "kernel": Entry(
            "recombine.studies.kernel:STUDY",
            "When does compositional structure yield compositional generalization? (kernel theory)",
        ),
        "reuse": Entry(
            "recombine.studies.reuse:STUDY",
            "Multi-task learning and finetuning (penalty, diagonal, relu, regimes, images)",
        ),
        "spans": Entry(
            "recombine.studies.spans:STUDY",
            "Do LSTMs Learn Compositionally? (parts: length, counting, predictability)",
        ),
    },
    "inputs": {
        "one-hot": Entry("recombine.tasks.showing:OneHot", "items as one-hot codes, side by side"),
        "images": Entry("recombine.tasks.pictures:Images", "items as images of a class"),
    },
    "training": {
        "recipe": Entry("recombine.training.recipe:Recipe", "how a network is trained"),
        "sgd": Entry("recombine.training.optimizers:SGD", "gradient descent, with momentum"),
        "adam": Entry("recombine.training.optimizers:Adam", "Adam"),
        "constant": Entry("recombine.training.schedules:Constant", "constant learning rate"),
        "exponential": Entry("recombine.training.schedules:Exponential", "decaying rate"),
        "guidance": Entry(
            "recombine.training.interventions:Guidance", "attentive guidance: where to look"
        ),
        "keep": Entry("recombine.training.stopping:Keep", "keep the best weights on the way"),
        "stop": Entry("recombine.training.stopping:Stop", "early stopping, lane by lane"),
        "descent": Entry("recombine.training.normalised:Descent", "plain descent on margins"),
        "normalised": Entry(
            "recombine.training.normalised:Normalised", "normalised descent: the long-time limit"
        ),
        "verb-dependence": Entry(
            "recombine.analyses.verb_dependence:VerbDependence",
            "what changes in an answer to SCAN when one verb is moved",
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
            "recombine.studies.gated_relu_cell:GatedReLU", "a ReLU network against frozen gates"
        ),
        "gated-table": Entry(
            "recombine.studies.gated_cells:GatedTable", "gated networks on images, and machines"
        ),
        "translation": Entry(
            "recombine.training.translation:Translation",
            "train the attentive network on sentences, and keep its answers",
        ),
        "spans": Entry(
            "recombine.studies.spans_cells:SpansRun", "a language model and its decomposition"
        ),
        "realization-chains": Entry(
            "recombine.studies.realization_chains:Chains",
            "longer chains of lookup tables than a network was trained on",
        ),
        "realization-graft": Entry(
            "recombine.studies.realization_surgery_cells:Graft", "a component, by its parameters"
        ),
        "realization-inside": Entry(
            "recombine.studies.realization_surgery_cells:Inside", "what is inside a trained network"
        ),
        "realization-pruning": Entry(
            "recombine.studies.realization_surgery_cells:Pruning", "prune neurons, and retrain"
        ),
        "realization-surgery": Entry(
            "recombine.studies.realization_surgery_cells:Surgery",
            "exchange a component, freeze it, and retrain the rest",
        ),
        "kernel-dispersed": Entry(
            "recombine.studies.kernel_cells:Dispersed", "addition with random partners, exactly"
        ),
        "kernel-forms": Entry(
            "recombine.studies.kernel_cells:Forms", "closed forms against exact fits"
        ),
        "kernel-images": Entry(
            "recombine.studies.kernel_cells:Assigned", "a trial on images, assigned by seed"
        ),
        "kernel-wide": Entry(
            "recombine.studies.kernel_cells:WideNets", "salience of wide random layers"
        ),
        "trial": Entry("recombine.training.trial:Trial", "train a model on a task, and measure"),
        "reuse-exact": Entry(
            "recombine.studies.reuse_sparse:ExactReuse", "sparse teachers, solved exactly"
        ),
        "reuse-descent": Entry(
            "recombine.studies.reuse_sparse:DescentReuse", "sparse teachers, by gradient descent"
        ),
        "reuse-images": Entry(
            "recombine.studies.reuse_images_cell:ImageReuse", "two classes of images after eight"
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


_LENT: dict[tuple[str, str], Any] = {}
"""Components of files that a user named, for as long as this process runs."""


def lend(kind: str, found: Any) -> None:
    """Put a component on its shelf for as long as this process runs."""
    _LENT[kind, found.name] = found


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
    if (kind, name) in _LENT:
        return _LENT[kind, name]
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
