"""Ranges and entropies of units whose distribution is known."""

import numpy as np
import pytest
from scipy.stats import entropy

from recombine.analyses.activations import entropies, ranges, shares

RNG = np.random.default_rng(0)


def test_known_distributions() -> None:
    still = np.full(3200, 0.3)
    even = (np.arange(3200) % 32 + 0.5) / 16 - 1
    two = np.where(np.arange(3200) % 2 == 0, -0.99, 0.99)
    values = np.stack([still, even, two], axis=1)
    used = shares(values, (-1.0, 1.0))
    assert entropies(used) == pytest.approx([0.0, 5.0, 1.0])
    assert ranges(values, (-1.0, 1.0)) == pytest.approx([0.0, 31 / 32, 0.99])


def test_entropy_is_scipys_of_numpys_histogram() -> None:
    values = RNG.beta(2, 5, (500, 4))
    used = shares(values, (0.0, 1.0))
    for unit in range(4):
        counts, _ = np.histogram(values[:, unit], bins=32, range=(0, 1))
        assert used[unit] == pytest.approx(counts / 500)
        assert entropies(used)[unit] == pytest.approx(entropy(counts, base=2))


def test_values_at_the_upper_bound_are_counted() -> None:
    assert shares(np.ones((4, 1)), (0.0, 1.0))[0, -1] == 1.0
