"""Diagnostic classifiers: what can be read off linearly, and how few units carry it.

A multinomial logistic regression predicts a label (the word being read, the time step) from the
activations of a layer. Its *functional group* is found by ranking units by weight, then refitting
on the first, the first two, the first three … until 95% of the full accuracy is reached.

Two variants. **honest**, the default:

- *No state is in both training and test data.* A recurrent state is a function of the prefix that
  led to it; the state after `010 t1` is the same in all nine sequences that start so. Each prefix
  is taken once, and prefixes are dealt out to folds, class by class.
- *Units are ranked over all classes*, by the length of their weights, on standardised activations
  (the weight of a unit that hardly moves is large for no reason), in each fold from its training
  part alone, and under a strong penalty: as C → 0 the weights of a unit tend to C times its mean in
  each class, that is, to what it tells by itself. Under a weak one they spread over all units that
  help to widen a margin that is wide enough already.
- *The penalty is chosen by likelihood on the next fold*, anew whenever the number of units has
  doubled. None at all is ill posed: with more units than states any labels can be separated, the
  weights grow without bound and mean nothing; and one penalty for all sizes would cripple the
  small probes.
- *Balanced accuracy*: the mean over classes of the share that is right, so that chance is 1 / c.
- *A control task* (Hewitt & Liang 2019): each type of input gets a random class. What a probe
  learns of that it has memorised; accuracy minus control accuracy is its *selectivity*.

**as-run**, to compare: what the code behind the paper did. Every row of every sequence, copies
included, split 9 : 1 at random, twice; L2 penalty with C = 1; units ranked by the weights of the
*first class* alone, averaged over the splits; plain accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from recombine.analyses.analysis import ANALYSIS_SEED
from recombine.seeds import stream

Variant = Literal["honest", "as-run"]
ENOUGH = 0.95
"""A group is complete at this share of the accuracy with all units."""
PENALTIES = (0.01, 1.0, 100.0)
"""C of scikit-learn: the inverse of the penalty's weight."""
RANKING = 0.01
"""C of the fit that ranks units."""
SPLITS_AS_RUN, HELD_OUT_AS_RUN = 2, 0.1
SLACK = 1e-12
"""An accuracy that differs from the target by rounding has reached it."""


@dataclass(frozen=True)
class Samples:
    """What a probe is trained and tested on."""

    activations: Float[np.ndarray, "n unit"]
    labels: Int[np.ndarray, " n"]
    """Classes, from 0 up."""
    prefixes: Int[np.ndarray, " n"]
    """Samples with the same number are copies: the same prefix led to them."""
    types: Int[np.ndarray, " n"] | None = None
    """What the control task gives labels to; none: there is no control task."""

    def once(self) -> Samples:
        """Each prefix once."""
        _, first = np.unique(self.prefixes, return_index=True)
        types = None if self.types is None else self.types[first]
        return Samples(self.activations[first], self.labels[first], self.prefixes[first], types)

    def relabelled(self, labels: Int[np.ndarray, " n"]) -> Samples:
        """The same activations with other labels."""
        return Samples(self.activations, labels, self.prefixes, None)


@dataclass(frozen=True)
class Diagnosis:
    """What a probe found."""

    accuracy: float
    """With all units."""
    group: tuple[int, ...]
    """The units of the functional group, most important first."""
    group_accuracy: float
    control: float
    """Accuracy on the control task; NaN where there is none."""
    chance: float
    """What always answering the most frequent class gives."""

    @property
    def selectivity(self) -> float:
        """What the probe knows beyond what it could have memorised."""
        return self.accuracy - self.control


def diagnose(samples: Samples, *, variant: Variant = "honest", folds: int = 5) -> Diagnosis:
    """Probe all units, find the functional group, and try the control task."""
    if variant == "as-run":
        return _as_run(samples)
    return _honest(samples.once(), folds)


def _honest(samples: Samples, folds: int) -> Diagnosis:
    parts = _deal(samples, folds)
    probes = [_Fold(samples, parts, fold) for fold in range(folds)]
    units = samples.activations.shape[1]
    accuracy = float(np.mean([probe.accuracy(units) for probe in probes]))
    size, reached = _grow(
        units, accuracy, lambda k: (probe.accuracy(k) for probe in probes), folds=folds
    )
    importance = np.mean([probe.importance for probe in probes], axis=0)
    control = float("nan")
    if samples.types is not None:
        other = samples.relabelled(control_labels(samples))
        others = [_Fold(other, parts, fold) for fold in range(folds)]
        control = float(np.mean([probe.accuracy(units) for probe in others]))
    classes = len(np.unique(samples.labels))
    return Diagnosis(accuracy, _first(importance, size), reached, control, 1 / classes)


