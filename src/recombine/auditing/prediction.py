"""What kernel models are predicted to answer on held-out rows, before anything is trained.

Each prediction is an exact fit on the combinations: the least-norm (or largest-margin) model with
a free intercept, for each kernel of `codes.py`.

What is reported, over held-out combinations: how many are right (for numbers R², no less than −1
drawn), the shrinkage (mean of f for the true class when training has 1 everywhere, or the slope of
f on the numbers: 1 is exact, less is a leak into memorised combinations), and which conjunctions
carry the answer: f(z) = b + Σ_J c_J(z), where c_J is the part of the weight of J that training
points sharing z_J bring in; a part with a negative mean in the direction of the truth misleads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from recombine.auditing.codes import Code, codes
from recombine.auditing.combinations import Combinations, Subset
from recombine.auditing.sampling import fitted_part
from recombine.theory.conjunctions import by_count, moebius
from recombine.theory.kernel_fit import Fit, hard_margin, least_norm
from recombine.theory.network_kernels import network_kernel, one_hot

MOST_TRAIN, MOST_TEST = 800, 2_000
"""Combinations up to which a fit is made on all of them."""
MOST_MARGIN = 200
"""Training combinations up to which largest margins are worked out as well."""
MOST_PARTS = 6
"""Factors up to which every conjunction is told apart; beyond it only orders are."""
SOLVED = 1e-7
"""How exactly fits are solved, for training scores of one; answers nearer than that are a tie."""


@dataclass(frozen=True)
class Predicted:
    """What one code, fitted one way, answers on the held-out combinations."""

    code: Code
    fit: str
    """`least squares` or `largest margin`."""
    fitted: bool
    """Whether training is fitted exactly."""
    right: float
    shrinkage: float
    follows: float
    """Where the broken shortcut is wrong: how often the model says what it says; NaN if none."""
    answers: Bool[np.ndarray, " held"]
    """Which held-out combinations are right; of numbers, within a tenth of their spread."""
    ties: Bool[np.ndarray, " held"]
    """Where the highest scores of classes are equal; of numbers nowhere."""


@dataclass(frozen=True)
class Part:
    """The mean contribution of some conjunctions in the direction of the truth."""

    factors: Subset
    order: int
    towards: float


@dataclass(frozen=True)
class Prediction:
    """All codes on one table."""

    predicted: tuple[Predicted, ...]
    parts: tuple[Part, ...]
    """For the ReLU network with one hidden layer, fitted by least squares."""
    train: int
    held: int
    """Combinations fitted and predicted."""
    sampled: bool
    """Whether these are a part of the grid only."""
    places: tuple[int, ...]
    """The held-out combinations predicted."""

    @property
    def never_right(self) -> Bool[np.ndarray, " held"]:
        """Held-out combinations that no code tried gets right."""
        return np.asarray(~np.any([each.answers for each in self.predicted], axis=0))

    @property
    def never_decided(self) -> Bool[np.ndarray, " held"]:
        """Held-out combinations on which all codes tie."""
        return np.asarray(np.all([each.ties for each in self.predicted], axis=0))


def predict(
    combinations: Combinations,
    shortcut: Shaped[np.ndarray, " combination"] | None,
    *,
    classes: bool,
    rng: np.random.Generator,
) -> Prediction | None:
    """Fit every code on the trained combinations; None where nothing is held out or all is one."""
    train, held, sampled = _chosen(combinations, classes=classes, rng=rng)
    y = combinations.train.y[train]
    if not len(held) or len(np.unique(y)) < 2:
        return None
    z = combinations.z
    inner, outer = _agreeing(z[train], z[train]), _agreeing(z[held], z[train])
    truth = combinations.test.y[held]
    wrong_rule = None if shortcut is None else shortcut[held]
    made = []
    for code in codes(z.shape[1]):
        kappa = np.asarray(code.kappa)
        for fit in ("least squares", "largest margin"):
            if fit == "largest margin" and (not classes or len(train) > MOST_MARGIN):
                continue
            found = _scores(kappa[inner], kappa[outer], y, fit, classes=classes)
            made.append(_judged(code, fit, found, y, truth, wrong_rule, classes=classes))
    parts = _parts(combinations, train, held, classes=classes)
    return Prediction(tuple(made), parts, len(train), len(held), sampled, tuple(held.tolist()))


def _chosen(
    combinations: Combinations, *, classes: bool, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " held"], bool]:
    """Which combinations are fitted and predicted: all, or those in a part of the grid."""
    outputs = len(np.unique(combinations.train.y[combinations.trained])) if classes else 1
    most = int(MOST_TRAIN / max(outputs if outputs > 2 else 1, 1) ** (1 / 3))
    both = np.flatnonzero(combinations.trained | combinations.held_out)
    trained = combinations.trained[both]
    if trained.all() or (trained.sum() <= most and (~trained).sum() <= MOST_TEST):
        return both[trained], both[~trained], False
    z, y = combinations.z[both], combinations.train.y[both]
    train, held = fitted_part(z, y, trained, rng, most=(most, MOST_TEST))
    return both[train], both[held], True


def _agreeing(left: np.ndarray, right: np.ndarray) -> Int[np.ndarray, "n m"]:
    """How many factors agree, for each pair."""
    total = np.zeros((len(left), len(right)), dtype=np.int8)
    for one, other in zip(left.T, right.T, strict=True):
        total += one[:, None] == other[None, :]
    return total


def _wanted(y: np.ndarray, *, classes: bool) -> Float[np.ndarray, "output n"]:
    """Targets to be fitted: numbers, ±1 for two classes, or one against the rest."""
    if not classes:
        return y[None].astype(float)
    names = np.unique(y)
    if len(names) == 2:
        return np.where(y == names[1], 1.0, -1.0)[None]
    return np.where(y[None] == names[:, None], 1.0, -1.0)


@dataclass(frozen=True)
class Scores:
    """What a fit says on held-out combinations, and how exactly it was solved."""

    f: Float[np.ndarray, "output held"]
    fitted: bool
    error: float
    """Scores nearer to each other than this may be equal."""


def _scores(
    inner: np.ndarray, outer: np.ndarray, y: np.ndarray, fit: str, *, classes: bool
) -> Scores:
    """f on held-out combinations for each output."""
    solve = hard_margin if fit == "largest margin" else least_norm
    wanted = _wanted(y, classes=classes)
    fits: list[Fit] = [solve(inner, t, intercept=True) for t in wanted]
    train = np.stack([f.predict(inner) for f in fits])
    fitted = all(f.fits for f in fits)
    error = SOLVED * float(np.abs(train).max())
    if fitted and fit == "least squares":  # what is left of the targets is error
        error = max(error, float(np.abs(train - wanted).max()))
    return Scores(np.stack([f.predict(outer) for f in fits]), fitted, error)


def _judged(
    code: Code,
    fit: str,
    found: Scores,
    y: np.ndarray,
    truth: np.ndarray,
    rule: np.ndarray | None,
    *,
    classes: bool,
) -> Predicted:
    """Compare with the truth; a tie is not right."""
    scores = found.f
    if not classes:
        spread = float(truth.std()) or float(y.std()) or 1.0
        apart = scores[0] - truth
        centred = truth - truth.mean()
        total = float(centred @ centred)
        slope = float(scores[0] @ centred) / total if total > 0 else float("nan")
        r2 = 1 - float(apart @ apart) / total if total > 0 else float("nan")
        near = np.abs(apart) <= spread / 10
        no_ties = np.zeros(len(truth), dtype=bool)
        return Predicted(code, fit, found.fitted, r2, slope, float("nan"), near, no_ties)
    names = np.unique(y)
    if len(names) == 2:
        scores = np.stack([-scores[0], scores[0]])
    top = scores.max(axis=0)
    guess = names[scores.argmax(axis=0)]
    tie = (scores >= top - found.error).sum(axis=0) != 1
    right = (guess == truth) & ~tie
    own = np.where(np.isin(truth, names), np.searchsorted(names, truth), 0)
    known = np.isin(truth, names)
    margin = np.take_along_axis(scores, own[None], axis=0)[0][known]
    follows = float("nan")
    if rule is not None and (rule != truth).any():
        follows = float(((guess == rule) & ~tie)[rule != truth].mean())
    mean = float(margin.mean()) if len(margin) else float("nan")
    return Predicted(code, fit, found.fitted, float(right.mean()), mean, follows, right, tie)


def _parts(
    combinations: Combinations, train: np.ndarray, held: np.ndarray, *, classes: bool
) -> tuple[Part, ...]:
    """What each set of factors contributes in the direction of the truth, one hidden layer."""
    z, y = combinations.z, combinations.train.y[train]
    truth = combinations.test.y[held]
    factors = z.shape[1]
    kappa = np.asarray(network_kernel(one_hot(factors), depth=1))
    inner = _agreeing(z[train], z[train])
    duals = [least_norm(kappa[inner], t, intercept=True).dual for t in _wanted(y, classes=classes)]
    towards = _direction(y, truth, classes=classes)
    weights = moebius(by_count(kappa))
    made = []
    for index in range(1, 2**factors) if factors <= MOST_PARTS else ():
        subset = tuple(c for c in range(factors) if index >> c & 1)
        if len(subset) == factors:
            continue  # no held-out combination shares it
        same = np.ones((len(held), len(train)), dtype=bool)
        for c in subset:
            same &= z[held][:, c, None] == z[train][None, :, c]
        share = weights[index] * np.stack([same @ dual for dual in duals])
        made.append(Part(subset, len(subset), float(np.mean(np.sum(towards * share, axis=0)))))
    return tuple(sorted(made, key=lambda part: (part.order, part.factors)))


def _direction(y: np.ndarray, truth: np.ndarray, *, classes: bool) -> Float[np.ndarray, "o held"]:
    """Signs by which outputs count towards the truth; for numbers, shares of a slope of one."""
    if not classes:
        centred = truth - y.mean()
        return np.asarray(centred / (float(np.mean(centred**2)) or 1.0))[None]
    names = np.unique(y)
    if len(names) == 2:
        return np.where(truth == names[1], 1.0, -1.0)[None]
    return np.asarray(truth[None] == names[:, None], dtype=float)
