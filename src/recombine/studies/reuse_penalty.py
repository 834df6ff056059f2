"""Part `reuse/penalty`: is what training makes least what the formulas say, constants included?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recombine import stats
from recombine.stats import Verdict
from recombine.studies.figure import Axis, Colour, Figure, Line, Mark, Panel, Points, Rule
from recombine.studies.results import Results
from recombine.studies.reuse_forms import FORMS, GroupNorms, PenaltyForms
from recombine.studies.study import Judge, Need, Part
from recombine.studies.table import Table, Value
from recombine.theory import finetuning, multitask
from recombine.theory.relu_unit import unit_cost

CLOSE = 0.01
"""The line of K1, K2, G1 and G2, as their rules state it."""
RATIOS = (1e-6, 1e-3, 0.1, 1.0, 100.0)
FORM_NAMES = {
    "exact": "exact, for the weights as they are",
    "small": "exact but for the start (A = |β_aux| + 2γ²)",
    "printed": "as printed",
    "script": "as in the experiment script",
}


@dataclass(frozen=True)
class PenaltyPart(Part):
    """Theory against gradient descent on problems small enough to be sure."""

    name: ClassVar[str] = "penalty"
    title: ClassVar[str] = "What gradient descent makes least"
    profiles: ClassVar[tuple[str, ...]] = ("as-run",)
    seeds: ClassVar[Mapping[str, int]] = {"quick": 10, "paper": 50}
    smallest: ClassVar[tuple[str, ...]] = ("steps=400",)

    def cells(self, *, scale: str, profile: str, seeds: int) -> Mapping[str, Need]:
        return {
            "forms": Need(PenaltyForms(), range(seeds)),
            "groups": Need(GroupNorms(), range(seeds)),
        }

    def judges(self) -> Mapping[str, Judge]:
        return {"K1": exact_form, "K2": printed_form, "G1": with_decay, "G2": without_decay}

    def tables(self, results: Results) -> tuple[Table, ...]:
        return forms_table(results), orders_table(), groups_table(results)

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return forms_figure(results), orders_figure(), groups_figure(results)


def _forms(results: Results) -> PenaltyForms:
    """What `forms` was, with whatever `--set` changed in it."""
    cell = results.specs["forms"]
    assert isinstance(cell, PenaltyForms), cell
    return cell


def _groups(results: Results) -> GroupNorms:
    """The same for `groups`."""
    cell = results.specs["groups"]
    assert isinstance(cell, GroupNorms), cell
    return cell


def _gap(results: Results, form: str) -> np.ndarray:
    cell = results["forms"]
    return np.asarray(cell.scalar(f"gap/{form}") / cell.scalar("largest"))


def exact_form(results: Results, level: float) -> Verdict:
    """K1: the exact form predicts where finetuning ends."""
    return stats.below(stats.mean(_gap(results, "exact"), level=level), CLOSE)


def printed_form(results: Results, level: float) -> Verdict:
    """K2: so does the printed one."""
    return stats.below(stats.mean(_gap(results, "printed"), level=level), CLOSE)


def with_decay(results: Results, level: float) -> Verdict:
    """G1: with weight decay the l₁,₂ norm is the least."""
    excess = results["groups"].scalar("excess/decayed")
    return stats.below(stats.mean(excess, level=level), CLOSE)


def without_decay(results: Results, level: float) -> Verdict:
    """G2: so it is without, from the smallest weights."""
    excess = results["groups"].array("excess/plain")[:, -1]
    return stats.below(stats.mean(excess, level=level), CLOSE)


def forms_table(results: Results) -> Table:
    """How far each form is from the trained net."""
    ran = _forms(results)
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (FORM_NAMES[form], stats.mean(results["forms"].scalar(f"gap/{form}")),
         stats.mean(_gap(results, form)))
        for form in FORMS
    )  # fmt: skip
    return Table(
        id="forms",
        title="Finetuning a diagonal net: the end of descent and four predictions of it",
        columns=("form of the penalty", "largest gap", "relative to the largest coefficient"),
        rows=rows,
        where="Theory: implicit regulariser of finetuning",
        note=f"{ran.dimension} inputs, {ran.samples} examples, dense teachers, γ = {ran.gamma:g}; "
        "mean over seeds.",
    )


def orders_table() -> Table:
    """Order and feature dependence, and that they sum to 1."""
    rows: list[tuple[Value, ...]] = []
    for ratio in RATIOS:
        order = float(finetuning.order(1.0, ratio))
        fd = float(finetuning.feature_dependence(1.0, ratio))
        both = float(multitask.marginal_order(1.0, ratio))
        rows.append((f"{ratio:g}", order, fd, order + fd, both, 1 - both))
    return Table(
        id="orders",
        title="Order and feature dependence: the conservation law",
        columns=("|β_aux|/|β|", "PT+FT order", "PT+FT FD", "their sum", "MTL order", "MTL FD"),
        rows=tuple(rows),
        where="Theory: order and feature dependence",
        note="γ = 0. Order 1 is sparse, 2 is ridge; a negative FD makes known features cheaper.",
    )


def groups_table(results: Results) -> Table:
    """The excess of the group norm."""
    cell, ran = results["groups"], _groups(results)
    rows: list[tuple[Value, ...]] = [
        (f"weight decay {ran.decay:g}", stats.mean(cell.scalar("excess/decayed")))
    ]
    excess = cell.array("excess/plain")
    for i, scale in enumerate(ran.scales):
        rows.append((f"plain descent from weights of {scale:g}", stats.mean(excess[:, i])))
    return Table(
        id="groups",
        title="Two tasks at once: the l1,2 norm over the least possible, minus 1",
        columns=("training", "excess"),
        rows=tuple(rows),
        where="Theory: multi-task penalty",
        note=f"Two dense tasks of {ran.dimension} inputs and {ran.samples} examples. With decay, "
        "against the optimum of the decayed problem.",
    )


def forms_figure(results: Results) -> Figure:
    """Trained coefficients against predicted ones."""
    trained = results["forms"].array("beta/trained")
    reach = 1.05 * float(np.abs(trained).max())
    panels = []
    for form, title in (("exact", "exact"), ("printed", "as printed"), ("script", "script")):
        predicted = results["forms"].array(f"beta/{form}")
        ends = np.array([-reach, reach])
        marks: tuple[Mark, ...] = (
            Line(ends, ends, label="equal", colour="muted", dashed=True),
            Points(predicted.ravel(), trained.ravel(), "a coefficient"),
        )
        axis = Axis("predicted β", limits=(-reach, reach))
        panels.append(
            Panel(axis, Axis("trained β", limits=(-reach, reach)), marks, title, square=True)
        )
    return Figure(
        id="forms",
        title="Where finetuning ends, and where three forms of the penalty say it does",
        caption="Every coefficient of every seed. The printed form has the right shape and a scale "
        "that is off by 2; the script's is off by 4.",
        where="Theory: implicit regulariser of finetuning",
        panels=tuple(panels),
        columns=3,
    )


def orders_figure() -> Figure:
    """Order and feature dependence of the three penalties."""
    ratio = np.logspace(-6, 2, 161)
    one = np.ones_like(ratio)
    near = [unit_cost(1.0, float(r), cosine=0.9) for r in ratio]
    lines: tuple[tuple[str, Colour, np.ndarray, np.ndarray], ...] = (
        ("finetuning", "first", finetuning.order(one, ratio),
         finetuning.feature_dependence(one, ratio)),
        ("finetuning, γ = 0.01", "third",
         finetuning.order(one, finetuning.pretrained_scale(ratio, gamma=0.01)),
         finetuning.feature_dependence(one, ratio, gamma=0.01)),
        ("multi-task", "second", multitask.marginal_order(one, ratio),
         multitask.marginal_dependence(one, ratio)),
        ("ReLU unit at cosine .9", "fourth", np.array([u.order for u in near]),
         np.array([u.feature_dependence for u in near])),
    )  # fmt: skip
    across = Axis("|β_aux| / |β|", scale="log", ticks=(1e-6, 1e-4, 1e-2, 1.0, 100.0))
    order = tuple(Line(ratio, y, label=name, colour=colour) for name, colour, y, _ in lines)
    fd = tuple(Line(ratio, y, label=name, colour=colour) for name, colour, _, y in lines)
    band: tuple[Mark, ...] = (Rule(-0.05, "y", ""), Rule(-0.3, "y", "nested"))
    return Figure(
        id="orders",
        title="How sparse, and how much in favour of known features",
        caption="Left: order of the penalty (1 sparse, 2 ridge). Right: feature dependence. For "
        "γ = 0 they sum to 1. Between the dashed lines features are selected sparsely and known "
        "ones preferred: finetuning stays there for seven powers of ten, multi-task learning for "
        "less than one. A ReLU unit at cosine .9 gains from a feature of about its own strength.",
        where="Theory: order and feature dependence",
        panels=(
            Panel(across, Axis("order", limits=(0.0, 2.1)), order, "order"),
            Panel(across, Axis("feature dependence", limits=(-1.1, 1.05)), (*fd, *band),
                  "feature dependence"),
        ),
        columns=2,
    )  # fmt: skip


def groups_figure(results: Results) -> Figure:
    """The excess of the group norm over the initial scale."""
    cell = results["groups"]
    excess = cell.array("excess/plain")
    spans = [stats.mean(excess[:, i]) for i in range(excess.shape[1])]
    line = Line.through(_groups(results).scales, spans, "plain descent", "second")
    decayed = float(cell.scalar("excess/decayed").mean())
    marks: tuple[Mark, ...] = (line, Rule(decayed, "y", "weight decay"))
    # one seed has no interval
    most = 1.2 * float(np.nanmax([[span.estimate, span.high] for span in spans]))
    return Figure(
        id="groups",
        title="Multi-task learning and the least l1,2 norm",
        caption="Excess of the l1,2 norm over the least possible, mean over seeds with 95% "
        "intervals, against the initial weights. It does not vanish as they become small.",
        where="Theory: multi-task penalty",
        panels=(
            Panel(
                Axis("initial weights", scale="log"),
                Axis("excess of the l1,2 norm", limits=(min(0.0, decayed) - 0.01, max(most, 0.01))),
                marks,
            ),
        ),
        columns=2,
    )
