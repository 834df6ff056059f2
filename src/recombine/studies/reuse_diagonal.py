"""Part `reuse/diagonal`: sparse teachers and diagonal linear nets, solved and trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import recombine.studies.reuse_diagonal_shown as shown
from recombine import stats
from recombine.stats import Verdict
from recombine.studies.figure import Figure
from recombine.studies.results import Results
from recombine.studies.reuse_judging import all_of, at_size, log_ratio
from recombine.studies.reuse_sparse import SIZES, DescentReuse, ExactReuse
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table

RESCALINGS = (1.0, 0.1, 0.01, 0.001)
FEW, MIDDLE, MANY, MORE = 1, 2, 3, 4
"""Positions among the sizes: n = 32, 64, 128, 256 of 40 active features, or 6, 12, 24, 48 of 8."""


@dataclass(frozen=True)
class DiagonalPart(Part):
    """The paper's linear experiments."""

    name: ClassVar[str] = "diagonal"
    title: ClassVar[str] = "Diagonal linear nets and sparse teachers"
    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 6, "paper": 6}
    smallest: ClassVar[tuple[str, ...]] = (
        "dimension=90", "aux_samples=90", "samples=4,6,8,12,16,20", "tolerance=0.3",
    )  # fmt: skip

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        exact = {f"overlap-{k}": ExactReuse(overlap=k) for k in (0, 20, 40)}
        exact["few-shared"] = ExactReuse(main_active=5, overlap=5)
        exact["few-new"] = ExactReuse(main_active=5, overlap=0)
        if scale == "paper":
            exact["overlap-30"] = ExactReuse(overlap=30)
            for a in (10, 20, 30):
                exact[f"{a}-shared"] = ExactReuse(main_active=a, overlap=a)
                exact[f"{a}-new"] = ExactReuse(main_active=a, overlap=0)
        sizes = SIZES if scale == "paper" else SIZES[: MORE + 1]
        exact = {
            name: replace(cell, rescalings=RESCALINGS, samples=sizes)
            for name, cell in exact.items()
        }
        needs = {name: Need(cell, range(seeds)) for name, cell in exact.items()}
        for name, cell in self._descents(scale).items():
            # two features of eight, six examples: seeds differ by powers of ten
            more = max(seeds, 12) if (scale, name) == ("quick", "few-shared") else seeds
            needs[f"trained-{name}"] = Need(cell, range(more))
            needs[f"solved-{name}"] = Need(_solved(cell), range(more))
        return needs

    def _descents(self, scale: str) -> Mapping[str, DescentReuse]:
        """All shared, none shared, few and shared, few and new."""
        if scale == "paper":
            whole, few = DescentReuse(rescalings=(1.0, 0.1)), 5
        else:
            whole, few = (
                DescentReuse(
                    dimension=100, active=8, main_active=8, overlap=8, aux_samples=128,
                    samples=(3, 6, 12, 24, 48), rescalings=(1.0, 0.1), steps=6_000,
                ),
                2,
            )  # fmt: skip
        return {
            "shared": whole,
            "new": replace(whole, overlap=0),
            "few-shared": replace(whole, main_active=few, overlap=few),
            "few-new": replace(whole, main_active=few, overlap=0),
        }

    def judges(self) -> Mapping[str, Judge]:
        return {
            "R1": both_reuse,
            "R2": both_are_sparse,
            "R3": alone_is_best,
            "R4": nested,
            "R5": rescaling_elicits,
            "R6": rescaling_unharms,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return shown.overlap_table(results), shown.rescaling_table(results), shown.trained(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (
            shown.overlap_figure(results, self._sizes(results, "overlap-0")),
            shown.rescaling_figure(results, self._sizes(results, "overlap-0")),
            shown.trained_figure(results, self._sizes(results, "trained-shared")),
        )

    def _sizes(self, results: Results, cell: str) -> tuple[int, ...]:
        return tuple(int(n) for n in results[cell].array("samples")[0])


def _solved(cell: DescentReuse) -> ExactReuse:
    """The exact counterpart of a training."""
    return ExactReuse(
        dimension=cell.dimension,
        active=cell.active,
        main_active=cell.main_active,
        overlap=cell.overlap,
        aux_samples=cell.aux_samples,
        samples=cell.samples,
        gamma=cell.gamma,
        rescalings=cell.rescalings,
    )


def both_reuse(results: Results, level: float) -> Verdict:
    """R1: with all features shared, both beat learning alone."""
    cell = results["trained-shared"]
    alone = at_size(cell, "stl", MANY)
    ratios = {m: log_ratio(alone, at_size(cell, m, MANY), level=level) for m in ("mtl", "ptft")}
    return all_of([(f"STL over {m.upper()}", stats.above(r, 0.0)) for m, r in ratios.items()])


def both_are_sparse(results: Results, level: float) -> Verdict:
    """R2: fewer new features take fewer samples."""
    verdicts = []
    for method in ("mtl", "ptft"):
        many = at_size(results["trained-new"], method, MANY)
        few = at_size(results["trained-few-new"], method, MANY)
        ratio = stats.above(log_ratio(many, few, level=level), 0.0)
        verdicts.append((f"{method.upper()}, many features over few", ratio))
    return all_of(verdicts)


def alone_is_best(results: Results, level: float) -> Verdict:
    """R3: with nothing shared, the other task costs."""
    cell = results["trained-new"]
    alone = at_size(cell, "stl", MORE)
    ratios = {m: log_ratio(at_size(cell, m, MORE), alone, level=level) for m in ("mtl", "ptft")}
    return all_of([(f"{m.upper()} over STL", stats.above(r, 0.0)) for m, r in ratios.items()])


def nested(results: Results, level: float) -> Verdict:
    """R4: of a sparse subset, rescaled finetuning needs fewer samples than the others."""
    cell = results["trained-few-shared"]
    tuned = at_size(cell, "ptft", FEW, rescaling=1)
    ratios = {m: log_ratio(at_size(cell, m, FEW), tuned, level=level) for m in ("mtl", "stl")}
    return all_of([(f"{m.upper()} over PT+FT", stats.above(r, 0.0)) for m, r in ratios.items()])


def rescaling_elicits(results: Results, level: float) -> Verdict:
    """R5: c = 0.1 helps a sparse subset and hurts a dense one."""
    sparse, dense = results["few-shared"], results["overlap-40"]
    helps, hurts = (
        log_ratio(
            at_size(cell, "ptft", FEW, rescaling=first),
            at_size(cell, "ptft", FEW, rescaling=1 - first),
            level=level,
        )
        for cell, first in ((sparse, 0), (dense, 1))
    )
    return all_of([
        ("5 features, c = 1 over c = 0.1", stats.above(helps, 0.0)),
        ("40 features, c = 0.1 over c = 1", stats.above(hurts, 0.0)),
    ])  # fmt: skip


def rescaling_unharms(results: Results, level: float) -> Verdict:
    """R6: c = 0.01 takes the harm of irrelevant pretraining away."""
    cell = results["few-new"]
    full, small = (at_size(cell, "ptft", MIDDLE, rescaling=i) for i in (0, 2))
    return stats.above(log_ratio(full, small, level=level), 0.0)
