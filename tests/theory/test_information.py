"""Entropy and information against definitions, exact values and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy as scipy_entropy

from recombine.theory import conditional_information, entropy, information

tables = arrays(np.int64, (3, 4), elements=st.integers(0, 50)).filter(lambda t: t.sum() > 0)


@given(arrays(np.int64, 6, elements=st.integers(0, 50)).filter(lambda c: c.sum() > 0))
def test_plug_in_entropy_is_scipys(counts: np.ndarray) -> None:
    assert entropy(counts, corrected=False) == pytest.approx(scipy_entropy(counts, base=2))


@given(tables)
def test_plug_in_information_is_the_divergence_from_independence(table: np.ndarray) -> None:
    joint = table / table.sum()
    independent = np.outer(joint.sum(1), joint.sum(0))
    cells = joint > 0
    divergence = np.sum(joint[cells] * np.log2(joint[cells] / independent[cells]))
    assert information(table, corrected=False) == pytest.approx(divergence, abs=1e-9)


@given(tables)
def test_information_is_symmetric(table: np.ndarray) -> None:
    assert information(table) == pytest.approx(float(information(table.T)))


def test_a_copy_tells_everything() -> None:
    assert information(np.diag([100, 100, 100, 100]), corrected=False) == pytest.approx(2.0)


def test_no_counts_tell_nothing() -> None:
    assert information(np.zeros((2, 3), dtype=int)) == 0


def test_the_correction_takes_the_bias_of_independent_draws_away() -> None:
    """On 200 draws of independent 4 × 4 values the plug-in is 9/400 nats too large."""
    rng = np.random.default_rng(0)
    p = np.full(16, 1 / 16)
    draws = rng.multinomial(200, p, size=4000).reshape(-1, 4, 4)
    plug_in = information(draws, corrected=False).mean()
    assert plug_in == pytest.approx(9 / 400 / np.log(2), rel=0.05)
    assert abs(information(draws).mean()) < 0.05 * plug_in


def test_conditional_information_of_a_gate() -> None:
    """Y = A xor C: A alone tells nothing of Y, given C it tells everything."""
    table = np.zeros((2, 2, 2), dtype=int)  # C, A, Y
    for c in range(2):
        for a in range(2):
            table[c, a, a ^ c] = 100
    assert information(table.sum(0), corrected=False) == pytest.approx(0.0)
    assert conditional_information(table, corrected=False) == pytest.approx(1.0)


@given(arrays(np.int64, (2, 3, 2, 2), elements=st.integers(0, 30)))
def test_leading_dimensions_are_separate_problems(tables: np.ndarray) -> None:
    together = conditional_information(tables)
    assert together.shape == (2,)
    assert together[1] == pytest.approx(float(conditional_information(tables[1])))


@given(arrays(np.int64, (3, 2, 2), elements=st.integers(0, 30)).filter(lambda t: t.sum() > 0))
def test_the_chain_rule(table: np.ndarray) -> None:
    """I(A; C,B) = I(A; C) + I(A; B | C), plug-in."""
    both = table.transpose(1, 0, 2).reshape(2, -1)
    first = information(table.sum(2), corrected=False)
    second = conditional_information(table, corrected=False)
    assert information(both, corrected=False) == pytest.approx(float(first + second), abs=1e-9)