def _grow(
    units: int, full: float, attempts: Callable[[int], Iterable[float]], *, folds: int
) -> tuple[int, float]:
    """The fewest units that reach enough of the full accuracy, and what they reach.

    Two things save refits. Folds: once the remaining ones could not lift the mean to the target
    even if they were perfect, a size is out; this changes nothing. Sizes: beyond 16 units only
    every eighth of an octave is tried, and when one reaches the target, those between it and the
    last that did not. Accuracy need not grow with every unit, so a size that reaches the target by
    luck between two that do not can be missed; that befalls every kind of network alike.
    """
    target = ENOUGH * full

    def reached(k: int) -> float | None:
        total, seen = 0.0, 0
        for score in attempts(k):
            total, seen = total + score, seen + 1
            if total + (folds - seen) < folds * (target - SLACK):
                return None
        return total / folds

    below = 0
    for size in sizes(units):
        if (score := reached(size)) is None:
            below = size
            continue
        for k in range(below + 1, size):
            if (smaller := reached(k)) is not None:
                return k, smaller
        return size, score
    return units, full


def sizes(units: int) -> list[int]:
    """The numbers of units that are tried first: all up to 16, then eight an octave."""
    found, k = [], 1
    while k < units:
        found.append(k)
        k += max(1, 2 ** (k.bit_length() - 4)) if k >= 16 else 1
    return found


def _first(importance: Float[np.ndarray, " unit"], size: int) -> tuple[int, ...]:
    return tuple(np.argsort(-importance, kind="stable")[:size].tolist())


def control_labels(samples: Samples) -> Int[np.ndarray, " n"]:
    """A random class for each type, every class for equally many types, as nearly as can be."""
    assert samples.types is not None
    kinds, which = np.unique(samples.types, return_inverse=True)
    classes = len(np.unique(samples.labels))
    drawn = stream(ANALYSIS_SEED, "control").permutation(np.arange(len(kinds)) % classes)
    return np.asarray(drawn[which])


def _deal(samples: Samples, folds: int) -> Int[np.ndarray, " n"]:
    """The fold of each sample: in a random order, class by class, dealt out in turn."""
    order = stream(ANALYSIS_SEED, "folds").permutation(len(samples.labels))
    by_class = order[np.argsort(samples.labels[order], kind="stable")]
    dealt = np.empty(len(order), dtype=np.int64)
    dealt[by_class] = np.arange(len(order)) % folds
    return dealt


class _Fold:
    """One fold of the honest probe: trained on the others, tested on its own."""

    def __init__(self, samples: Samples, parts: Int[np.ndarray, " n"], fold: int) -> None:
        folds = int(parts.max()) + 1
        train, test = parts != fold, parts == fold
        self._tuning = train & (parts != (fold + 1) % folds)
        self._tuned = train & ~self._tuning
        x = samples.activations[train].astype(np.float64)
        spread = x.std(axis=0)
        scale = np.where(spread > 1e-9, spread, 1.0)
        self._x = (samples.activations - x.mean(axis=0)) / scale
        self._y, self._train, self._test = samples.labels, train, test
        self._penalties: dict[int, float] = {}
        units = self._x.shape[1]
        ranked = _fit(self._x[train], self._y[train], RANKING, even=True)
        self.importance: Float[np.ndarray, " unit"] = np.sqrt((ranked.coef_**2).sum(axis=0))
        self._order = np.argsort(-self.importance, kind="stable")
        c = self._penalty(units, np.arange(units))
        self._whole = _fit(self._x[train], self._y[train], c, even=True)

    def accuracy(self, k: int) -> float:
        """Balanced accuracy with the k most important units."""
        units = self._order[:k]
        if k == self._x.shape[1]:
            return balanced(self._whole.predict(self._x[self._test]), self._y[self._test])
        x = self._x[:, units]
        probe = _fit(x[self._train], self._y[self._train], self._penalty(k, units), even=True)
        return balanced(probe.predict(x[self._test]), self._y[self._test])

    def _penalty(self, k: int, units: Int[np.ndarray, " k"]) -> float:
        """The C under which the fold after this one is most likely; chosen as k doubles."""
        octave = k.bit_length()
        if octave not in self._penalties:
            x, y = self._x[:, units], self._y
            likely = []
            for c in PENALTIES:
                probe = _fit(x[self._tuning], y[self._tuning], c, even=True)
                likely.append(_likelihood(probe, x[self._tuned], y[self._tuned]))
            self._penalties[octave] = PENALTIES[int(np.argmax(likely))]
        return self._penalties[octave]


