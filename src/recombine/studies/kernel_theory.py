"""Part `kernel/theory`: every closed form against exact fits, wide random nets, and the
diagrams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies import kernel_theory_figures as drawn
from recombine.studies.figure import Figure
from recombine.studies.kernel_cells import Dispersed, Forms, WideNets
from recombine.studies.results import Results
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table, Value
from recombine.theory.leak import slope
from recombine.theory.network_kernels import network_salience

EXACT = -6.0
"""A form and a fit whose difference has a smaller log10 are the same (K1, K2, K3, K3b, K5b)."""
LEAST = 1e-17
"""Differences below this are counted as this."""
WIDE = 0.01
"""A random layer of 20,000 units has the salience of theory within this (claim K4)."""
PRINTED_RELU = {
    (2, 1): (0.4264, 0.1472),
    (2, 3): (0.3373, 0.3253),
    (2, 10): (0.2033, 0.5935),
    (2, 100): (0.0362, 0.9276),
    (3, 1): (0.2707, 0.0559, 0.0203),
    (3, 3): (0.2035, 0.0942, 0.1068),
    (3, 10): (0.1149, 0.0999, 0.3555),
    (3, 20): (0.0727, 0.0796, 0.5430),
}
"""Saliences of a random ReLU net by factors and depth, as the authors' recursion gives them."""


@dataclass(frozen=True)
class TheoryPart(Part):
    """No training: what kernel models do, exactly."""

    name: ClassVar[str] = "theory"
    title: ClassVar[str] = "What a kernel model can and cannot do"
    profiles: ClassVar[tuple[str, ...]] = ("as-printed",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 40, "paper": 200}
    smallest: ClassVar[tuple[str, ...]] = ("width=2000",)

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        return {
            "forms": Need(Forms(), range(seeds)),
            "wide": Need(WideNets(), range(min(seeds, 5 if scale == "quick" else 20))),
            "dispersed": Need(Dispersed(), range(min(seeds, 20 if scale == "quick" else 50))),
        }

    def judges(self) -> Mapping[str, Judge]:
        return {
            "K1": adds_up,
            "K2": leaks,
            "K3": takes_shortcuts,
            "K3b": all_or_nothing,
            "K4": has_salience,
            "K5a": orders,
            "K5b": cannot_transfer,
            "I1": dispersed_shrinks,
        }

    def tables(self, results: Results) -> tuple[Table, ...]:
        return forms_table(results), salience_table(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (
            drawn.salience_over_depth(),
            drawn.leak_over_salience(),
            drawn.phase_diagram(),
            drawn.ordering(),
            drawn.dispersed(results),
        )


def _exact(results: Results, name: str, level: float) -> Verdict:
    return _small(results["forms"].scalar(name), level)


def _small(gaps: np.ndarray, level: float) -> Verdict:
    """Whether differences, on average over draws, have a log10 below the line."""
    return stats.below(stats.mean(np.log10(np.maximum(gaps, LEAST)), level=level), EXACT)


def adds_up(results: Results, level: float) -> Verdict:
    """K1: conjunction-wise additivity."""
    return _exact(results, "theorem", level)


def leaks(results: Results, level: float) -> Verdict:
    """K2: the memorization leak's slopes and constant."""
    return _exact(results, "leak", level)


def takes_shortcuts(results: Results, level: float) -> Verdict:
    """K3: margins of context dependence, regression and largest margin."""
    cell = results["forms"]
    worst = np.maximum(cell.scalar("shortcut/regression"), cell.scalar("shortcut/svm"))
    return _small(worst, level)


def all_or_nothing(results: Results, level: float) -> Verdict:
    """K3b: all held-out cells share one margin."""
    return _exact(results, "shortcut/spread", level)


def has_salience(results: Results, level: float) -> Verdict:
    """K4: wide random ReLU layers."""
    return stats.below(stats.mean(results["wide"].scalar("relu"), level=level), WIDE)


def orders(results: Results, level: float) -> Verdict:
    """K5a: every held-out pair is put in order."""
    right = results["forms"].scalar("ordering/accuracy") == 1
    return stats.above(stats.share(int(right.sum()), len(right), level=level), 0.8)


def cannot_transfer(results: Results, level: float) -> Verdict:
    """K5b: the answer to every held-out pair of two classes is 0."""
    return _exact(results, "equivalence/output", level)


def dispersed_shrinks(results: Results, level: float) -> Verdict:
    """I1: the error falls with salience: higher at S = .1 than at .4 on the same pairs."""
    cell = results["dispersed"]
    error, at = cell.array("error"), list(Dispersed().saliences)
    low, high = error[:, at.index(0.1)], error[:, at.index(0.4)]
    return stats.greater(stats.paired(low, high, level=level))


def forms_table(results: Results) -> Table:
    """How far each closed form is from an exact fit, at the worst draw."""
    cell = results["forms"]
    words = {
        "theorem": "additivity: residual on held-out combinations (K1)",
        "leak": "memorization leak: slopes and constant (K2)",
        "shortcut/regression": "context dependence, regression: margin (K3)",
        "shortcut/svm": "context dependence, largest margin (K3)",
        "shortcut/spread": "… spread of the margins of held-out cells",
        "ordering": "ordering: answers (K5)",
        "equivalence": "equivalence: answers (K5)",
    }
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (text, f"{cell.scalar(name).mean():.1e}", f"{cell.scalar(name).max():.1e}")
        for name, text in words.items()
    )
    return Table(
        id="forms",
        title="Closed forms against exact fits",
        columns=("what", "mean difference", "largest"),
        rows=rows,
        where="Theorem 4.2, Proposition 5.1; the forms for context dependence are derived here",
        note=f"{cell.n} draws of saliences, trained sets, values, penalties and numbers of items.",
    )


def salience_table(results: Results) -> Table:
    """Salience over depth: as printed, as computed, as measured on random nets."""
    rows: list[tuple[Value, ...]] = []
    for (factors, depth), printed in PRINTED_RELU.items():
        ours = network_salience(factors, depth=depth)
        leak = slope(1, float(ours[0])) if factors == 2 else None
        layers = "1 layer" if depth == 1 else f"{depth} layers"
        rows.append(
            (
                f"{factors} factors, {layers}",
                ", ".join(f"{s:.4f}" for s in printed),
                ", ".join(f"{s:.4f}" for s in ours),
                leak,
            )
        )
    wide = results["wide"]
    worst = max(float(np.abs(wide.array(f"relu/{f}")).max()) for f in (2, 3))
    return Table(
        id="salience",
        title="Salience S(1;C), S(2;C), … of a random ReLU network",
        columns=("network", "the authors' recursion", "ours", "leak slope, p = 1"),
        rows=tuple(rows),
        where="Figure: salience over depth",
        note="The paper draws saliences over depth and prints none: the second column is the "
        "recursion of its code, worked out apart from ours. Random layers of 20,000 units "
        f"({wide.n} seeds) deviate by at most {worst:.4f} at one layer.",
    )
