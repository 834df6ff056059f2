"""What sums of conjunctions up to an order k can express, and what training then fixes.

Three questions for each k, about f(z) = b + Σ_{|J| ≤ k, z_J seen in training} v_J(z_J):

- *expressible*: can one such f be right on all of train ∪ test? (Classes: some score puts each
  row's class first. Numbers: exactly equal.) If not, no learner of that form can be.
- *fitted*: can f equal the training labels exactly (+1 and −1, one-hot, or the numbers)? Only then
  does the next question make sense.
- *fixed*: is f(z) at a test row the same for every f that fits training exactly? It is if and only
  if the row of z in Φ is in the span of the training rows. A fixed row is right or wrong whatever
  the learner; a row that is not fixed depends on the learner's preferences.

At k = C, the number of factors, each training combination has a conjunction of its own, so that
every training label can be fitted and nothing is fixed: see `learnable.py` for what can be said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

from recombine.auditing.combinations import Combinations
from recombine.auditing.conflict import Answer, Decision, decide
from recombine.auditing.conjunctions import Conjunctions
from recombine.auditing.span import EXACT, least_squares, matrices, outside, spanning

ROUGH = 3e-3
"""How far the gradient is taken down where only a share of variance is wanted of a large table: the
share is then right to about .0003."""


@dataclass(frozen=True)
class OrderRule:
    """Answers for one order; counts are held-out combinations."""

    order: int
    expressible: Answer
    fitted: bool
    explained: float
    """Share of the training rows' variance that the best such f explains."""
    right: int
    wrong: int
    free: int
    """Held-out combinations fixed by training and right, fixed and wrong, not fixed."""
    sampled: int | None
    """Combinations among which clashes were sought, if not all that could clash."""


def order_rule(
    combinations: Combinations,
    found: Conjunctions,
    order: int,
    *,
    classes: bool,
    known: bool,
    rng: np.random.Generator,
) -> OrderRule:
    """The three questions for one order below the number of factors.

    `known` says that sums of a lower order can express the labels: then so can these.
    """
    trained, held = combinations.trained, combinations.held_out
    ids = found.up_to(order)
    train, test = matrices(ids[trained], ids[held])
    wanted, names = _outputs(combinations.train.y[trained], classes=classes)
    weight = combinations.train.count[trained]
    centre = np.average(wanted, axis=0, weights=weight)
    some, free = spanning(train, rng)
    v = least_squares(train[some], wanted[some] - centre).v
    apart = wanted - centre - train @ v
    scale = float(np.abs(wanted - centre).max()) or 1.0
    fitted = bool(np.abs(apart).max() <= 10 * EXACT * scale)
    explained = 1.0 if fitted else _explained(train, wanted - centre, weight)
    counts = (0, 0, int(held.sum()))
    if fitted and held.any():
        loose = outside(test, free)
        right = _right(test @ v + centre, combinations.test.y[held], names, scale)
        counts = (int((right & ~loose).sum()), int((~right & ~loose).sum()), int(loose.sum()))
    answer: Answer
    sampled: int | None = None
    if known or (fitted and counts[0] == held.sum() and not _changed(combinations)):
        answer = "possible"
    elif not classes and (not fitted or counts[1]):
        answer = "impossible"
    else:
        decision = _expressible(combinations, found, order, classes=classes, rng=rng)
        answer, sampled = decision.answer, decision.sampled
    return OrderRule(order, answer, fitted, explained, *counts, sampled)


def _explained(
    phi: sparse.csr_matrix, wanted: Float[np.ndarray, "row output"], weight: np.ndarray
) -> float:
    """The share of the variance that Φ v explains, over rows: a combination may have several."""
    root = np.sqrt(weight.astype(float))[:, None]
    scaled = sparse.diags(root[:, 0]).tocsr() @ phi
    v = least_squares(scaled, root * wanted, tolerance=ROUGH).v
    spread = float(np.sum((root * wanted) ** 2))
    return 1 - float(np.sum((root * (wanted - phi @ v)) ** 2)) / spread


def _changed(combinations: Combinations) -> bool:
    """Whether some combination has another label in the test than in training."""
    both = combinations.trained & combinations.tested
    return bool((combinations.train.y[both] != combinations.test.y[both]).any())


def _expressible(
    combinations: Combinations,
    found: Conjunctions,
    order: int,
    *,
    classes: bool,
    rng: np.random.Generator,
) -> Decision:
    """Whether one sum can be right on train and test; where they contradict, on the test."""
    both = combinations.trained | combinations.tested
    y = np.where(combinations.tested, combinations.test.y, combinations.train.y)
    return decide(
        found.up_to(order)[both],
        y[both],
        combinations.z[both],
        [subset for subset in found.subsets if len(subset) <= order],
        classes=classes,
        weight=(combinations.train.count + combinations.test.count)[both],
        rng=rng,
        witnesses=1,
    )


def _outputs(
    y: Shaped[np.ndarray, " row"], *, classes: bool
) -> tuple[Shaped[np.ndarray, "row output"], Shaped[np.ndarray, " class"]]:
    """Labels to be fitted: one column of numbers, of ±1 for two classes, or one a class."""
    if not classes:
        return y[:, None].astype(float), y[:0]
    names, code = np.unique(y, return_inverse=True)
    code = code.reshape(-1)
    if len(names) <= 2:
        return (2.0 * code - 1)[:, None], names
    return np.eye(len(names))[code], names


def _right(
    scores: np.ndarray, truth: np.ndarray, names: np.ndarray, scale: float
) -> Bool[np.ndarray, " row"]:
    """Whether fixed values are the labels: equal numbers, or the class of the highest score."""
    if not len(names):
        return np.asarray(np.abs(scores[:, 0] - truth) <= 1e-5 * scale)
    if len(names) <= 2:
        guess = names[np.where(scores[:, 0] > EXACT, len(names) - 1, 0)]
        return np.asarray((guess == truth) & (np.abs(scores[:, 0]) > EXACT))
    top = np.sort(scores, axis=1)
    return np.asarray((names[scores.argmax(axis=1)] == truth) & (top[:, -1] - top[:, -2] > EXACT))
