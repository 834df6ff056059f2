"""Probes on activations whose functional groups are known by construction."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from recombine.analyses.probes import (
    ENOUGH,
    Samples,
    Variant,
    balanced,
    control_labels,
    diagnose,
    sizes,
    strong_share,
)

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def fresh() -> None:
    """The same draws for a test, whichever tests ran before it."""
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state


CLASSES, UNITS, N = 8, 40, 240


def noise() -> np.ndarray:
    return RNG.standard_normal((N, UNITS))


def samples(activations: np.ndarray, labels: np.ndarray) -> Samples:
    return Samples(activations, labels, np.arange(len(labels)), None)


LABELS = RNG.permutation(np.arange(N) % CLASSES)


@pytest.mark.parametrize("variant", ["honest", "as-run"])
def test_three_units_that_spell_the_class_in_bits_are_exactly_the_group(variant: Variant) -> None:
    known = (31, 3, 17)
    x = 0.5 * noise()
    for bit, unit in enumerate(known):
        x[:, unit] = 2.0 * ((LABELS >> bit) & 1) - 1 + 0.02 * RNG.standard_normal(N)
    found = diagnose(samples(x, LABELS), variant=variant)
    assert set(found.group) == set(known)
    assert found.accuracy > 0.9
    assert found.group_accuracy > 0.99


def test_one_unit_whose_level_is_the_class_suffices() -> None:
    x = noise()
    x[:, 7] = LABELS + 0.01 * RNG.standard_normal(N)
    found = diagnose(samples(x, LABELS))
    assert found.group == (7,)


def test_a_loud_unit_that_knows_nothing_is_not_in_the_group_of_the_honest_probe() -> None:
    x = noise()
    x[:, 2] *= 1e3
    x[:, 5] *= 1e-3  # and a faint one that knows everything is
    x[:, 5] = 1e-3 * LABELS
    assert diagnose(samples(x, LABELS)).group == (5,)


def test_one_unit_a_class_needs_all_but_one_of_them() -> None:
    x = 0.1 * noise()
    known = np.arange(10, 10 + CLASSES)
    x[np.arange(N), known[LABELS]] += 3
    found = diagnose(samples(x, LABELS))
    assert len(found.group) == CLASSES - 1 and set(found.group) < set(known.tolist())


def test_ranking_by_the_first_class_misses_what_others_need() -> None:
    """Units that tell the classes other than 0 apart have no weight in class 0 as it was run."""
    x = 0.3 * noise()
    x[:, 1] = 3.0 * (LABELS == 0)
    for unit, c in zip((20, 21, 22, 23, 24, 25), range(1, 7), strict=True):
        x[:, unit] = 3.0 * np.equal(LABELS, c)
    honest = diagnose(samples(x, LABELS)).group
    as_run = diagnose(samples(x, LABELS), variant="as-run").group
    assert len(honest) <= 7 and set(honest) <= {1, *range(20, 26)}
    assert len(as_run) >= len(honest)


def test_shuffled_labels_are_at_chance() -> None:
    x = noise()
    x[:, 0] = LABELS
    scores = [
        diagnose(samples(x, np.random.default_rng(i).permutation(LABELS))).accuracy
        for i in range(2)
    ]
    assert np.mean(scores) == pytest.approx(1 / CLASSES, abs=0.05)


def test_copies_leak_into_the_test_data_as_run_and_not_in_the_honest_probe() -> None:
    """Noise in many dimensions, each row ten times over, under random labels."""
    distinct = RNG.standard_normal((64, 200))
    labels = RNG.permutation(np.arange(64) % CLASSES)
    rows = np.repeat(np.arange(64), 10)
    leaky = Samples(distinct[rows], labels[rows], rows)
    assert diagnose(leaky, variant="as-run").accuracy == 1.0
    assert diagnose(leaky).accuracy < 0.3


def test_the_control_task_tells_memory_from_knowledge() -> None:
    """Types are random codes: a probe on the codes alone solves the control, not the label's."""
    types = np.arange(N) % 64
    known = types % CLASSES
    codes = np.eye(64)[types]
    memorised = diagnose(Samples(codes, known, np.arange(N), types))
    assert memorised.accuracy > 0.99 and memorised.control > 0.99
    assert memorised.selectivity == pytest.approx(0.0, abs=0.01)
    plain = diagnose(Samples(np.eye(CLASSES)[known], known, np.arange(N), types))
    assert plain.accuracy == 1.0 and plain.selectivity > 0.5


def test_control_labels_are_one_a_type_and_even() -> None:
    types = np.repeat(np.arange(64), 5)
    found = control_labels(Samples(np.zeros((320, 1)), types % CLASSES, np.arange(320), types))
    assert all(len(np.unique(found[types == t])) == 1 for t in range(64))
    assert np.array_equal(np.bincount(found), np.full(CLASSES, 40))


def test_skipping_hopeless_folds_finds_the_same_group_as_trying_them_all() -> None:
    from recombine.analyses import probes

    x = noise()
    for unit in range(12):
        x[:, unit] += 0.8 * RNG.standard_normal(CLASSES)[LABELS]
    found = diagnose(samples(x, LABELS))
    parts = probes._deal(samples(x, LABELS), 5)
    folds = [probes._Fold(samples(x, LABELS), parts, f) for f in range(5)]
    for k in range(1, UNITS + 1):
        reached = np.mean([fold.accuracy(k) for fold in folds])
        if reached >= ENOUGH * found.accuracy:
            break
    assert len(found.group) == k
    assert found.group_accuracy == pytest.approx(reached)


def test_balanced_accuracy_is_scikit_learns() -> None:
    guesses, labels = RNG.integers(0, 4, 200), RNG.choice(4, 200, p=[0.7, 0.1, 0.1, 0.1])
    assert balanced(guesses, labels) == pytest.approx(balanced_accuracy_score(labels, guesses))


def test_two_classes_and_units_that_never_move() -> None:
    labels = np.arange(N) % 2
    x = np.zeros((N, 5))
    x[:, 3] = labels
    found = diagnose(samples(x, labels))
    assert found.group == (3,) and found.accuracy == 1.0 and found.chance == 0.5


def test_share_of_the_group_among_the_strongest() -> None:
    strength = np.arange(100.0)
    assert strong_share((99, 98, 10), strength, 0.05) == pytest.approx(2 / 3)


def test_sizes_are_all_of_the_small_ones_and_eighths_of_octaves_after() -> None:
    assert sizes(10) == list(range(1, 10))
    found = sizes(512)
    assert found[:17] == [*range(1, 17), 18]
    assert all(b - a == 1 or b / a <= 1.125 for a, b in pairwise(found))
    assert max(found) < 512 and len(found) < 60


def test_a_size_between_two_that_were_tried_is_found() -> None:
    """Accuracy that steps up at 27 units: 28 is tried first, then 27."""
    from recombine.analyses.probes import _grow

    tried: list[int] = []

    def attempts(k: int) -> list[float]:
        tried.append(k)
        return [1.0 if k >= 27 else 0.5]

    assert _grow(100, 1.0, attempts, folds=1) == (27, 1.0)
    assert len(tried) < 27
