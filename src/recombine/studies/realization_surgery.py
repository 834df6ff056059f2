"""Part `realization/surgery`: exchanged components (Table 4) and pruned neurons (section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from recombine import stats
from recombine.cell import Cell
from recombine.stats import Verdict
from recombine.studies import realization_surgery_shown as shown
from recombine.studies.figure import Figure
from recombine.studies.realization_reading import all_of, interval
from recombine.studies.realization_surgery_cells import Graft, Pruning, Surgery
from recombine.studies.realization_trained import (
    CHOSEN,
    EPOCH,
    KINDS,
    OTHER,
    PROFILES,
    network,
    smallest,
)
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part, Runs
from recombine.studies.table import Table
from recombine.training.recipe import Recipe
from recombine.training.trial import Trial

GRAFTS: Mapping[str, tuple[Graft, ...]] = {
    "guided": (
        Graft("encoder", ("encoder.*",)),
        Graft("encoder embedding", ("encoder.embedding",)),
        Graft("encoder W_ih", ("encoder.cells.0.input", "encoder.cells.0.input_bias")),
        Graft("encoder W_hh", ("encoder.cells.0.hidden", "encoder.cells.0.hidden_bias")),
        Graft("decoder", ("decoder.*",)),
        Graft("decoder embedding", ("decoder.embedding",)),
        Graft("decoder W_ih", ("decoder.cell.input", "decoder.cell.input_bias")),
        Graft("decoder W_hh", ("decoder.cell.hidden", "decoder.cell.hidden_bias")),
    ),
    "baseline": (Graft("encoder", ("encoder.*",)), Graft("decoder", ("decoder.*",))),
}
"""What each kind of network gets from the other; a cell's weights go with its biases.

What more epochs do to a network by themselves is seen in part `accuracy`: training went on after
the epoch that was chosen.
"""
EPOCHS = {"quick": (3, 3), "paper": (100, 20)}
"""Of retraining after an exchange, and after pruning."""
KEEP = 0.05
"""Share of the units that pruning keeps."""
LOST, SPARED, RESCUED, RESTORED = 0.5, 0.15, 0.25, 0.1
"""The lines of claims C5 to C7, as their rules state them."""


@dataclass(frozen=True)
class SurgeryPart(Part):
    """Exchange components between kinds of networks, and prune guided ones."""

    name: ClassVar[str] = "surgery"
    title: ClassVar[str] = "Exchanged components and pruned neurons"
    profiles: ClassVar[tuple[str, ...]] = PROFILES
    seeds: ClassVar[Mapping[str, int]] = {"quick": 3, "paper": 3}
    runs: ClassVar[Runs] = "with its study"
    smallest: ClassVar[tuple[str, ...]] = (
        *smallest("", "host."), "donor.steps=10", "retrain.steps=10",
    )  # fmt: skip

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        hosts = {kind: network(kind, scale=scale, profile=profile) for kind in KINDS}
        needs = {f"{kind} network": Need(host, range(seeds)) for kind, host in hosts.items()}
        for kind, host in hosts.items():
            retrain, donor = retraining(host, EPOCHS[scale][0]), hosts[OTHER[kind]].recipe
            # At paper scale a row is a job of its own: a network fills a core by itself.
            for name, some in shown.together(scale, kind, GRAFTS[kind]).items():
                cell = Surgery(host, donor, some, retrain, CHOSEN[profile])
                needs[name] = Need(cell, range(seeds))
        retrain = retraining(hosts["guided"], EPOCHS[scale][1])
        pruning = Pruning(hosts["guided"], retrain, KEEP, CHOSEN[profile])
        return {**needs, "pruning": Need(pruning, range(seeds))}

    def judges(self) -> Mapping[str, Judge]:
        return {
            "C5": whole_parts_matter,
            "C5-embedding": embedding_does_not_matter,
            "C6": nothing_rescues,
            "C7": pruning_collapses,
            "C7-restored": retraining_restores,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return shown.tables(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return shown.figures(results)


def retraining(host: Trial, epochs: int) -> Recipe:
    """The host's own recipe for so many epochs, measured after each."""
    steps = epochs * EPOCH
    return replace(host.recipe, steps=steps, evaluate_at=tuple(range(0, steps + 1, EPOCH)), keep=())


def _new(results: Results, kind: str, label: str) -> tuple[Float[np.ndarray, " seed"], np.ndarray]:
    """NC of a row after retraining, and of the host alone, for the seeds that both have."""
    row, alone = shown.with_alone(results, kind, label)
    return row.scalar(f"{label}/{CHOSEN[results.profile]}/{shown.NEW}"), alone


def whole_parts_matter(results: Results, level: float) -> Verdict:
    """C5: half of what guided networks know alone, minus what is left with a foreign part."""
    verdicts = []
    for label in ("encoder", "decoder"):
        left, alone = _new(results, "guided", label)
        verdicts.append((label, stats.above(interval(LOST * alone - left, level), 0.0)))
    return all_of(verdicts)


def embedding_does_not_matter(results: Results, level: float) -> Verdict:
    """C5: with a foreign encoder embedding NC is what it is alone."""
    left, alone = _new(results, "guided", "encoder embedding")
    return _worth(alone, stats.equal_within(interval(left - alone, level), 0.0, SPARED))


def _worth(alone: Float[np.ndarray, " seed"], verdict: Verdict) -> Verdict:
    """Where networks know next to nothing, that they lose nothing says nothing."""
    if float(np.mean(alone)) >= RESCUED:
        return verdict
    reason = f"{verdict.reason} But the networks' NC alone is only {np.mean(alone):.2f}."
    return replace(verdict, outcome="inconclusive", reason=reason)


def nothing_rescues(results: Results, level: float) -> Verdict:
    """C6: NC of baselines with a guided part."""
    verdicts = []
    for label in ("encoder", "decoder"):
        cell = results[shown.place(results, "baseline", label)]
        found = interval(cell.scalar(f"{label}/{CHOSEN[results.profile]}/new_compositions"), level)
        verdicts.append((label, stats.below(found, RESCUED)))
    ran = results.specs.get(shown.place(results, "baseline", "decoder"))
    return _retrained(ran, EPOCHS["paper"][0], all_of(verdicts))


def pruning_collapses(results: Results, level: float) -> Verdict:
    """C7: half of what the whole network knows, minus what is left of it before retraining."""
    cell = results["pruning"]
    whole, left = (cell.scalar(f"{when}/new_compositions") for when in ("whole", "first"))
    return stats.above(interval(LOST * whole - left, level), 0.0)


def retraining_restores(results: Results, level: float) -> Verdict:
    """C7: what the pruned network knows after retraining, minus the whole one."""
    cell = results["pruning"]
    rules = ("whole", CHOSEN[results.profile])
    whole, after = (cell.scalar(f"{when}/new_compositions") for when in rules)
    verdict = _worth(whole, stats.above(interval(after - whole, level), -RESTORED))
    return _retrained(results.specs.get("pruning"), EPOCHS["paper"][1], verdict)


def _retrained(ran: Cell | None, epochs: int, verdict: Verdict) -> Verdict:
    """What fewer epochs than the paper's do not do, they do not show to be impossible either."""
    steps = ran.retrain.steps if isinstance(ran, Surgery | Pruning) else epochs * EPOCH
    if steps >= epochs * EPOCH:
        return verdict
    short = f" But the rest was trained on for {steps / EPOCH:.2g} epochs, not for {epochs}."
    return replace(verdict, outcome="inconclusive", reason=verdict.reason + short)
