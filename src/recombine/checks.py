"""The conformance suite: what every task, model, analysis and study promises, as code.

`recombine check` and the tests run it on everything in the catalog; a package that adds a component
through an entry point can run it on its own. A check returns nothing, or raises AssertionError
with a sentence that says which promise was broken.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from recombine import catalog, spec
from recombine.analyses import Analysis
from recombine.cell import Context, Outcome
from recombine.conduct import Found, answer, conduct, requests
from recombine.errors import UsageError
from recombine.models import Model
from recombine.models.own import load
from recombine.runs import Store
from recombine.seeds import stream
from recombine.studies import Study
from recombine.tasks import Task
from recombine.tasks.task import IGNORE
from recombine.training import Probe, Recipe, Trial
from recombine.training.recipe import Loss

MANY = 200
"""Examples a check looks at."""
INPUT_SHAPES = {
    "vectors": (3,),
    "images": (12, 16),
    "channels": (3, 12, 16),
    "sequences": (4, 3),
}
"""What a model is tried on, by what it reads."""


@dataclass(frozen=True)
class Check:
    """One promise, ready to be tried."""

    component: str
    name: str
    run: Callable[[], None]


def checks(names: Sequence[str] = ()) -> Iterator[Check]:
    """Every check of these components, or of everything in the catalog.

    A component is named as in the catalog (`tasks/corners`) or as `path/to/file.py:Class`.
    """
    wanted = names or [f"{kind}/{name}" for kind in catalog.KINDS for name in catalog.names(kind)]
    for identity in wanted:
        if ":" in identity:
            yield from _checks(identity, *_own(identity))
            continue
        kind, _, name = identity.partition("/")
        if kind not in catalog.KINDS:
            _suggest_kind(identity)
            catalog.resolve(identity)  # says what is legal
        yield from _checks(identity, kind, catalog.find(kind, name))


def _checks(identity: str, kind: str, found: Any) -> Iterator[Check]:
    for subject, label in _subjects(kind, found):
        for check in SUITE[kind]:
            promise = check.__name__.removeprefix("check_").replace("_", " ")
            yield Check(f"{identity}{label}", promise, partial(check, subject))


def _suggest_kind(name: str) -> None:
    """Refuse the name of a component without its kind, and say of which kind it is."""
    known = [f"{kind}/{name}" for kind in catalog.KINDS if name in catalog.names(kind)]
    if known:
        raise UsageError(
            f"unknown component '{name}'; perhaps you meant '{known[0]}' (legal: a kind and a "
            "name, as in 'recombine list')"
        )


def _own(text: str) -> tuple[str, Any]:
    """A component in a file, and its kind; it is put on its shelf for as long as we run."""
    found = load(text)
    if isinstance(found, Study):
        return "studies", found
    for kind, base in (("tasks", Task), ("models", Model), ("analyses", Analysis)):
        if isinstance(found, type) and issubclass(found, base):
            catalog.lend(kind, found)
            return kind, found
    raise UsageError(f"{text} is no task, model, analysis or study of recombine")


def _subjects(kind: str, found: Any) -> list[tuple[Any, str]]:
    """What the checks are tried on: each variant of a component, or the study itself."""
    if kind == "studies":
        return [(found, "")]
    variants = found.variants() if kind in ("tasks", "models") else (found(),)
    labels = [f" #{i}" for i in range(len(variants))] if len(variants) > 1 else [""]
    return list(zip(variants, labels, strict=True))


# Specs


def check_survives_the_round_trip(subject: spec.Spec) -> None:
    """Written as JSON and read again, a spec is equal and has the same key."""
    again = catalog.read(spec.encode(subject))
    assert again == subject, f"{subject} came back from JSON as {again}"
    assert spec.key_of(again) == spec.key_of(subject), "its key changed on the way"


# Tasks


def check_oracle_solves_every_split(task: Task) -> None:
    """The oracle answers from the inputs what the targets say from the factors."""
    for split in task.splits():
        examples = task.sample(split, MANY, stream(0, "check", split))
        right = (task.oracle(examples.inputs) == examples.targets).mean()
        assert right == 1.0, f"the oracle gets {right:.1%} of split {split}"


def check_train_and_test_are_disjoint(task: Task) -> None:
    """No combination is both trained on and held out."""
    splits = {name: set(map(tuple, z.tolist())) for name, z in task.splits().items()}
    assert "train" in splits, f"there is no split named train in {sorted(splits)}"
    assert len(splits) > 1, "there is nothing to test on"
    for name, held in splits.items():
        on_purpose = name == "train" or name in task.seen
        shared = set() if on_purpose else held & splits["train"]
        assert not shared, f"split {name} shares {sorted(shared)[:3]} with train"


def check_combinations_are_legal(task: Task) -> None:
    """Every combination of every split has a value of each factor."""
    for name, z in task.splits().items():
        assert z.shape[1] == len(task.factors), f"split {name} has {z.shape[1]} columns"
        assert (z >= 0).all(), f"split {name} has a value below 0"
        assert (z < np.asarray(task.sizes)).all(), f"split {name} has a value out of range"
        once = task.weighted or len(np.unique(z, axis=0)) == len(z)
        assert once, f"split {name} repeats a combination"


def check_targets_are_classes(task: Task) -> None:
    """Each output has a target among its classes, or one that is not scored."""
    targets = task.targets(task.combinations("all"))
    assert targets.shape[1] == len(task.outputs), f"{targets.shape[1]} targets"
    scored = targets[targets != IGNORE]
    assert (scored >= 0).all() and (scored < task.classes).all(), "a target is no class"


def check_rendering_is_deterministic(task: Task) -> None:
    """The same combination and noise give the same input, of the promised shape."""
    examples = task.sample("train", MANY, stream(0, "check"))
    again = task.render(examples.z, examples.noise)
    assert np.array_equal(again, examples.inputs), "rendered twice, the inputs differ"
    assert again.shape[1:] == task.input_shape, f"inputs are {again.shape[1:]}"


def check_resampling_changes_one_factor_only(task: Task) -> None:
    """Every example that can gets another value of a factor; nothing else about it moves."""
    examples = task.sample("all", MANY, stream(0, "check"))
    for j in range(len(task.factors)):
        moved = task.resample(examples, j, stream(1, "check", j))
        others = [i for i in range(len(task.factors)) if i != j]
        changed = moved.z[:, j] != examples.z[:, j]
        assert np.array_equal(changed, task.movable(examples.z, j)), f"factor {j} kept a value"
        assert changed.any(), f"factor {j} never moves"
        assert np.array_equal(moved.z[:, others], examples.z[:, others]), f"{j} moved another"
        assert np.array_equal(moved.noise[:, others], examples.noise[:, others]), "noise moved"
        outside = ~task.part(j)
        same = np.array_equal(moved.inputs[:, outside], examples.inputs[:, outside])
        assert same, f"moving factor {j} changed the input outside its part"


# Models


def _stack(model: Model, seeds: Sequence[int]) -> Any:
    # As it is measured: in training, a network may remember batches, or drop units at random.
    return model.stack(seeds, INPUT_SHAPES[model.reads], 2, 2).eval()


def _inputs(model: Model, lanes: int) -> torch.Tensor:
    """Seven inputs a lane: numbers of any shape, or sentences, some shorter than others."""
    rng = stream(0, "check")
    shape = INPUT_SHAPES[model.reads]
    if model.reads != "sequences":
        return torch.from_numpy(rng.standard_normal((lanes, 7, *shape)).astype(np.float32))
    time, words = shape
    rows = np.eye(words, dtype=np.float32)[rng.integers(words, size=(lanes, 7, time))]
    ends = rng.integers(2, time + 1, size=(lanes, 7, 1))
    ends[:, 0] = time  # a site at the last word is passed by some
    return torch.from_numpy(rows * (np.arange(time) < ends)[..., None])


def check_outputs_do_not_depend_on_the_stack(model: Model) -> None:
    """A seed gives the same bits alone and beside others."""
    together = _stack(model, range(5))(_inputs(model, 5))
    for lane in range(5):
        alone = _stack(model, [lane])(_inputs(model, 5)[lane : lane + 1])
        assert torch.equal(alone[0], together[lane]), f"seed {lane} differs alone"


def check_lanes_do_not_mix(model: Model) -> None:
    """The gradient of one lane's output is zero in every other lane's parameters."""
    stack = _stack(model, range(3))
    gradients = torch.autograd.grad(stack(_inputs(model, 3))[1].sum(), list(stack.parameters()))
    for gradient in gradients:
        assert not gradient[[0, 2]].any(), "a lane leaks into another"


def check_probabilities_are_a_distribution(model: Model) -> None:
    """Each output is read as numbers from 0 to 1 that sum to 1."""
    p = model.probabilities(_stack(model, range(3))(_inputs(model, 3)))
    assert p.shape == (3, 7, 2, 2), f"probabilities are {tuple(p.shape)}"
    assert bool((p >= 0).all()) and torch.allclose(p.sum(-1), torch.ones(3, 7, 2)), (
        "no distribution"
    )


def check_sites_can_be_read_and_replaced(model: Model) -> None:
    """A tap is called at every named site in order; what it returns is what goes on."""
    stack, seen = _stack(model, range(2)), []

    def read(site: str, value: torch.Tensor) -> torch.Tensor:
        seen.append(site)
        return value

    plain = stack(_inputs(model, 2))
    assert torch.equal(stack(_inputs(model, 2), read), plain), "reading changed the output"
    assert tuple(seen) == stack.sites, f"sites are {stack.sites}, but {seen} were passed"
    for site in stack.sites:
        alike = _family(site, stack.sites) if model.reads == "sequences" else {site}
        other = stack(_inputs(model, 2), lambda s, v, alike=alike: v + 1 if s in alike else v)
        assert not torch.equal(other, plain), f"replacing {site} changed nothing"


def _family(site: str, sites: Sequence[str]) -> set[str]:
    """The same place at this and every other time step (a forget gate has nothing to forget at
    the first)."""

    def place(name: str) -> list[str]:
        return [word for word in name.split(".") if not word.isdigit()]

    return {other for other in sites if place(other) == place(site)}


# Analyses


def _trial(analysis: Analysis) -> Trial:
    task, model = analysis.example()
    loss: Loss = "token-cross-entropy" if model.reads == "sequences" else "cross-entropy"
    recipe = Recipe(steps=5, evaluate_at=(0,), evaluation_examples=50, loss=loss)
    return Trial(task, model, recipe, (Probe(analysis, (0, 5)),))


def _same(a: Outcome, b: Outcome) -> bool:
    same = a.arrays.keys() == b.arrays.keys() and a.scalars.keys() == b.scalars.keys()
    return same and all(np.array_equal(a.arrays[k], b.arrays[k], equal_nan=True) for k in a.arrays)


def check_measurements_do_not_depend_on_the_stack(analysis: Analysis) -> None:
    """Trained and measured alone or beside others, a seed gives the same bits."""
    trial = _trial(analysis)
    together = trial.run(range(4), Context())
    alone = trial.run([2], Context())
    assert _same(together[2], alone[2]), "seed 2 differs when it runs alone"


# Studies


def check_every_claim_has_a_judge(study: Study) -> None:
    """The published claims and the judges are the same set; every part has claims."""
    for part in study.parts:
        claims = {claim.id for claim in study.claims_of(part)}
        assert claims == set(part.judges()), f"{part.name}: {claims ^ set(part.judges())} differ"
        assert claims, f"{part.name} has no claims"
    parts = {part.name for part in study.parts}
    assert {claim.part for claim in study.claims} <= parts, "a claim names no part"


def check_cells_survive_the_round_trip(study: Study) -> None:
    """Every cell at every scale and profile can be written, read and keyed."""
    for part in study.parts:
        for scale in part.seeds:
            for profile in part.profiles:
                for need in part.cells(scale=scale, profile=profile, seeds=3).values():
                    check_survives_the_round_trip(need.cell)


def check_claims_run_on_stored_results_alone(study: Study) -> None:
    """Run small, stored, and opened again, a study gives the same findings."""
    for part in study.parts:
        for profile in part.profiles:
            asked = requests(
                [f"{study.name}/{part.name}"], profile=profile, seeds=3, settings=part.smallest
            )
            with tempfile.TemporaryDirectory() as folder:
                with Store.open(folder) as store:
                    last = list(conduct(asked, store, workers=1))[-1]
                with Store.open(folder) as store:
                    again = answer(asked[0], store)
            assert isinstance(last, Found) and last.failed == 0, f"{part.name}: seeds failed"
            assert again.finding.plain() == last.finding.plain(), "stored results say otherwise"


SUITE: dict[str, tuple[Callable[[Any], None], ...]] = {
    "tasks": (
        check_survives_the_round_trip,
        check_oracle_solves_every_split,
        check_train_and_test_are_disjoint,
        check_combinations_are_legal,
        check_targets_are_classes,
        check_rendering_is_deterministic,
        check_resampling_changes_one_factor_only,
    ),
    "models": (
        check_survives_the_round_trip,
        check_outputs_do_not_depend_on_the_stack,
        check_lanes_do_not_mix,
        check_probabilities_are_a_distribution,
        check_sites_can_be_read_and_replaced,
    ),
    "analyses": (
        check_survives_the_round_trip,
        check_measurements_do_not_depend_on_the_stack,
    ),
    "studies": (
        check_every_claim_has_a_judge,
        check_cells_survive_the_round_trip,
        check_claims_run_on_stored_results_alone,
    ),
}