def _as_run(samples: Samples) -> Diagnosis:
    x, y = samples.activations, samples.labels
    splits = [_random_split(len(y), i) for i in range(SPLITS_AS_RUN)]
    probes = [_fit(x[train], y[train], 1.0) for train, _ in splits]
    scored = zip(probes, splits, strict=True)
    accuracy = float(np.mean([_score(probe, x, y, test) for probe, (_, test) in scored]))
    importance = np.abs(np.mean([probe.coef_ for probe in probes], axis=0)[0])
    order = np.argsort(-importance, kind="stable")

    def attempts(k: int) -> Iterable[float]:
        some = x[:, order[:k]]
        for train, test in splits:
            yield _score(_fit(some[train], y[train], 1.0), some, y, test)

    size, reached = _grow(x.shape[1], accuracy, attempts, folds=SPLITS_AS_RUN)
    chance = float(np.bincount(y).max() / len(y))
    return Diagnosis(accuracy, _first(importance, size), reached, float("nan"), chance)


def _random_split(n: int, number: int) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    order = stream(ANALYSIS_SEED, "split", number).permutation(n)
    train = np.zeros(n, dtype=bool)
    train[order[: int(n * (1 - HELD_OUT_AS_RUN))]] = True
    return train, ~train


def balanced(guesses: Int[np.ndarray, " n"], labels: Int[np.ndarray, " n"]) -> float:
    """The mean over classes of the share of it that is right."""
    return float(np.mean([(guesses[labels == c] == c).mean() for c in np.unique(labels)]))


def strong_share(group: Sequence[int], strength: Float[np.ndarray, " unit"], top: float) -> float:
    """The share of a group's units that are among the strongest `top` of all."""
    strongest = np.argsort(-strength, kind="stable")[: max(1, round(top * len(strength)))]
    return float(np.isin(group, strongest).mean())


class _Probe:
    """A fitted classifier; one that saw a single class always answers it."""

    def __init__(self, coef: np.ndarray, intercept: np.ndarray, classes: np.ndarray) -> None:
        self.coef_, self._intercept, self._classes = coef, intercept, classes

    def scores(self, x: Float[np.ndarray, "n unit"]) -> Float[np.ndarray, "n class"]:
        """The logits."""
        return np.asarray(x @ self.coef_.T + self._intercept)

    def predict(self, x: Float[np.ndarray, "n unit"]) -> Int[np.ndarray, " n"]:
        """The likeliest class."""
        return np.asarray(self._classes[self.scores(x).argmax(axis=1)])


def _fit(
    x: Float[np.ndarray, "n unit"], y: Int[np.ndarray, " n"], c: float, *, even: bool = False
) -> _Probe:
    """The regression by scikit-learn; `even` gives every class the same weight."""
    from sklearn.exceptions import ConvergenceWarning  # takes a second: only who probes waits
    from sklearn.linear_model import LogisticRegression

    classes = np.unique(y)
    if len(classes) == 1:
        return _Probe(np.zeros((1, x.shape[1])), np.zeros(1), classes)
    # Ten times scikit-learn's tolerance: accuracies stay within a point, in half the time.
    weight = "balanced" if even else None
    model = LogisticRegression(C=c, max_iter=150, tol=1e-3, class_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    if len(classes) > 2:
        return _Probe(model.coef_, model.intercept_, model.classes_)
    # Two classes: scikit-learn keeps the second's weights only; halves of both are the same fit.
    both = np.concatenate([-model.coef_, model.coef_]) / 2
    return _Probe(both, np.array([-1.0, 1.0]) * model.intercept_ / 2, model.classes_)


def _score(probe: _Probe, x: np.ndarray, y: np.ndarray, test: np.ndarray) -> float:
    return float((probe.predict(x[test]) == y[test]).mean())


def _likelihood(probe: _Probe, x: np.ndarray, y: np.ndarray) -> float:
    """The mean over classes of the mean log probability of what is so."""
    scores = probe.scores(x)
    top = scores.max(axis=1, keepdims=True)
    log_p = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
    place = {int(c): i for i, c in enumerate(probe._classes)}
    known = np.isin(y, probe._classes)
    if not known.any():
        return -np.inf
    columns = np.array([place[int(c)] for c in y[known]])
    each = log_p[known, columns]
    return float(np.mean([each[y[known] == c].mean() for c in np.unique(y[known])]))
